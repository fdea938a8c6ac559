"""The ways to say where rows begin, each as vectors of row splits."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, constant_value, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._flow.checks import assert_equal, assert_greater_equal, assert_less_equal
from millrace._ops.arithmetic import cast
from millrace._ragged.values import as_splits_dtype
from millrace._values import dtypes

_MESSAGE = "Arguments to {} do not form a valid RaggedTensor"


def index_vector(value, name, dtype=None):
    """An int32 or int64 vector for what says where rows are; other integers become int64."""
    is_tensor = hasattr(value, "_as_tensor")
    made = convert(value, name=name, hint=None if is_tensor else dtypes.int64)
    if made.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name} must have dtype int32 or int64, not {made.dtype.base_dtype.name}")
    if dtype is not None:
        made = cast(made, dtype)
    made.shape.assert_has_rank(1)
    return made


def number_of_rows(splits):
    """How many rows there are: a scalar of the splits' type, a constant if it is known."""
    dtype = splits.dtype.base_dtype
    known = splits.shape.plain
    if known is not None and known[0] is not None:
        return constant(known[0] - 1, dtype)
    return gen_ops.sub(gen_ops.size(splits, out_type=dtype), 1)


def lengths_of(splits):
    """How long each row is."""
    return gen_ops.sub(splits[1:], splits[:-1])


def splits_of_lengths(lengths):
    """Row splits from the lengths of rows."""
    with name_scope(None, "SplitsOfLengths", [lengths]):
        ends = gen_ops.cumsum(lengths, 0)
        return gen_ops.concat_v2([constant([0], lengths.dtype.base_dtype), ends], 0)


def rowids_of(splits, out_type=None):
    """In which row each value is, for as many values as the last split says."""
    out_type = splits.dtype.base_dtype if out_type is None else out_type
    places = gen_ops.range(constant(0, splits.dtype.base_dtype), splits[-1], 1)
    # Those that begin at or before a place: empty rows are passed over.
    begun = gen_ops.upper_bound(splits[None, :], places[None, :], out_type=out_type)
    return gen_ops.sub(begun[0], 1)


def splits_of_rowids(rowids, nrows):
    """Row splits from the ascending numbers of the rows that values are in.

    Args:
      rowids: a vector.
      nrows: a scalar of its type; None for as many as the last one needs.
    """
    dtype = rowids.dtype.base_dtype
    if nrows is None:
        last = gen_ops.concat_v2([constant([-1], dtype), rowids], 0)[-1]
        nrows = gen_ops.add(last, 1)
    rows = gen_ops.range(constant(0, dtype), gen_ops.add(nrows, 1), 1)
    found = gen_ops.lower_bound(rowids[None, :], rows[None, :], out_type=dtype)[0]
    known = constant_value(nrows)
    if known is not None:
        found.set_shape([int(known) + 1])
    return found


def _ascend(numbers, message):
    return assert_less_equal(numbers[:-1], numbers[1:], message=message)


def checked_splits(splits, values_rows, function):
    """Row splits as they are, which fail to be computed unless they cut so many values into rows.

    Args:
      splits: a vector.
      values_rows: how many values there are, a scalar of its type.
      function: the name of the constructor that was called.
    """
    message = _MESSAGE.format(function)
    with control_dependencies(
        [
            assert_equal(splits[:1], constant([0], splits.dtype.base_dtype), message=message),
            assert_equal(splits[-1], values_rows, message=message),
            _ascend(splits, message),
        ]
    ):
        return gen_ops.identity(splits)


def checked_lengths(lengths, function):
    """Lengths as they are, which fail to be computed if one is negative."""
    message = _MESSAGE.format(function)
    zero = constant(0, lengths.dtype.base_dtype)
    with control_dependencies([assert_greater_equal(lengths, zero, message=message)]):
        return gen_ops.identity(lengths)


def checked_rowids(rowids, nrows, values_rows, function):
    """Numbers of rows as they are, which fail to be computed unless they ascend inside of the rows."""
    message = _MESSAGE.format(function)
    dtype = rowids.dtype.base_dtype
    checks = [
        assert_equal(gen_ops.size(rowids, out_type=dtype), values_rows, message=message),
        assert_greater_equal(rowids, constant(0, dtype), message=message),
        _ascend(rowids, message),
    ]
    if nrows is not None:
        last = gen_ops.sub(nrows, 1)
        checks += [
            assert_less_equal(rowids, last, message=message),
            assert_greater_equal(nrows, constant(0, dtype), message=message),
        ]
    with control_dependencies(checks):
        return gen_ops.identity(rowids)


def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """In which row each value is.

    Args:
      splits: row splits, an int32 or int64 vector of one or more.
      name: the name scope.
      out_type: int32 or int64; None for the type of the splits.

    Returns:
      a vector of numbers of rows, as many as the last split says.

    Raises:
      ValueError: if splits are known to have no element.
    """
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]) as scope:
        splits = index_vector(splits, "splits")
        if splits.shape.plain == (0,) or splits.shape.as_list() == [0]:
            raise ValueError("Invalid row_splits: []")
        found = rowids_of(splits, None if out_type is None else as_splits_dtype(out_type))
        return gen_ops.identity(found, name=scope)


def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """Where the rows begin that values are in.

    Args:
      segment_ids: in which row each value is: an ascending int32 or int64 vector.
      num_segments: how many rows there are; None for as many as the last one needs.
      out_type: int32 or int64; None for the type of segment_ids.
      name: the name scope.

    Returns:
      row splits, a vector of shape [num_segments + 1].
    """
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]) as scope:
        rowids = index_vector(segment_ids, "segment_ids")
        dtype = rowids.dtype.base_dtype
        if num_segments is not None:
            num_segments = cast(convert(num_segments, hint=dtype), dtype)
        splits = splits_of_rowids(rowids, num_segments)
        wanted = dtype if out_type is None else as_splits_dtype(out_type)
        return gen_ops.identity(cast(splits, wanted), name=scope)


# ---- Row splits from what each constructor is given: (partition, rows, nrows, validate), where rows() counts
# the values that are cut. ---------------------------------------------------------------------------------


def _from_splits(splits, rows, _, validate, function="from_row_splits"):
    if splits.shape.as_list() == [0]:
        raise ValueError("row_splits tensor may not be empty.")
    return checked_splits(splits, rows(), function) if validate else splits


def _from_lengths(lengths, rows, _, validate):
    if validate:
        lengths = checked_lengths(lengths, "from_row_lengths")
    return _from_splits(splits_of_lengths(lengths), rows, None, validate, "from_row_lengths")


def _from_starts(starts, rows, _, validate):
    splits = gen_ops.concat_v2([starts, rows()[None]], 0)
    return _from_splits(splits, rows, None, validate, "from_row_starts")


def _from_limits(limits, rows, _, validate):
    splits = gen_ops.concat_v2([constant([0], limits.dtype.base_dtype), limits], 0)
    return _from_splits(splits, rows, None, validate, "from_row_limits")


def _from_rowids(rowids, rows, nrows, validate):
    dtype = rowids.dtype.base_dtype
    if nrows is not None:
        nrows = cast(convert(nrows, hint=dtype, name="nrows"), dtype)
        nrows.shape.assert_has_rank(0)
    if validate:
        rowids = checked_rowids(rowids, nrows, rows(), "from_value_rowids")
    return splits_of_rowids(rowids, nrows)


SPLITS_FROM = {
    "from_row_splits": _from_splits,
    "from_row_lengths": _from_lengths,
    "from_row_starts": _from_starts,
    "from_row_limits": _from_limits,
    "from_value_rowids": _from_rowids,
}
