"""DropStaleGradientOptimizer: gradients that took so long that the variables have gone on are not applied."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies
from millrace._ops.arithmetic import cast
from millrace._state.initializers import Zeros
from millrace._state.named_variables import get_variable
from millrace._summaries import building
from millrace._supervised.wrapped_optimizer import WrappedOptimizer
from millrace._train.global_steps import get_global_step
from millrace._values import dtypes


class DropStaleGradientOptimizer(WrappedOptimizer):
    """Applies another optimizer's gradients unless the global step has gone on by more than `staleness` since
    they were begun.

    Variable "stale_counter" counts those that were dropped, and a scalar summary tells their share.

    Args:
      opt: the Optimizer.
      staleness: how many steps the others may have made meanwhile.
      use_locking, name: as for Optimizer.
    """

    def __init__(self, opt, staleness, use_locking=False, name="DropStaleGradient"):
        super().__init__(opt, use_locking, name)
        self._staleness = staleness
        self._began = None

    def compute_gradients(self, loss, *args, **kwargs):
        """As the optimizer's own, once the global step is known.

        Raises:
          ValueError: if the graph has no global step.
        """
        loss = convert(loss() if callable(loss) else loss)
        step = get_global_step()
        if step is None:
            raise ValueError(
                "DropStaleGradientOptimizer: the graph has no global step; make it first, with "
                "tf.train.get_or_create_global_step()"
            )
        with colocate_with(loss):
            self._began = gen_ops.identity(step.read_value())
        with control_dependencies([self._began]):
            return self._opt.compute_gradients(gen_ops.identity(loss), *args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """A float32 Tensor: how many gradients were dropped, after these were applied or dropped.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: the Variable that counts steps.
          name: a name for the nodes.

        Raises:
          ValueError: without global_step, or before compute_gradients.
        """
        if global_step is None or self._began is None:
            raise ValueError(
                "DropStaleGradientOptimizer: apply_gradients needs global_step=, and compute_gradients of the "
                "same optimizer before it"
            )
        pairs = list(grads_and_vars)
        with colocate_with(global_step):
            dropped = get_variable(
                "stale_counter", [], initializer=Zeros(), trainable=False, dtype=dtypes.float32
            )
        ready = [gradient.op for gradient, _ in pairs if gradient is not None]
        with control_dependencies(ready), colocate_with(global_step):
            staleness = gen_ops.reshape(global_step.read_value() - self._began, [])
            is_fresh = gen_ops.less_equal(staleness, convert(self._staleness, staleness.dtype))

        def apply():
            with control_dependencies([self._opt.apply_gradients(pairs, global_step, name)]):
                return convert(0.0)

        counted = dropped.assign_add(cond(is_fresh, apply, lambda: convert(1.0)))
        steps = cast(global_step.read_value() + 1, dtypes.float32)
        building.scalar("Gradient staleness percentage", dropped.read_value() / steps)
        return counted
