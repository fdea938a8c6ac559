"""Ragged tensors joined, repeated, and with more or fewer dimensions."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._flow.checks import assert_equal
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import one_hot as one_hot_dense
from millrace._ragged.elementwise import map_flat_values, same_splits
from millrace._ragged.gathers import joined_rows, rows_of, with_ragged_rank_of
from millrace._ragged.partitions import splits_of_lengths
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from millrace._values import dtypes


def concat(values, axis, name=None):
    """As tf.concat, with a ragged tensor among the values: in front of the rows, behind them, or deeper.

    Args:
      values: Tensors and RaggedTensors of one rank.
      axis: a number; a negative one needs a known rank.
      name: the name scope.

    Returns:
      a RaggedTensor.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, is_stacked=False)


def stack(values, axis=0, name=None):
    """As tf.stack, of tensors of one rank that need not have one shape.

    Args:
      values: Tensors, RaggedTensors, or what converts to them.
      axis: where the new dimension is to be, a number; a negative one needs a known rank.
      name: the name scope.

    Returns:
      a RaggedTensor.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    with name_scope(name, "RaggedStack", values):
        return _joined(values, axis, is_stacked=True)


def _joined(values, axis, is_stacked):
    if not values:
        raise ValueError("there must be one tensor or more to join")
    parts = [as_ragged_or_tensor(value) for value in values]
    ranks = {part.shape.ndims for part in parts} - {None}
    if len(ranks) > 1:
        raise ValueError(f"Tensors of different ranks can't be joined: {sorted(ranks)}")
    rank = ranks.pop() if ranks else None
    end = None if rank is None else rank + is_stacked
    if axis < 0:
        if end is None:
            raise ValueError("axis may only be negative if ndims is statically known.")
        axis += end
    if axis < 0 or (end is not None and axis >= end):
        raise ValueError(f"axis={axis} is out of bounds for rank {end}")
    if len(parts) == 1 and not is_stacked:
        return parts[0]
    dtype = dtypes.int64
    for part in parts:
        if is_ragged(part):
            dtype = part.row_splits.dtype.base_dtype
            break
    parts = [part.with_row_splits_dtype(dtype) if is_ragged(part) else part for part in parts]
    if rank == 0:
        return gen_ops.pack(parts)
    if rank == 1 and not any(is_ragged(part) for part in parts):
        # Vectors: they need not be of one length to be rows.
        if not is_stacked:
            return gen_ops.concat_v2(parts, 0)
        if axis == 1:
            made = gen_ops.pack(parts, axis=1)
            return RaggedTensor.from_tensor(made, row_splits_dtype=dtype)
        lengths = gen_ops.pack([gen_ops.size(part, out_type=dtype) for part in parts])
        return RaggedTensor(gen_ops.concat_v2(parts, 0), splits_of_lengths(lengths))
    return _at_axis(parts, axis, is_stacked, dtype)


def _at_axis(parts, axis, is_stacked, dtype):
    levels = max(part.ragged_rank if is_ragged(part) else 0 for part in parts)
    # Dimensions that are joined, or that differ behind a stacked one, must be ragged.
    levels = max(levels, 1, *(_levels_needed(part, axis) for part in parts))
    parts = [with_ragged_rank_of(part, levels, dtype) for part in parts]
    if axis == 0:
        rows = joined_rows(parts)
        if not is_stacked:
            return rows
        counts = gen_ops.pack([part.nrows() for part in parts])
        return RaggedTensor(rows, splits_of_lengths(counts))
    if axis == 1:
        return _row_by_row(parts, is_stacked, dtype)
    checks = []
    for part in parts[1:]:
        checks += same_splits([parts[0].row_splits], [part.row_splits])
    with control_dependencies(checks):
        inner = [part.values for part in parts]
        if not any(is_ragged(each) for each in inner):
            join = gen_ops.pack if is_stacked else gen_ops.concat_v2
            made = join(inner, axis=axis - 1)
        else:
            made = _at_axis(inner, axis - 1, is_stacked, dtype)
        return parts[0].with_values(made)


def _levels_needed(part, axis):
    """How many ragged dimensions a tensor is to have so that it can be joined at an axis."""
    if is_ragged(part):
        return part.ragged_rank
    rank = part.shape.ndims
    return 1 if rank is None else max(1, min(axis, rank - 1))


def _row_by_row(parts, is_stacked, dtype):
    """The first rows of all parts, then the second ones."""
    rows, number = parts[0].nrows(), len(parts)
    message = "Input tensors have incompatible shapes."
    checks = [assert_equal(part.nrows(), rows, message=message) for part in parts[1:]]
    all_rows = joined_rows(parts)
    with control_dependencies(checks):
        count = gen_ops.mul(rows, constant(number, dtype))
    order = gen_ops.reshape(gen_ops.range(constant(0, dtype), count, 1), [number, -1])
    order = gen_ops.reshape(gen_ops.transpose(order, [1, 0]), [-1])
    mixed = rows_of(all_rows, order)
    if is_stacked:
        ends = gen_ops.range(constant(0, dtype), count + 1, constant(number, dtype))
        made = RaggedTensor(mixed, ends)
    else:
        made = RaggedTensor(mixed.values, mixed.row_splits[::number])
    known = parts[0].row_splits.shape
    made.row_splits.set_shape(known)
    return made


def tile(input, multiples, name=None):
    """As tf.tile, of a RaggedTensor: each row is repeated inside of itself.

    Args:
      input: a RaggedTensor.
      multiples: how often, an integer vector with a number for each dimension.
    """
    with name_scope(name, "RaggedTile", [input, multiples]):
        dtype = input.row_splits.dtype.base_dtype
        times = cast(convert(multiples, name="multiples", hint=dtype), dtype)
        times.shape.assert_has_rank(1)
        inner = _tiled_inside(input, times)
        rows = gen_ops.range(constant(0, dtype), input.nrows(), 1)
        return rows_of(inner, gen_ops.tile(rows, times[:1]))


def _tiled_inside(tensor, times):
    """Repeated along all axes but the first."""
    if not is_ragged(tensor):
        one = constant([1], times.dtype.base_dtype)
        return gen_ops.tile(tensor, gen_ops.concat_v2([one, times[1:]], 0))
    dtype = tensor.row_splits.dtype.base_dtype
    values = _tiled_inside(tensor.values, times[1:])
    lengths = tensor.row_lengths()
    longer = gen_ops.mul(lengths, times[1])
    places = gen_ops.ragged_range(constant(0, dtype), longer, constant(1, dtype), Tsplits=dtype)
    made = RaggedTensor(places[1], places[0])
    rowids = made.value_rowids()
    at = gen_ops.floor_mod(made.values, gen_ops.gather_v2(lengths, rowids, 0))
    begin = gen_ops.gather_v2(tensor.row_splits, rowids, 0)
    made = RaggedTensor(rows_of(values, gen_ops.add(begin, at)), places[0])
    made.row_splits.set_shape(tensor.row_splits.shape)
    return made


def expand_dims(input, axis=None, name=None, dim=None):
    """As tf.expand_dims, of a RaggedTensor: a dimension of size 1 before `axis`."""
    axis = axis if axis is not None else dim
    with name_scope(name, "RaggedExpandDims", [input]):
        rank = input.shape.ndims
        if axis < 0:
            if rank is None:
                raise ValueError("axis may only be negative if ndims is statically known.")
            axis += rank + 1
        if axis < 0 or (rank is not None and axis > rank):
            raise ValueError(f"axis={axis} is out of bounds for shape {input.shape}")
        return _expanded(input, axis)


def _expanded(tensor, axis):
    if not is_ragged(tensor):
        return gen_ops.expand_dims(tensor, axis)
    dtype = tensor.row_splits.dtype.base_dtype
    if axis == 0:
        return RaggedTensor(tensor, gen_ops.pack([constant(0, dtype), tensor.nrows()]))
    if axis == 1:
        ends = gen_ops.range(constant(0, dtype), tensor.nrows() + 1, 1)
        ends.set_shape(tensor.row_splits.shape)
        return RaggedTensor(tensor, ends)
    return tensor.with_values(_expanded(tensor.values, axis - 1))


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    """As tf.squeeze, of a RaggedTensor: without the dimensions of size 1 that `axis` names.

    Raises:
      ValueError: without an axis, or for one that is out of bounds.
    """
    axis = axis if axis is not None else squeeze_dims
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    with name_scope(name, "RaggedSqueeze", [input]):
        rank = input.shape.ndims
        axes = set()
        for each in [axis] if isinstance(axis, int) else axis:
            at = each if each >= 0 or rank is None else each + rank
            if at < 0 or (rank is not None and at >= rank):
                raise ValueError(f"axis={each} is out of bounds for shape {input.shape}")
            axes.add(at)
        for at in sorted(axes, reverse=True):
            input = _squeezed(input, at)
        return input


def _squeezed(tensor, axis):
    if not is_ragged(tensor):
        return gen_ops.squeeze(tensor, squeeze_dims=[axis])
    if axis > 1:
        return tensor.with_values(_squeezed(tensor.values, axis - 1))
    sizes = tensor.nrows() if axis == 0 else tensor.row_lengths()
    one = constant(1, tensor.row_splits.dtype.base_dtype)
    check = assert_equal(sizes, one, message="the given axis is not squeezable")
    with control_dependencies([check]):
        return map_flat_values(gen_ops.identity, tensor.values)


def size(input, name=None, out_type=dtypes.int32):
    """How many elements a RaggedTensor has."""
    return gen_ops.size(input.flat_values, out_type=out_type, name=name or "RaggedSize")


def rank(input, name=None):
    """How many dimensions a RaggedTensor has, ragged ones and others."""
    with name_scope(name, "RaggedRank", [input]):
        known = input.shape.ndims
        if known is not None:
            return constant(known, dtypes.int32)
        return gen_ops.add(gen_ops.rank(input.flat_values), input.ragged_rank)


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """As tf.one_hot, of a RaggedTensor: the new dimension is the last one."""
    if axis not in (None, -1) and axis != indices.shape.ndims:
        raise ValueError("axis must be the last one for a RaggedTensor")
    made = one_hot_dense(indices.flat_values, depth, on_value, off_value, -1, dtype, name)
    return indices.with_flat_values(made)
