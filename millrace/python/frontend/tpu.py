"""tf.tpu: what programs for TPUs say, as far as CPUs can do it."""

from millrace._supervised.cross_shard import CrossShardOptimizer
