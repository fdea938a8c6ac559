"""tf.contrib.training: HParams, the settings of a model, and where its variables go."""

from millrace._cluster.strategies import GreedyLoadBalancingStrategy, byte_size_load_fn
from millrace._values.hparams import HParams

__all__ = ["GreedyLoadBalancingStrategy", "HParams", "byte_size_load_fn"]
