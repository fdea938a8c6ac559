"""An optimizer whose gradients are clipped: what tf.contrib.estimator puts around the one of a canned model."""

from millrace._supervised.wrapped_optimizer import WrappedOptimizer
from millrace._train.layerwise import clip_gradients_by_global_norm


class _ClippedOptimizer(WrappedOptimizer):
    """Another optimizer, with gradients that are scaled down together before they are applied."""

    def __init__(self, optimizer, clip_norm):
        super().__init__(optimizer, False, optimizer.get_name())
        self._clip_norm = clip_norm

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As the optimizer's own, of gradients that are clipped."""
        clipped, _ = clip_gradients_by_global_norm(grads_and_vars, self._clip_norm)
        return self._opt.apply_gradients(clipped, global_step=global_step, name=name)


def clip_gradients_by_norm(optimizer, clip_norm):
    """An optimizer whose gradients are scaled down together, so that their norm is at most clip_norm.

    Args:
      optimizer: a tf.train.Optimizer.
      clip_norm: a number or scalar Tensor.
    """
    return _ClippedOptimizer(optimizer, clip_norm)
