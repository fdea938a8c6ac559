"""Arithmetic as tf.* names it, where the name or the arguments differ from the op's."""

from millrace import _gen as gen_ops
from millrace._graph.composite import takes_composites
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._ops.arrays import identity
from millrace._ops.operators import true_divide
from millrace._values import dtypes

__all__ = [
    "accumulate_n",
    "add_n",
    "argmax",
    "argmin",
    "cast",
    "cumsum",
    "divide",
    "equal",
    "linspace",
    "logical_xor",
    "multiply",
    "negative",
    "not_equal",
    "range",
    "round",
    "saturate_cast",
    "scalar_mul",
    "sigmoid",
    "subtract",
    "tanh",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
]


@takes_composites
def cast(x, dtype, name=None):
    """A Tensor, SparseTensor or RaggedTensor with its elements as `dtype`; what has the type already as it is."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    if is_sparse(x):
        x = SparseTensor.from_value(x)
        values = cast(x.values, dtype, name)
        return x if values is x.values else SparseTensor(x.indices, values, x.dense_shape)
    x = convert(x, name="x")
    if x.dtype.base_dtype == dtype:
        return x
    return gen_ops.cast(x, DstT=dtype, name=name or "Cast")


@takes_composites
def saturate_cast(value, dtype, name=None):
    """`cast`, with values that do not fit `dtype` brought to its limits first."""
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert(value, name="value")
        dtype = dtypes.as_dtype(dtype).base_dtype
        if value.dtype.min < dtype.min:
            value = gen_ops.maximum(value, convert(dtype.min, value.dtype.base_dtype))
        if value.dtype.max > dtype.max:
            value = gen_ops.minimum(value, convert(dtype.max, value.dtype.base_dtype))
        return cast(value, dtype, name=scope)


def to_float(x, name="ToFloat"):
    return cast(x, dtypes.float32, name)


def to_double(x, name="ToDouble"):
    return cast(x, dtypes.float64, name)


def to_int32(x, name="ToInt32"):
    return cast(x, dtypes.int32, name)


def to_int64(x, name="ToInt64"):
    return cast(x, dtypes.int64, name)


def multiply(x, y, name=None):
    """x * y, element by element."""
    return gen_ops.mul(x, y, name=name)


def subtract(x, y, name=None):
    """x - y, element by element."""
    return gen_ops.sub(x, y, name=name)


def negative(x, name=None):
    """-x, element by element."""
    return gen_ops.neg(x, name=name)


def divide(x, y, name=None):
    """x / y as Python divides; see `truediv`."""
    return true_divide(x, y, name)


def scalar_mul(scalar, x, name=None):
    """`x` times a scalar."""
    scalar = convert(scalar, convert(x).dtype.base_dtype, "scalar")
    if scalar.shape.ndims not in (None, 0):
        raise ValueError("Only scalar multiply works, got shape %s" % scalar.shape)
    return gen_ops.mul(scalar, x, name=name)


@takes_composites
def add_n(inputs, name=None):
    """The sum of a list of Tensors of one shape. A list of one is returned as it is."""
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(
            "inputs must be a list of at least one Tensor with the same dtype and shape"
        )
    inputs = [convert(item) for item in inputs]
    if len(inputs) == 1:
        return identity(inputs[0], name) if name else inputs[0]
    return gen_ops.add_n(inputs, name=name)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of a list of Tensors."""
    return add_n(inputs, name or "AccumulateNV2")


@takes_composites
def round(x, name=None):
    """Each element rounded to the nearest integer, halves to the even one."""
    x = convert(x, name="x")
    return x if x.dtype.is_integer else gen_ops.round(x, name=name)


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """start, start + delta, ... up to and without `limit`; with one number, 0 up to it.

    Args:
      start, limit, delta: scalars; their common type is the widest of int32, int64, float32, float64.
      dtype: the type, if it is to be another.
      name: a name for the node.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        given = {"start": start, "limit": limit, "delta": delta}
        values = {key: convert(value, dtype, key) for key, value in given.items()}
        if dtype is None:
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            dtype = max((value.dtype.base_dtype for value in values.values()), key=order.index)
            values = {key: cast(value, dtype) for key, value in values.items()}
        return gen_ops.range(*values.values(), name=scope)


def linspace(start, stop, num, name=None):
    """`num` values evenly spaced from `start` to `stop`, both included."""
    return gen_ops.lin_space(start, stop, num, name=name or "LinSpace")


def equal(x, y, name=None):
    """x == y, element by element."""
    return gen_ops.equal(x, y, name=name)


def not_equal(x, y, name=None):
    """x != y, element by element."""
    return gen_ops.not_equal(x, y, name=name)


def logical_xor(x, y, name="LogicalXor"):
    """True where exactly one of two bool Tensors is."""
    with name_scope(name, None, [x, y]) as scope:
        either = gen_ops.logical_or(x, y)
        both = gen_ops.logical_and(x, y)
        return gen_ops.logical_and(either, gen_ops.logical_not(both), name=scope)


def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """The index of the largest value along an axis (0 if None is given)."""
    return gen_ops.arg_max(input, _axis(axis, dimension), output_type=output_type, name=name)


def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """The index of the smallest value along an axis (0 if None is given)."""
    return gen_ops.arg_min(input, _axis(axis, dimension), output_type=output_type, name=name)


def _axis(axis, old_name):
    chosen = axis if axis is not None else old_name
    return 0 if chosen is None else chosen


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Sums of all elements up to each, along an axis."""
    return gen_ops.cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def sigmoid(x, name=None):
    """1 / (1 + exp(-x))."""
    return gen_ops.sigmoid(x, name=name)


def tanh(x, name=None):
    """The hyperbolic tangent."""
    return gen_ops.tanh(x, name=name)
