"""Losses of variables alone, which regularizers make: in each replica of a model of its own copy."""

from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.operators import delegate
from millrace._state.replica_contexts import current_replica
from millrace._state.replicated_variables import ReplicatedVariable


class LossOfCopies:
    """The loss of a variable that has copies. Where a Tensor is wanted it is that of the copy at work.

    Args:
      make: a function without arguments that gives it. It is called at once, for the first copy.
    """

    def __init__(self, make):
        self._again = make
        self._first = make()

    @property
    def name(self):
        return self._first.name

    @property
    def op(self):
        return self._first.op

    @property
    def graph(self):
        return self._first.graph

    @property
    def dtype(self):
        return self._first.dtype

    @property
    def shape(self):
        return self._first.shape

    def get_shape(self):
        return self.shape

    def _as_graph_element(self):
        return self._first

    def _as_tensor(self, dtype=None, name=None, as_ref=False):
        replica = current_replica()
        is_first = replica is None or replica.local_replica == 0
        return convert(self._first if is_first else self._again(), dtype)


delegate(LossOfCopies)


def regularized(variable, name, regularizer):
    """What a regularizer makes of a variable: a Tensor or a LossOfCopies, or None.

    Args:
      variable: the Variable.
      name: its name, for that of the loss.
      regularizer: a function of the variable that gives a Tensor, or None.
    """

    def make():
        with name_scope(f"{name}/Regularizer/"):
            return regularizer(variable)

    if isinstance(variable, ReplicatedVariable) and len(variable.copies) > 1:
        made = LossOfCopies(make)
        return None if made._as_graph_element() is None else made
    return make()
