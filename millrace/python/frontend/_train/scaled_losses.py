"""Optimizers that scale the loss before its gradients are computed, and the gradients back."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import group, no_op
from millrace._ops.gradients import IndexedSlices
from millrace._state.replica_contexts import current_replica
from millrace._train.loss_scales import loss_scale_of
from millrace._train.optimizer import Optimizer


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Scales losses for an optimizer, which skips steps whose gradients are not finite.

    Args:
      opt: the Optimizer.
      loss_scale: a LossScale, a number, or "dynamic".

    Raises:
      ValueError: if `opt` is no Optimizer, or there is no loss_scale.
    """

    def __init__(self, opt, loss_scale):
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {opt}')
        scale = loss_scale_of(loss_scale)
        if scale is None:
            raise ValueError("loss_scale cannot be None")
        super().__init__(False, type(opt).__name__)
        self._optimizer = opt
        self._loss_scale = scale

    def compute_gradients(self, loss, var_list=None, *args, **kwargs):
        """As the optimizer's own, of the scaled loss; the gradients are scaled back."""
        scale = self._loss_scale()
        pairs = self._optimizer.compute_gradients(_times(loss, scale), var_list, *args, **kwargs)
        back = gen_ops.reciprocal(scale)
        return [(_times(gradient, back), variable) for gradient, variable in pairs]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As the optimizer's own, if all gradients are finite; changes the scale.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: a Variable that is incremented if the gradients are applied.
          name: a name for the Operation.
        """
        pairs = list(grads_and_vars)
        replica = current_replica()
        if replica is not None:
            return replica.merge_call(self._together, args=(pairs, global_step, name))
        return self._applied_if_finite(
            [gradient for gradient, _ in pairs],
            lambda: self._optimizer.apply_gradients(pairs, global_step, name),
        )

    def _together(self, strategy, pairs, global_step, name):
        wanted = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        sums = strategy.extended.batch_reduce_to("SUM", wanted)
        summed = [(gradient, variable) for gradient, (_, variable) in zip(sums, wanted)]
        return self._applied_if_finite(
            sums, lambda: self._optimizer.apply_sums(strategy, summed, global_step, name)
        )

    def _applied_if_finite(self, gradients, apply):
        update, is_wanted = self._loss_scale.update(gradients)
        return group(cond(is_wanted, apply, no_op), update)

    def get_slot(self, var, name):
        """As the optimizer's own."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self):
        """As the optimizer's own."""
        return self._optimizer.get_slot_names()

    def variables(self):
        """As the optimizer's own."""
        return self._optimizer.variables()


def _times(value, scale):
    """A Tensor, IndexedSlices or None times a scale; a function that gives one as such a function."""
    if value is None:
        return None
    if callable(value):
        return lambda: _times(value(), scale)
    if isinstance(value, IndexedSlices):
        return IndexedSlices(_times(value.values, scale), value.indices, value.dense_shape)
    return value * gen_ops.cast(scale, DstT=value.dtype.base_dtype)
