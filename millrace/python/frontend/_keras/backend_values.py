"""Functions of tf.keras.backend that make values: variables, placeholders, random numbers, functions."""

import contextlib

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import constant as constant_of
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.graph import get_default_graph
from millrace._keras import sessions
from millrace._keras.settings import floatx
from millrace._ops import random_values
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones as ones_of
from millrace._ops.arrays import ones_like as ones_like_of
from millrace._ops.arrays import placeholder as placeholder_of
from millrace._ops.arrays import zeros as zeros_of
from millrace._ops.arrays import zeros_like as zeros_like_of
from millrace._ops.shaped import eye as eye_of
from millrace._ops.sparse import sparse_placeholder
from millrace._state.assignments import assign, assign_add, assign_sub
from millrace._state.variables import Variable
from millrace._values import dtypes, structure


def backend():
    """ "tensorflow"."""
    return "tensorflow"


class _Uids:
    """How many numbers of a graph have a prefix."""

    def __init__(self):
        self.counts = {}


def get_uid(prefix=""):
    """The next number for a prefix in the default graph, from 1 on."""
    counts = get_default_graph().own(_Uids).counts
    counts[prefix] = counts.get(prefix, 0) + 1
    return counts[prefix]


def reset_uids():
    """Has get_uid begin with 1 again."""
    get_default_graph().own(_Uids).counts.clear()


@contextlib.contextmanager
def learning_phase_scope(value):
    """A context in which learning_phase() is 0 or 1. ValueError for another value."""
    before = sessions.fixed_learning_phase()
    sessions.set_learning_phase(value)
    try:
        yield
    finally:
        sessions.restore_learning_phase(before)


# ---- Constants and variables ------------------------------------------------------------------------


def constant(value, dtype=None, shape=None, name=None):
    """A constant; of the type that models prefer if there is none."""
    return constant_of(value, dtype=dtype or floatx(), shape=shape, name=name)


def variable(value, dtype=None, name=None, constraint=None):
    """A variable that has a value in get_session().

    Args:
      value: what it begins with: an array or a Tensor.
      dtype: the type; that which models prefer if None.
      name: its name.
      constraint: a function of its value that gives the one after a step of training.
    """
    made = Variable(
        convert(value, dtypes.as_dtype(dtype or floatx())),
        name=name,
        constraint=constraint,
        use_resource=True,
    )
    sessions.track([made])
    return made


def _variable_of(value, name):
    """A variable of a Tensor whose shape is known; the Tensor where it is not."""
    return variable(value, value.dtype, name) if value.shape.is_fully_defined() else value


def zeros(shape, dtype=None, name=None):
    """A variable of zeros; a Tensor if the shape is one that is not known."""
    return _variable_of(zeros_of(shape, dtype or floatx()), name)


def ones(shape, dtype=None, name=None):
    """A variable of ones; a Tensor if the shape is one that is not known."""
    return _variable_of(ones_of(shape, dtype or floatx()), name)


def eye(size, dtype=None, name=None):
    """A variable that is an identity matrix."""
    return variable(eye_of(size, dtype=dtypes.as_dtype(dtype or floatx())), dtype, name)


def zeros_like(x, dtype=None, name=None):
    """Zeros of the shape of x."""
    return zeros_like_of(x, dtype=dtype, name=name)


def ones_like(x, dtype=None, name=None):
    """Ones of the shape of x."""
    return ones_like_of(x, dtype=dtype, name=name)


def random_uniform_variable(shape, low, high, dtype=None, name=None, seed=None):
    """A variable that begins with numbers between low and high."""
    dtype = dtypes.as_dtype(dtype or floatx())
    return variable(random_values.random_uniform(shape, low, high, dtype, seed), dtype, name)


def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):
    """A variable that begins with normal numbers of this mean and standard deviation."""
    dtype = dtypes.as_dtype(dtype or floatx())
    return variable(random_values.random_normal(shape, mean, scale, dtype, seed), dtype, name)


def count_params(x):
    """The number of elements of a variable or Tensor of a known shape."""
    return int(np.prod(x.shape.as_list(), dtype=np.int64))


def update(x, new_x):
    """Gives a variable a value, when it is run."""
    return assign(x, new_x)


def update_add(x, increment):
    """Adds to a variable, when it is run."""
    return assign_add(x, increment)


def update_sub(x, decrement):
    """Subtracts from a variable, when it is run."""
    return assign_sub(x, decrement)


def moving_average_update(x, value, momentum):
    """x = x * momentum + value * (1 - momentum), when it is run."""
    return assign_sub(x, (convert(x) - value) * (1.0 - momentum))


# ---- Random numbers ---------------------------------------------------------------------------------


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normal numbers."""
    return random_values.random_normal(shape, mean, stddev, dtype or floatx(), seed)


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Numbers between two others, all equally probable."""
    return random_values.random_uniform(shape, minval, maxval, dtype or floatx(), seed)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normal numbers that are no more than two standard deviations from their mean."""
    return random_values.truncated_normal(shape, mean, stddev, dtype or floatx(), seed)


def random_binomial(shape, p=0.0, dtype=None, seed=None):
    """1 with probability p, else 0."""
    drawn = random_values.random_uniform(shape, dtype=dtypes.as_dtype(dtype or floatx()), seed=seed)
    return cast(gen_ops.less_equal(drawn, p), dtype or floatx())


# ---- Inputs and functions ---------------------------------------------------------------------------


def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None):
    """A placeholder: of a shape, or of any with `ndim` axes; a SparseTensor's if `sparse`."""
    if shape is None and ndim is not None:
        shape = [None] * ndim
    make = sparse_placeholder if sparse else placeholder_of
    return make(dtypes.as_dtype(dtype or floatx()), shape, name=name)


class Function:
    """What `function` gives: called with a list of values it gives those of its outputs."""

    def __init__(self, inputs, outputs, updates):
        self.inputs = list(inputs)
        self.outputs = outputs
        with control_dependencies(
            [each for each in structure.flatten(outputs) if hasattr(each, "op")]
        ):
            self._updates = group(
                *[assign(*each) if isinstance(each, tuple) else each for each in updates or []]
            )

    def __call__(self, inputs):
        values = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        if len(values) != len(self.inputs):
            raise ValueError(
                f"The function has {len(self.inputs)} inputs and was given {len(values)} values."
            )
        feeds = {
            tensor: value
            for tensor, value in zip(self.inputs, values)
            if hasattr(tensor, "op") and value is not None
        }
        return sessions.get_session().run([self.outputs, self._updates], feeds)[0]


def function(inputs, outputs, updates=None, name=None):
    """A function of values: runs Tensors in get_session().

        layer = tf.keras.backend.function([model.input], [model.layers[2].output])
        (values,) = layer([images])

    Args:
      inputs: a list of Tensors; learning_phase() may be among them.
      outputs: a Tensor or a structure of them.
      updates: Operations, or (variable, value) pairs, that are run after the outputs.
      name: accepted.

    Returns:
      a function of a list of values that gives the outputs' values in their structure.
    """
    return Function(inputs, outputs, updates)
