"""tf.contrib.tpu: what programs for TPUs say, as far as CPUs can do it: estimators with use_tpu=False."""

from millrace._estimators.accelerated import TPUEstimator, TPUEstimatorSpec
from millrace._estimators.accelerated_config import InputPipelineConfig, RunConfig, TPUConfig
from millrace._state.narrow_variables import bfloat16_scope
from millrace._supervised.cross_shard import CrossShardOptimizer
