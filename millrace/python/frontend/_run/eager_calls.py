"""tf.py_function: nodes that call Python functions which compute by ops and have gradients."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._ops.gradients import UnconnectedGradients, gradients
from millrace._ops.script_calls import Function, call_node, returned_as
from millrace._run.eager_graph import EagerGraph
from millrace._values import dtypes

__all__ = ["py_function"]

# What needs no Tensor to become what a node gives.
_PLAIN = (np.ndarray, np.generic, int, float, complex, str, bytes)


class _EagerFunction(Function):
    """A function of EagerTensors.

    Attributes:
      takes, gives: the DTypes of its arguments and results.
    """

    def __init__(self, function, takes, gives):
        super().__init__(function)
        self.takes, self.gives = takes, gives

    def call(self, arrays):
        graph = EagerGraph()
        try:
            with graph.as_default():
                given = zip(arrays, self.takes, strict=True)
                results = self.results([graph.add_value(*pair) for pair in given])
                made = [each for each in results if isinstance(each, Tensor)]
                values = dict(zip(made, graph.values_of(made)))
                graph.finish()
            return [
                returned_as(values[each] if isinstance(each, Tensor) else each, dtype)
                for each, dtype in zip(results, self.gives)
            ]
        finally:
            graph.close()

    def results(self, arguments):
        """What it gives for EagerTensors: as many Tensors, and what becomes some, as `gives` says.

        Raises:
          ValueError: if there are more, fewer, or Tensors of other types.
        """
        returned = self.function(*arguments)
        if returned is None:
            returned = []
        if not isinstance(returned, (list, tuple)) or len(self.gives) == 1 != len(returned):
            returned = [returned]
        if len(returned) != len(self.gives):
            raise ValueError(
                f"the function returned {len(returned)} values, but Tout says {len(self.gives)}"
            )
        return [_result(each, dtype) for each, dtype in zip(returned, self.gives)]

    def gradient(self):
        return _Gradient(self)


class _Gradient(_EagerFunction):
    """The gradients of a function by its arguments that have some, from these and what arrives."""

    def __init__(self, of):
        self._of = of
        arriving = [dtype for dtype in of.gives if _has_gradient(dtype)]
        leaving = [dtype for dtype in of.takes if _has_gradient(dtype)]
        super().__init__(self._gradients, [*of.takes, *arriving], leaving)

    def _gradients(self, *values):
        count = len(self._of.takes)
        arguments, arriving = values[:count], values[count:]
        results = self._of.results(arguments)
        ys = [
            convert(y, dtype) for y, dtype in zip(results, self._of.gives) if _has_gradient(dtype)
        ]
        xs = [x for x in arguments if _has_gradient(x.dtype)]
        return gradients(ys, xs, list(arriving), unconnected_gradients=UnconnectedGradients.ZERO)


def _has_gradient(dtype):
    return dtype.is_floating or dtype.is_complex


def _result(value, dtype):
    if isinstance(value, _PLAIN):
        return value
    if hasattr(value, "read_value"):
        raise RuntimeError(
            "Attempting to return a variable from a function of tf.py_function: return "
            f"`read_value()` of it instead. The variable is {value!r}."
        )
    return convert(value, dtype)


def py_function(func, inp, Tout, name=None):
    """What a Python function that computes by ops returns for the values of Tensors, with gradients.

    As tf.py_func, but the function is called with Tensors that have values. Of each, `numpy()` gives the
    value; bool, int, float, len, a loop, an `if`, a format and NumPy's functions take it as it is; ops and
    operators give Tensors of the kind again; tf.GradientTape, tf.gradients, tf.cond and tf.while_loop work with
    them. The ops go to a graph that the call makes for itself: they run when a value is asked for or
    returned, those with effects once and in the order of the program. Tensors and variables from outside
    can't be used in it: pass their values by `inp`.

    Gradients go through what was computed by ops from the arguments, not through what NumPy computed. The
    function is called again for them.

    Args:
      func: takes as many such Tensors as there are in `inp`; returns a Tensor, an array or a number, or a
        list of them, which become what `Tout` says. Tensors must have the type already.
      inp: a list of Tensors.
      Tout: a type, or a list of them; an empty list for a function that gives nothing.
      name: a name for the node.

    Returns:
      a Tensor of unknown shape; for a list of types, a list of Tensors; the Operation if it is empty.
      Steps fail with InvalidArgumentError if the function returns something else.
    """
    inputs = [convert(value) for value in inp]
    types = Tout if isinstance(Tout, (list, tuple)) else [Tout]
    function = _EagerFunction(
        func,
        [tensor.dtype.base_dtype for tensor in inputs],
        [dtypes.as_dtype(dtype) for dtype in types],
    )
    return call_node(gen_ops.eager_py_func, function, inputs, Tout, name)
