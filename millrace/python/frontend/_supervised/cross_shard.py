"""CrossShardOptimizer: what sums gradients over the shards of a TPU; here there is one shard."""

from millrace._supervised.wrapped_optimizer import WrappedOptimizer


class CrossShardOptimizer(WrappedOptimizer):
    """Applies gradients as the Optimizer that it wraps does: the mean over one shard is what the shard has.

    Args:
      opt: the Optimizer.
      reduction: tf.losses.Reduction.SUM or MEAN, what the loss is over shards.
      name: the name scope.
      group_assignment: must be None.

    Raises:
      TypeError: if `opt` is no Optimizer; ValueError for another reduction.
    """

    def __init__(
        self, opt, reduction="weighted_mean", name="CrossShardOptimizer", group_assignment=None
    ):
        if reduction not in ("weighted_sum", "weighted_mean"):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if not hasattr(opt, "compute_gradients"):
            raise TypeError(f"CrossShardOptimizer only works with tf.training.Optimizer, not {opt}")
        if group_assignment is not None:
            raise NotImplementedError("CrossShardOptimizer: group_assignment= must be None")
        super().__init__(opt, False, name)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As the optimizer's own."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)
