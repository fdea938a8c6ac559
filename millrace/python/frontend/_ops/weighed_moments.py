"""Means and variances from sums, and with weights."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import gather, shape, squeeze, zeros_like
from millrace._ops.layers import one_of
from millrace._ops.reductions import reduce_prod, reduce_sum
from millrace._values import dtypes


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """The sums of which normalize_moments makes mean and variance.

    Args:
      x: a Tensor.
      axes: a list of axes.
      shift: what is taken from x first, near its mean, so that sums stay exact; None for 0.
      keep_dims: the older name of keepdims.
      name: the name scope.
      keepdims: True to keep the axes, with size 1.

    Returns:
      (how many elements each sum has, a scalar, the sums, the sums of squares, the shift or None).
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    axes = sorted(set(axes))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert(x, name="x")
        sizes = [None] if x.shape.ndims is None else [x.shape.as_list()[axis] for axis in axes]
        if None in sizes:
            counts = cast(reduce_prod(gather(shape(x), axes)), x.dtype.base_dtype)
        else:
            counts = constant(float(np.prod(sizes)), x.dtype.base_dtype, name="count")
        if shift is None:
            first, second = x, gen_ops.square(x)
        else:
            shift = convert(shift, name="shift")
            first, second = gen_ops.sub(x, shift), gen_ops.squared_difference(x, shift)
        sums = reduce_sum(first, axes, keepdims=keep, name="mean_ss")
        return counts, sums, reduce_sum(second, axes, keepdims=keep, name="var_ss"), shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """(mean, variance) from what sufficient_statistics gives.

    Args:
      counts: how many elements each sum has, a scalar.
      mean_ss, variance_ss: the sums, and those of squares.
      shift: what was taken from each element, or None.
      name: the name scope.
    """
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        share = gen_ops.reciprocal(counts, name="divisor")
        distance = gen_ops.mul(mean_ss, share)
        mean = distance if shift is None else gen_ops.add(distance, shift, name="mean")
        squares = gen_ops.mul(variance_ss, share)
        return mean, gen_ops.sub(squares, gen_ops.square(distance), name="variance")


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) over axes, each element counted as often as its weight says.

    Args:
      x: a Tensor. float16 is worked out in float32.
      axes: a list of axes.
      frequency_weights: not negative; of a shape that broadcasts to that of x.
      name: the name scope.
      keep_dims: the older name of keepdims.
      keepdims: True to keep the axes, with size 1.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert(x, name="x")
        dtype = x.dtype.base_dtype
        wide = cast(x, dtypes.float32) if dtype == dtypes.float16 else x
        weights = cast(frequency_weights, wide.dtype) + zeros_like(wide)
        share = gen_ops.reciprocal(reduce_sum(weights, axes, keepdims=True))
        mean = reduce_sum(weights * wide, axes, keepdims=True) * share
        squares = weights * gen_ops.squared_difference(wide, mean)
        variance = reduce_sum(squares, axes, keepdims=True) * share
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return cast(mean, dtype), cast(variance, dtype)
