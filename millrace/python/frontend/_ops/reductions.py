"""Sums, means, extremes over axes: tf.reduce_*."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.composite import takes_composites
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._values import dtypes

__all__ = [
    "count_nonzero",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


def _axes(tensor, axis, old_axis):
    """The axes as the op wants them; all of them if none are given."""
    axis = axis if axis is not None else old_axis
    if axis is not None:
        return axis
    rank = tensor.shape.ndims
    if rank is not None:
        return np.arange(rank, dtype=np.int32)
    return gen_ops.range(0, gen_ops.rank(tensor), 1)


def _reduction(op, noun):
    """A reduce_* function over the op's wrapper of this name."""

    def reduce(
        input_tensor,
        axis=None,
        keepdims=None,
        name=None,
        reduction_indices=None,
        keep_dims=None,
    ):
        tensor = convert(input_tensor, name="input_tensor")
        keep = bool(keepdims if keepdims is not None else keep_dims)
        axes = _axes(tensor, axis, reduction_indices)
        return getattr(gen_ops, op)(tensor, axes, keep_dims=keep, name=name)

    reduce.__doc__ = f"""{noun} over axes.

    Args:
      input_tensor: a Tensor.
      axis: an axis or a list of axes; None for all of them.
      keepdims: True to keep the axes, with size 1.
      name: a name for the node.
      reduction_indices: the older name of axis.
      keep_dims: the older name of keepdims.

    Raises:
      ValueError: if an axis is not one of the Tensor.
    """
    reduce.__name__ = f"reduce_{op}"
    return takes_composites(reduce)


reduce_sum = _reduction("sum", "The sum")
reduce_mean = _reduction("mean", "The mean")
reduce_prod = _reduction("prod", "The product")
reduce_max = _reduction("max", "The largest element")
reduce_min = _reduction("min", "The smallest element")
reduce_euclidean_norm = _reduction("euclidean_norm", "The root of the sum of the squares")
reduce_all = _reduction("all", "Whether all elements are true")
reduce_any = _reduction("any", "Whether any element is true")


def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):
    """log(sum(exp(x))) over axes, without overflow."""
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        tensor = convert(input_tensor)
        largest = gen_ops.stop_gradient(reduce_max(tensor, axis, keepdims=True))
        total = reduce_sum(gen_ops.exp(tensor - largest), axis, keepdims=True)
        result = gen_ops.log(total) + largest
        if keepdims:
            return gen_ops.identity(result, name=scope)
        shape = gen_ops.shape(reduce_sum(tensor, axis))
        return gen_ops.reshape(result, shape, name=scope)


def count_nonzero(
    input_tensor, axis=None, keepdims=None, dtype=dtypes.int64, name=None, keep_dims=None
):
    """The number of elements over axes that are not zero."""
    with name_scope(name, "count_nonzero", [input_tensor]) as scope:
        tensor = convert(input_tensor)
        empty = "" if tensor.dtype.base_dtype == dtypes.string else 0
        marks = gen_ops.not_equal(tensor, convert(empty, tensor.dtype.base_dtype))
        keep = keepdims if keepdims is not None else keep_dims
        return cast(reduce_sum(cast(marks, dtypes.int64), axis, keep), dtype, name=scope)
