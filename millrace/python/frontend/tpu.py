"""tf.tpu: what programs for TPUs say, as far as CPUs can do it."""

from millrace._state.narrow_variables import bfloat16_scope
from millrace._supervised.cross_shard import CrossShardOptimizer
