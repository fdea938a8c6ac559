"""Folding rows by segments and counting, where tf.* names or orders things otherwise than the ops."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_max
from millrace._values import dtypes

__all__ = [
    "bincount",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "unsorted_segment_mean",
    "unsorted_segment_sqrt_n",
]


def _counts(data, segment_ids, num_segments):
    """How many rows each segment has, at least 1, shaped so that it broadcasts to the sums."""
    ones = gen_ops.fill(gen_ops.shape(segment_ids), constant(1, data.dtype.base_dtype))
    number = gen_ops.unsorted_segment_sum(ones, segment_ids, num_segments)
    number = gen_ops.maximum(number, constant(1, data.dtype.base_dtype))
    behind = gen_ops.sub(gen_ops.rank(data), gen_ops.rank(segment_ids))
    axes = gen_ops.fill(gen_ops.reshape(behind, [1]), 1)
    return gen_ops.reshape(number, gen_ops.concat_v2([gen_ops.shape(number), axes], 0))


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """The means of the rows of each segment; 0 where there are none.

    Args:
      data: a Tensor of floating or complex numbers.
      segment_ids: which segment each row belongs to: integers whose shape is how data's begins.
        Rows with a negative one belong to none.
      num_segments: how many segments there are, a scalar.
      name: the name scope.

    Returns:
      a Tensor of shape [num_segments] + the shape of a row.
    """
    with name_scope(name, "UnsortedSegmentMean", [data, segment_ids]) as scope:
        data = convert(data, name="data")
        ids = convert(segment_ids, name="segment_ids")
        total = gen_ops.unsorted_segment_sum(data, ids, num_segments)
        return gen_ops.real_div(total, _counts(data, ids, num_segments), name=scope)


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """The sums of the rows of each segment, divided by the root of how many there are.

    Args and result: as for `unsorted_segment_mean`.
    """
    with name_scope(name, "UnsortedSegmentSqrtN", [data, segment_ids]) as scope:
        data = convert(data, name="data")
        ids = convert(segment_ids, name="segment_ids")
        total = gen_ops.unsorted_segment_sum(data, ids, num_segments)
        root = gen_ops.sqrt(_counts(data, ids, num_segments))
        return gen_ops.real_div(total, root, name=scope)


def _sparse_segment(kind, noun):
    def fold(data, indices, segment_ids, name=None, num_segments=None):
        if num_segments is None:
            return getattr(gen_ops, f"sparse_segment_{kind}")(data, indices, segment_ids, name=name)
        folded = getattr(gen_ops, f"sparse_segment_{kind}_with_num_segments")
        return folded(data, indices, segment_ids, num_segments, name=name)

    fold.__doc__ = f"""{noun} of the rows of `data` that `indices` name, by segment.

    Args:
      data: a Tensor of floating numbers, at least a vector.
      indices: a vector of numbers of rows.
      segment_ids: a vector as long: which segment each of them belongs to, in order.
      name: a name for the node.
      num_segments: how many segments there are; if None, as many as the last id needs.

    Returns:
      a Tensor of shape [num_segments] + the shape of a row; 0 where a segment has no row.
    """
    fold.__name__ = f"sparse_segment_{kind}"
    return fold


sparse_segment_sum = _sparse_segment("sum", "The sums")
sparse_segment_mean = _sparse_segment("mean", "The means")
sparse_segment_sqrt_n = _sparse_segment(
    "sqrt_n", "The sums, divided by the root of how many there are,"
)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None):
    """How often each number comes: element i of the result counts i.

    Args:
      arr: an int32 Tensor of numbers that are not negative.
      weights: a Tensor of the same shape: what each element counts; None for 1.
      minlength: the least size of the result; zeros are added.
      maxlength: the greatest size of the result; larger numbers are left out.
      dtype: the type of the result if there are no weights.
      name: the name scope.

    Returns:
      a vector of the type of the weights, or of `dtype`.
    """
    with name_scope(name, "bincount", [arr]):
        arr = convert(arr, dtypes.int32, "arr")
        is_some = gen_ops.greater(gen_ops.size(arr), 0)
        largest = gen_ops.maximum(reduce_max(arr), -1)
        size = gen_ops.mul(cast(is_some, dtypes.int32), gen_ops.add(largest, 1))
        if minlength is not None:
            size = gen_ops.maximum(convert(minlength, dtypes.int32, "minlength"), size)
        if maxlength is not None:
            size = gen_ops.minimum(convert(maxlength, dtypes.int32, "maxlength"), size)
        if weights is None:
            weights = constant([], dtype)
        return gen_ops.bincount(arr, size, weights)


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """In which of `nbins` equal parts of `value_range` each value is; those outside in the first or last.

    Args:
      values: a Tensor of numbers.
      value_range: [lowest, highest], of the same type.
      nbins: a positive number.
      dtype: int32 or int64.
      name: the name scope.

    Returns:
      a Tensor of the shape of the values.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]) as scope:
        values = convert(values, name="values")
        bounds = convert(value_range, values.dtype.base_dtype, "value_range")
        number = convert(nbins, dtypes.int32, "nbins")
        width = gen_ops.sub(bounds[1], bounds[0])
        if values.dtype.is_integer:
            values, width = cast(values, dtypes.float64), cast(width, dtypes.float64)
            bounds = cast(bounds, dtypes.float64)
        places = gen_ops.real_div(gen_ops.sub(values, bounds[0]), width)
        kind = places.dtype.base_dtype
        places = gen_ops.floor(gen_ops.mul(places, cast(number, kind)))
        last = cast(gen_ops.sub(number, 1), kind)
        inside = gen_ops.maximum(gen_ops.minimum(places, last), constant(0, kind))
        return cast(inside, dtype, name=scope)


def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """How many values are in each of `nbins` equal parts of `value_range`.

    Args: as for `histogram_fixed_width_bins`.

    Returns:
      a vector of `nbins` counts.
    """
    return gen_ops.histogram_fixed_width(values, value_range, nbins, dtype=dtype, name=name)
