"""Means and variances, and what is scaled by them."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import squeeze, stop_gradient
from millrace._ops.layers import one_of
from millrace._ops.reductions import count_nonzero, reduce_mean, reduce_sum
from millrace._values import dtypes

__all__ = ["batch_normalization", "l2_normalize", "moments", "zero_fraction"]


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) over axes.

    Args:
      x: a Tensor. float16 is worked out in float32.
      axes: a list of axes.
      shift: accepted; not used.
      name: the name scope.
      keep_dims: the older name of keepdims.
      keepdims: True to keep the axes, with size 1.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x]):
        x = convert(x, name="x")
        dtype = x.dtype.base_dtype
        wide = cast(x, dtypes.float32) if dtype == dtypes.float16 else x
        mean = reduce_mean(wide, axes, keepdims=True, name="mean")
        # The mean's own gradient adds nothing here: deviations from it add up to 0.
        deviations = gen_ops.squared_difference(wide, stop_gradient(mean))
        variance = reduce_mean(deviations, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return cast(mean, dtype), cast(variance, dtype)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset.

    Args:
      x: a Tensor of a floating type.
      mean, variance: of a shape that broadcasts to that of x, as `moments` gives.
      offset, scale: likewise; None for 0 and 1.
      variance_epsilon: a small number that keeps the divisor from 0.
      name: the name scope.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert(x, name="x")
        factor = gen_ops.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        rest = -mean * factor if offset is None else offset - mean * factor
        dtype = x.dtype.base_dtype
        return x * cast(factor, dtype) + cast(rest, dtype)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x / sqrt(max(sum(x^2), epsilon)), the sum over an axis or a list of them (all if None)."""
    axis = one_of("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert(x, name="x")
        squares = reduce_sum(gen_ops.square(x), axis, keepdims=True)
        inverse = gen_ops.rsqrt(gen_ops.maximum(squares, convert(epsilon, x.dtype.base_dtype)))
        return gen_ops.mul(x, inverse, name=scope)


def zero_fraction(value, name=None):
    """The share of elements that are 0, a float32 scalar; NaN if there are no elements."""
    with name_scope(name, "zero_fraction", [value]):
        value = convert(value, name="value")
        size = gen_ops.size(value, out_type=dtypes.int64)
        zeros = cast(size - count_nonzero(value), dtypes.float32)
        return gen_ops.identity(zeros / cast(size, dtypes.float32), name="fraction")
