"""tf.contrib.opt: more optimizers, and what is wrapped around others."""

from millrace._supervised.accumulated_gradients import AGNCustomGetter, AGNOptimizer
from millrace._supervised.averaged_variables import MovingAverageOptimizer
from millrace._supervised.clipped_variables import VariableClippingOptimizer
from millrace._supervised.dropped_gradients import DropStaleGradientOptimizer
from millrace._supervised.elastic_averages import (
    ElasticAverageCustomGetter,
    ElasticAverageOptimizer,
)
from millrace._supervised.model_averages import ModelAverageCustomGetter, ModelAverageOptimizer
from millrace._train.accumulating import RegAdagradOptimizer
from millrace._train.adam_kin import (
    AdaMaxOptimizer,
    AdamGSOptimizer,
    LazyAdamGSOptimizer,
    LazyAdamOptimizer,
    NadamOptimizer,
)
from millrace._train.external import ExternalOptimizerInterface, ScipyOptimizerInterface
from millrace._train.ggt import GGTOptimizer
from millrace._train.layerwise import LARSOptimizer, clip_gradients_by_global_norm
from millrace._train.multitask import MultitaskOptimizerWrapper
from millrace._train.shampoo import ShampooOptimizer
from millrace._train.signs import AddSignOptimizer, PowerSignOptimizer
from millrace._train.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
