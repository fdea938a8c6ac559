"""tf.contrib.opt: more optimizers, and what is wrapped around others."""

from millrace._supervised.averaged_variables import MovingAverageOptimizer
from millrace._train.adam_kin import AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer
from millrace._train.external import ExternalOptimizerInterface, ScipyOptimizerInterface
from millrace._train.layerwise import LARSOptimizer, clip_gradients_by_global_norm
from millrace._train.signs import AddSignOptimizer, PowerSignOptimizer
from millrace._train.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
