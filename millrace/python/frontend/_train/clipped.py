"""An optimizer whose gradients are clipped: what tf.contrib.estimator puts around the one of a canned model."""

from millrace._ops.clipping import clip_by_global_norm
from millrace._train.optimizer import Optimizer


class _ClippedOptimizer(Optimizer):
    """Another optimizer, with gradients that are changed before they are applied."""

    def __init__(self, optimizer, change):
        super().__init__(False, optimizer.get_name())
        self._optimizer, self._change = optimizer, change

    def compute_gradients(self, *args, **kwargs):
        """As the optimizer's own."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As the optimizer's own, of gradients that are clipped."""
        return self._optimizer.apply_gradients(
            self._change(list(grads_and_vars)), global_step=global_step, name=name
        )

    def get_slot(self, *args, **kwargs):
        """As the optimizer's own."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        """As the optimizer's own."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self):
        """As the optimizer's own."""
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer, clip_norm):
    """An optimizer whose gradients are scaled down together, so that their norm is at most clip_norm.

    Args:
      optimizer: a tf.train.Optimizer.
      clip_norm: a number or scalar Tensor.
    """

    def clipped(pairs):
        made, _ = clip_by_global_norm([gradient for gradient, _ in pairs], clip_norm)
        return [(gradient, variable) for gradient, (_, variable) in zip(made, pairs)]

    return _ClippedOptimizer(optimizer, clipped)
