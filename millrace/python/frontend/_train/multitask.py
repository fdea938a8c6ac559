"""MultitaskOptimizerWrapper: a gradient that is all zeros leaves a variable, and what is known of it, alone."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import no_op
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._ops.gradients import IndexedSlices
from millrace._ops.reductions import count_nonzero
from millrace._train.optimizer import Optimizer

# What a class of optimizers defines, TensorFlow's and those of programs alike.
_APPLYING = ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse")


class MultitaskOptimizerWrapper:
    """Another optimizer, which is changed so that gradients of zeros alone are not applied.

    Where a loss has several parts and a batch has nothing of one of them, its gradient is unknown and not 0:
    running means would fall for nothing. All else goes to the optimizer itself.

    Args:
      opt: the Optimizer.

    Raises:
      TypeError: if `opt` is no Optimizer.
    """

    def __init__(self, opt):
        if not isinstance(opt, Optimizer):
            raise TypeError(
                f"Supplied optimizer must be an instance of tf.train.Optimizer, not {opt}"
            )
        self._opt = opt
        for name in _APPLYING:
            setattr(opt, name, _unless_zero(getattr(opt, name)))

    def __getattr__(self, name):
        return getattr(self._opt, name)


def _unless_zero(apply):
    """A function that updates a variable, as one that does not if the gradient is all zeros."""

    def guarded(grad, *args):
        values = grad.values if isinstance(grad, IndexedSlices) else convert(grad)

        def update():
            with control_dependencies([apply(grad, *args)]):
                return no_op()

        is_unknown = gen_ops.equal(count_nonzero(values), 0)
        return cond(is_unknown, no_op, update).op

    return guarded
