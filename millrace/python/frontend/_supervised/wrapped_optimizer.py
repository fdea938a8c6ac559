"""WrappedOptimizer: the base of optimizers that change when another one's gradients are applied."""

from millrace._train.optimizer import Optimizer


class WrappedOptimizer(Optimizer):
    """Computes gradients and keeps slots as the Optimizer `opt` does; classes that derive from it define
    apply_gradients.

    Args:
      opt: the Optimizer.
      use_locking, name: as for Optimizer.
    """

    def __init__(self, opt, use_locking, name):
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args, **kwargs):
        """As the optimizer's own."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        """As the optimizer's own."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        """As the optimizer's own."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        """As the optimizer's own."""
        return self._opt.variables()
