"""Functions of tf.keras.backend on Tensors."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cast
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.reductions import reduce_max, reduce_mean, reduce_sum
from millrace._values import dtypes
from millrace._keras.settings import floatx


def mean(x, axis=None, keepdims=False):
    """The mean along axes, of bools as numbers."""
    x = convert(x)
    if x.dtype.base_dtype == dtypes.bool:
        x = cast(x, floatx())
    return reduce_mean(x, axis, keepdims)


def sum(x, axis=None, keepdims=False):
    """The sum along axes."""
    return reduce_sum(x, axis, keepdims)


def max(x, axis=None, keepdims=False):
    """The largest along axes."""
    return reduce_max(x, axis, keepdims)


def sqrt(x):
    """The square root, of negative numbers 0."""
    return gen_ops.sqrt(gen_ops.maximum(convert(x), 0.0))


def dot(x, y):
    """The product of matrices; of tensors along the last axis of x and the last but one of y."""
    x, y = convert(x), convert(y)
    if x.shape.ndims is not None and (x.shape.ndims > 2 or y.shape.ndims > 2):
        return tensordot(
            x, y, [[x.shape.ndims - 1], [y.shape.ndims - 2 if y.shape.ndims > 1 else 0]]
        )
    return matmul(x, y)


def int_shape(x):
    """The shape as a tuple, None in it for what is not known; None if nothing is."""
    shape = x.shape
    return None if shape.ndims is None else tuple(shape.as_list())


def ndim(x):
    """The rank, or None."""
    return x.shape.ndims


def dtype(x):
    """The name of the type."""
    return x.dtype.base_dtype.name
