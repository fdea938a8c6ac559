"""Rows of ragged tensors by their numbers or by a mask."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._flow.checks import assert_equal, assert_greater_equal, assert_less
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import gather as gather_dense
from millrace._ops.arrays import where as where_dense
from millrace._ops.sorting import argsort
from millrace._ragged.elementwise import elementwise, same_splits
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from millrace._values import dtypes


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """The rows of `params` that `indices` name, one or both of which are ragged.

    Args:
      params: a Tensor or RaggedTensor.
      indices: an int32 or int64 Tensor or RaggedTensor.
      validate_indices: accepted; indices out of range are errors.
      name: the name scope.
      axis: as batch_dims, or None.
      batch_dims: how many leading dimensions both share; the rows of each of their rows are named.

    Returns:
      a RaggedTensor, or a Tensor for a single number of a row of `params`.

    Raises:
      ValueError: for another axis, or if the rank of the indices is not known.
    """
    if axis not in (None, batch_dims):
        raise ValueError(f"axis={axis} must be batch_dims={batch_dims} for ragged tensors")
    with name_scope(name, "RaggedGather", [params, indices]):
        params = as_ragged_or_tensor(params, name="params")
        indices = as_ragged_or_tensor(indices, name="indices")
        if batch_dims < 0:
            if indices.shape.ndims is None:
                raise ValueError("batch_dims may only be negative if rank(indices) is known")
            batch_dims += indices.shape.ndims
        for _ in range(1, batch_dims):
            return _inside(params, indices, lambda p, i: gather(p, i, batch_dims=batch_dims - 1))
        if batch_dims == 1:
            return batch_gather(params, indices)
        if is_ragged(indices):
            return indices.with_values(gather(params, indices.values))
        return rows_of(params, indices)


def rows_of(params, indices):
    """The rows of a Tensor or RaggedTensor that a Tensor of known rank names."""
    if not is_ragged(params):
        return gather_dense(params, indices, axis=0)
    if indices.shape.ndims is None:
        raise ValueError("rank(indices) must be known statically")
    levels = indices.shape.ndims + params.ragged_rank - 1
    made = gen_ops.ragged_gather(
        list(params.nested_row_splits), params.flat_values, indices, OUTPUT_RAGGED_RANK=levels
    )
    splits, flat = made
    flat.set_shape([None, *params.flat_values.shape.as_list()[1:]])
    if levels == 0:
        return flat
    if indices.shape.ndims == 1:
        known = indices.shape.as_list()[0]
        splits[0].set_shape([None if known is None else known + 1])
    return RaggedTensor.from_nested_row_splits(flat, list(splits), validate=False)


def _inside(params, indices, function):
    """A function of the values of two tensors whose first dimensions are the same."""
    params, indices = _as_ragged(params), _as_ragged(indices)
    with control_dependencies(same_splits([params.row_splits], [indices.row_splits])):
        return indices.with_values(function(params.values, indices.values))


def _as_ragged(value):
    """Rows that are all of one length as a RaggedTensor."""
    return value if is_ragged(value) else RaggedTensor.from_tensor(value)


def batch_gather(params, indices, name=None):
    """Of each row of `params` what the same row of `indices` names; one or both of them are ragged.

    Args:
      params, indices: Tensors or RaggedTensors with as many rows. With indices of more dimensions than two,
        rows of rows are gathered from.
    """
    with name_scope(name, "RaggedBatchGather", [params, indices]):
        params = as_ragged_or_tensor(params, name="params")
        indices = as_ragged_or_tensor(indices, name="indices")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if indices.shape.ndims == 0:
            raise ValueError("indices.rank must be at least 1.")
        if indices.shape.ndims == 1:
            column = RaggedTensor.from_tensor(indices[:, None], row_splits_dtype=dtypes.int64)
            return batch_gather(params, column).values
        if indices.shape.ndims > 2:
            return _inside(params, indices, batch_gather)
        params, indices = _as_ragged(params), _as_ragged(indices)
        dtype = params.row_splits.dtype.base_dtype
        indices = indices.with_row_splits_dtype(dtype)
        numbers = cast(indices.values, dtype)
        rowids = indices.value_rowids()
        message = "indices name what is not in their rows"
        checks = [
            assert_equal(params.nrows(), indices.nrows(), message="params and indices have rows"),
            assert_greater_equal(numbers, constant(0, dtype), message=message),
            assert_less(numbers, rows_of(params.row_lengths(), rowids), message=message),
        ]
        with control_dependencies(checks):
            places = gen_ops.add(rows_of(params.row_splits, rowids), numbers)
            return indices.with_values(rows_of(params.values, places))


def gather_nd(params, indices, name=None):
    """What the places of `indices` name in a RaggedTensor, or ragged places in a Tensor.

    Args:
      params: a Tensor or RaggedTensor.
      indices: an int32 or int64 Tensor or RaggedTensor; its last dimension, of known size, is a place.
    """
    with name_scope(name, "RaggedGatherNd", [params, indices]):
        params = as_ragged_or_tensor(params, name="params")
        indices = as_ragged_or_tensor(indices, name="indices")
        if is_ragged(indices):
            return indices.with_values(gather_nd(params, indices.values))
        dims = indices.shape.as_list() if indices.shape.ndims else None
        if not dims or dims[-1] is None:
            raise ValueError("indices must have a last dimension of known size")
        if dims[-1] == 0:
            raise ValueError("places in a ragged tensor need one number or more")
        place = indices[..., 0]
        for axis in range(1, dims[-1]):
            if not is_ragged(params):
                rest = gen_ops.concat_v2([place[..., None], indices[..., axis:]], -1)
                return gen_ops.gather_nd(params, rest)
            place = _deeper(params, place, indices[..., axis])
            params = params.values
        return rows_of(params, place)


def _deeper(params, rows, numbers):
    """At which value of `params` the elements with these numbers are in rows."""
    dtype = params.row_splits.dtype.base_dtype
    numbers = cast(numbers, dtype)
    message = "indices name what is not in their rows"
    starts, ends = params.row_splits[:-1], params.row_splits[1:]
    begin = gen_ops.gather_v2(starts, rows, 0)
    place = gen_ops.add(begin, numbers)
    checks = [
        assert_greater_equal(numbers, constant(0, dtype), message=message),
        assert_less(place, gen_ops.gather_v2(ends, rows, 0), message=message),
    ]
    with control_dependencies(checks):
        return gen_ops.identity(place)


def boolean_mask(data, mask, keepdims=False, name=None):
    """What stands where a mask is true, in rows as before.

    Args:
      data: a RaggedTensor, or what converts to a Tensor.
      mask: the same of bools, with the same rows; its rank, at least 1, is known and not over that of data.
      keepdims: accepted for its older name; dimensions stay.
      name: the name scope.

    Returns:
      a tensor of the rank of data, ragged in the last dimension of the mask unless that is the first.

    Raises:
      ValueError: if the rank of the mask is not known, or 0.
    """
    with name_scope(name, "RaggedMask", [data, mask]):
        data = as_ragged_or_tensor(data, name="data")
        mask = as_ragged_or_tensor(mask, dtypes.bool, name="mask")
        rank = mask.shape.ndims
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        return _masked(data, mask, rank)


def _masked(data, mask, rank):
    if rank == 1:
        rows = data.nrows(dtypes.int64) if is_ragged(data) else None
        size = gen_ops.size(mask, out_type=dtypes.int64)
        count = gen_ops.shape(data, out_type=dtypes.int64)[0] if rows is None else rows
        with control_dependencies([assert_equal(size, count, message="mask and data have rows")]):
            places = gen_ops.where(mask)
        return rows_of(data, gen_ops.squeeze(places, squeeze_dims=[1]))
    dtype = next((each.row_splits.dtype for each in (data, mask) if is_ragged(each)), dtypes.int64)
    data, mask = (
        each if is_ragged(each) else RaggedTensor.from_tensor(each, row_splits_dtype=dtype)
        for each in (data, mask)
    )
    with control_dependencies(same_splits([data.row_splits], [mask.row_splits])):
        values = _masked(data.values, mask.values, rank - 1)
    if rank > 2:
        return data.with_values(values)
    # How many are left before each split.
    left = gen_ops.cumsum(cast(mask.values, dtype), 0)
    before = gen_ops.concat_v2([constant([0], dtype), left], 0)
    return RaggedTensor(values, gen_ops.gather_v2(before, data.row_splits, 0))


def where(condition, x=None, y=None, name=None):
    """As tf.where, with a ragged tensor among the arguments.

    Args:
      condition: bools; a vector chooses between whole rows of x and y.
      x, y: both or none of them.
      name: the name scope.

    Returns:
      a RaggedTensor like x; without x and y the places where the condition holds, int64 [N, rank].
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with name_scope(name, "RaggedWhere", [condition, x, y]):
        condition = as_ragged_or_tensor(condition, name="condition")
        if x is None:
            return _places(condition)
        x = as_ragged_or_tensor(x, name="x")
        y = as_ragged_or_tensor(y, name="y")
        if not is_ragged(condition) and condition.shape.ndims == 1:
            return _chosen_rows(condition, x, y)
        return elementwise(where_dense, condition, x, y)


def _places(condition):
    """The places of what is true in a tensor."""
    if not is_ragged(condition):
        return gen_ops.where(condition)
    inner = _places(condition.values)
    rows = cast(gen_ops.gather_v2(condition.value_rowids(), inner[:, 0], 0), dtypes.int64)
    starts = cast(gen_ops.gather_v2(condition.row_splits, rows, 0), dtypes.int64)
    first = gen_ops.sub(inner[:, 0], starts)
    return gen_ops.concat_v2([gen_ops.pack([rows, first], axis=1), inner[:, 1:]], 1)


def _chosen_rows(condition, x, y):
    """Whole rows, from one of two ragged tensors."""
    levels = max(each.ragged_rank for each in (x, y) if is_ragged(each))
    x, y = (with_ragged_rank(each, levels) for each in (x, y))
    y = y.with_row_splits_dtype(x.row_splits.dtype.base_dtype)
    both = joined_rows([x, y])
    dtype = x.row_splits.dtype.base_dtype
    sizes = [each.nrows() for each in (x, y)]
    count = gen_ops.size(condition, out_type=dtype)
    message = "condition, x and y have rows"
    checks = [assert_equal(size, count, message=message) for size in sizes]
    with control_dependencies(checks):
        rows = gen_ops.range(constant(0, dtype), count, 1)
    return rows_of(both, gen_ops.select(condition, rows, gen_ops.add(rows, sizes[0])))


def with_ragged_rank(value, levels):
    """A tensor with uniform dimensions made ragged until it has so many ragged ones."""
    if not is_ragged(value):
        return value if levels == 0 else RaggedTensor.from_tensor(value, ragged_rank=levels)
    if value.ragged_rank >= levels:
        return value
    return value.with_values(
        with_ragged_rank_of(value.values, levels - 1, value.row_splits.dtype.base_dtype)
    )


def with_ragged_rank_of(value, levels, dtype):
    """The same, with splits of a type."""
    if is_ragged(value):
        return with_ragged_rank(value, levels)
    return RaggedTensor.from_tensor(value, ragged_rank=levels, row_splits_dtype=dtype)


def joined_rows(parts):
    """The rows of RaggedTensors of one ragged rank, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    if not is_ragged(parts[0]):
        return gen_ops.concat_v2(parts, 0)
    values = joined_rows([part.values for part in parts])
    ends, splits = None, []
    for part in parts:
        own = part.row_splits if ends is None else gen_ops.add(part.row_splits[1:], ends)
        ends = own[-1] if ends is None else gen_ops.add(part.row_splits[-1], ends)
        splits.append(own)
    return RaggedTensor(values, gen_ops.concat_v2(splits, 0))


def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """The elements of data as rows by the numbers of their partitions.

    Args:
      data: a Tensor or RaggedTensor.
      partitions: an integer Tensor or RaggedTensor with the leading dimensions of data, of known rank.
      num_partitions: how many rows there are.
      name: the name scope.

    Returns:
      a RaggedTensor, row i of which holds what `partitions` has an i for.
    """
    with name_scope(name, "SegmentStack", [data, partitions]):
        data = as_ragged_or_tensor(data, name="data")
        partitions = as_ragged_or_tensor(partitions, name="partitions")
        rank = partitions.shape.ndims
        if rank is None:
            raise ValueError("partitions must have known rank.")
        if rank == 0:
            return RaggedTensor.from_value_rowids(
                data[None], gen_ops.reshape(partitions, [1]), num_partitions
            )
        if is_ragged(partitions) or rank > 1:
            data, partitions = _as_ragged(data), _as_ragged(partitions)
            with control_dependencies(same_splits([data.row_splits], [partitions.row_splits])):
                return stack_dynamic_partitions(data.values, partitions.values, num_partitions)
        order = argsort(partitions, stable=True)
        numbers = gen_ops.gather_v2(partitions, order, 0)
        count = cast(convert(num_partitions), numbers.dtype.base_dtype)
        return RaggedTensor.from_value_rowids(rows_of(data, order), numbers, count)
