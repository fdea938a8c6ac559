"""tf.py_func: nodes that call Python functions of this process."""

import atexit
import itertools
import threading
import traceback
import weakref

import numpy as np

from millrace import _gen as gen_ops
from millrace import _millrace
from millrace._values import errors, tensor_values

__all__ = ["Function", "call_node", "numpy_function", "py_func", "returned_as"]

_CODES = [
    ((TypeError, ValueError), errors.INVALID_ARGUMENT),
    (StopIteration, errors.OUT_OF_RANGE),
    (MemoryError, errors.RESOURCE_EXHAUSTED),
    (NotImplementedError, errors.UNIMPLEMENTED),
]


class Function:
    """A function that nodes call; the graph with the nodes keeps it."""

    def __init__(self, function):
        self.function = function

    def call(self, arrays):
        """What nodes get: a list of (number of the type, array)."""
        value = self.function(*arrays)
        if value is None:
            return []
        values = value if isinstance(value, (list, tuple)) else [value]
        return [returned_as(np.asarray(item, order="C")) for item in values]

    def gradient(self):
        """The Function that nodes call whose token says ":gradient". ValueError if there is none."""
        raise ValueError("the function has no gradient")


class _Functions(list):
    """Those of one graph."""


class _Table:
    """The functions of this process by token, and how many of them run."""

    def __init__(self):
        self._functions = weakref.WeakValueDictionary()
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._running = 0
        self._is_open = True

    def add(self, function):
        """The token of a function."""
        token = f"pyfunc_{next(self._numbers)}"
        self._functions[token] = function
        return token

    def call(self, token, arrays):
        """What a node gets: [(number of the type, array)]; for an error, (code, message)."""
        with self._changed:
            if not self._is_open:
                return errors.UNKNOWN, f"{token} is not called: the program has ended"
            self._running += 1
        try:
            name, *more = token.split(":")
            found = self._functions.get(name)
            if found is None:
                return errors.INVALID_ARGUMENT, (
                    f"ValueError: callback {token} is not found: the graph was made by another "
                    "process, or is gone; a task runs the functions of its own program alone"
                )
            for _ in more:
                found = found.gradient()
            return found.call(arrays)
        except BaseException as error:
            return _code(error), _told(error)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def end(self, patience=10.0):
        """Begins no further call, and waits for those that run, `patience` seconds at most."""
        with self._changed:
            self._is_open = False
            self._changed.wait_for(lambda: self._running == 0, patience)


_TABLE = _Table()
_millrace.ops.set_function_caller(_TABLE.call)
# No thread is to be in Python when it ends.
atexit.register(_TABLE.end)


def call_node(op, function, inputs, Tout, name):
    """What a new node gives that calls a Function.

    Args:
      op: gen_ops' function of PyFunc or its kin.
      function: a Function, which the node's graph keeps.
      inputs: a list of Tensors.
      Tout: a type, or a list of them.
      name: a name for the node.

    Returns:
      a Tensor; for a list of types, a list of Tensors; the Operation if it is empty.
    """
    is_list = isinstance(Tout, (list, tuple))
    types = list(Tout) if is_list else [Tout]
    made = op(list(inputs), token=_TABLE.add(function), Tout=types, name=name)
    # A list of outputs, or the node of a function that gives nothing.
    graph = made[0].graph if isinstance(made, list) else made.graph
    graph.own(_Functions).append(function)
    return made if is_list else made[0]


def returned_as(value, dtype=None):
    """One value as a node gets it: of a DType, or of the one that it has."""
    array, dtype = tensor_values.to_array(value, dtype)
    return dtype.as_datatype_enum, array


def _code(error):
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), errors.UNKNOWN)


def _told(error):
    lines = traceback.format_exception(type(error), error, error.__traceback__.tb_next)
    return f"{type(error).__name__}: {error}\n{''.join(lines).rstrip()}"


def py_func(func, inp, Tout, stateful=True, name=None):
    """What a Python function returns for the values of Tensors, when the graph runs.

    The function runs in the process of the task that its node is on, which must be this program's: a
    session without a cluster, or on a tf.train.Server of this process.

    Args:
      func: takes as many NumPy arrays (or NumPy scalars) as there are Tensors in `inp`; returns an
        array, or a list of them, of exactly the types of `Tout`.
      inp: a list of Tensors.
      Tout: a type, or a list of them.
      stateful: False for a function that gives the same for the same inputs.
      name: a name for the node.

    Returns:
      a Tensor of unknown shape; for a list of types, a list of Tensors; the Operation if it is empty.
    """
    op = gen_ops.py_func if stateful else gen_ops.py_func_stateless
    return call_node(op, Function(func), inp, Tout, name)


def numpy_function(func, inp, Tout, name=None):
    """py_func of a function that may give something else each time."""
    return py_func(func, inp, Tout, stateful=True, name=name)
