"""tf.train.experimental: loss scales."""

from millrace._train.loss_scales import DynamicLossScale, FixedLossScale, LossScale
from millrace._train.scaled_losses import MixedPrecisionLossScaleOptimizer

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
]
