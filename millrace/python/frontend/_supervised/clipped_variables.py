"""VariableClippingOptimizer: variables whose norm is kept below a bound after each update."""

import contextlib
import logging

from millrace._flow.control_flow import group
from millrace._graph.default_graph import colocate_with, control_dependencies, name_scope
from millrace._ops.arrays import gather
from millrace._ops.clipping import clip_by_norm
from millrace._ops.gradients import IndexedSlices
from millrace._state.assignments import scatter_update
from millrace._supervised.wrapped_optimizer import WrappedOptimizer

_log = logging.getLogger("millrace")


class VariableClippingOptimizer(WrappedOptimizer):
    """Scales variables down after another optimizer has changed them, where their norm is above a bound.

    Args:
      opt: the Optimizer.
      vars_to_clip_dims: {Variable: the axes along which its L2 norm is taken}.
      max_norm: the bound.
      use_locking: True to keep other writers out while a variable is scaled down.
      colocate_clip_ops_with_vars: True to work out norms where the variable is.
      name: a name for the nodes.
    """

    def __init__(
        self,
        opt,
        vars_to_clip_dims,
        max_norm,
        use_locking=False,
        colocate_clip_ops_with_vars=False,
        name="VariableClipping",
    ):
        super().__init__(opt, use_locking, name)
        self._axes = {variable: list(axes) for variable, axes in vars_to_clip_dims.items()}
        self._max_norm = max_norm
        self._is_colocated = colocate_clip_ops_with_vars

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As the optimizer's own; of a gradient that is slices, only their rows are looked at afterwards."""
        pairs = list(grads_and_vars)
        with name_scope(name, self._name) as scope:
            updated = self._opt.apply_gradients(pairs, global_step=global_step)
            clipped = []
            with control_dependencies([updated]):
                for gradient, variable in pairs:
                    if gradient is not None and variable in self._axes:
                        with name_scope("clip_" + variable.op.name):
                            clipped.append(self._clipped(gradient, variable))
            return group(updated, *clipped, name=scope)

    def _clipped(self, gradient, variable):
        axes = self._axes[variable]
        if isinstance(gradient, IndexedSlices) and 0 not in axes:
            return self._clipped_rows(gradient.indices, variable, axes)
        if isinstance(gradient, IndexedSlices):
            _log.warning(
                f"Clipping norm across dims {axes} for {variable.op.name} is inefficient when including "
                "sparse dimension 0."
            )
        with self._near(variable):
            value = variable.read_value()
            excess = value - clip_by_norm(value, self._max_norm, axes)
        with colocate_with(variable):
            return variable.assign_sub(excess, use_locking=self._use_locking)

    def _clipped_rows(self, indices, variable, axes):
        with colocate_with(variable):
            rows = gather(variable.read_value(), indices)
        with self._near(variable):
            kept = clip_by_norm(rows, self._max_norm, axes)
        with colocate_with(variable):
            # Set, not subtracted: the same row may be among the slices twice.
            return scatter_update(variable, indices, kept, use_locking=self._use_locking)

    def _near(self, variable):
        return colocate_with(variable) if self._is_colocated else contextlib.nullcontext()
