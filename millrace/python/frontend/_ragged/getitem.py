"""ragged[...]: rows, and parts of rows, as Python's indices say."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ragged.gathers import rows_of
from millrace._ragged.tensor import RaggedTensor, is_ragged

_WHOLE = slice(None)


def part_of(ragged, key):
    """The part of a RaggedTensor that ragged[key] means.

    Args:
      ragged: a RaggedTensor.
      key: ints, slices, scalar Tensors, `...` and tf.newaxis (None), one or a tuple of them.

    Returns:
      a RaggedTensor, or a Tensor where no dimension that is left is ragged.

    Raises:
      ValueError: for an int in a ragged dimension: rows may be too short; and for too many indices.
    """
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    with name_scope(None, "RaggedGetItem", [ragged]):
        return _part(ragged, keys)


def _spelt_out(tensor, keys, behind=0):
    """The keys with as many whole slices as a leading `...` stands for; `behind` dimensions are passed."""
    if not keys or keys[0] is not Ellipsis:
        return keys
    if any(each is Ellipsis for each in keys[1:]):
        raise ValueError("Multiple ellipses are not allowed")
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    named = sum(each is not None for each in keys[1:])
    return [_WHOLE] * max(rank - behind - named, 0) + keys[1:]


def _part(tensor, keys):
    if not keys:
        return tensor
    if not is_ragged(tensor):
        return tensor[tuple(keys)]
    keys = _spelt_out(tensor, keys)
    if not keys:
        return tensor
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _part(tensor, rest)
        dtype = tensor.row_splits.dtype.base_dtype
        count = inner.nrows(dtype) if is_ragged(inner) else gen_ops.shape(inner, out_type=dtype)[0]
        return RaggedTensor(inner, gen_ops.pack([constant(0, dtype), count]))
    if isinstance(first, slice):
        return _inside(_rows(tensor, first), rest)
    starts, ends = tensor.row_splits[:-1], tensor.row_splits[1:]
    return _part(_rows_between(tensor.values, starts[first], ends[first]), rest)


def _rows_between(tensor, begin, end):
    return _rows(tensor, slice(begin, end)) if is_ragged(tensor) else tensor[begin:end]


def _rows(ragged, key):
    """The rows of a RaggedTensor that a slice names."""
    if key == _WHOLE:
        return ragged
    splits = ragged.row_splits
    starts, ends = splits[:-1][key], splits[1:][key]
    if key.step is None or (isinstance(key.step, int) and key.step == 1):
        # Without a row the only split is that of nothing.
        none = constant([0], splits.dtype.base_dtype)[gen_ops.size(starts) :]
        made = gen_ops.concat_v2([none, starts[:1], ends], 0)
        known = starts.shape.as_list()[0]
        made.set_shape([None if known is None else known + 1])
        values = _rows_between(ragged.values, made[0], made[-1])
        return RaggedTensor(values, gen_ops.sub(made, made[0]))
    rows = gen_ops.range(constant(0, splits.dtype.base_dtype), ragged.nrows(), 1)
    return rows_of(ragged, rows[key])


def _inside(ragged, keys):
    """The same of each row: keys are those of the dimensions behind the first."""
    keys = _spelt_out(ragged, keys, behind=1)
    if not keys:
        return ragged
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _inside(ragged, rest)
        dtype = inner.row_splits.dtype.base_dtype
        return RaggedTensor(inner, gen_ops.range(constant(0, dtype), inner.nrows() + 1, 1))
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    cut = ragged if first == _WHOLE else _columns(ragged, first)
    if not rest:
        return cut
    inner = cut.values
    if is_ragged(inner):
        return cut.with_values(_inside(inner, rest))
    return cut.with_values(inner[(_WHOLE, *rest)])


def _columns(ragged, key):
    """Of each row what a slice names."""
    splits = ragged.row_splits
    dtype = splits.dtype.base_dtype
    step = 1 if key.step is None else key.step
    if isinstance(step, int) and step == 0:
        raise ValueError("slice step cannot be zero")
    lengths = ragged.row_lengths()
    zero = constant(0, dtype)
    forth = cast(gen_ops.greater(convert(step, hint=dtype), 0), dtype)
    # Backwards, a slice begins at the last element and ends one before the first.
    back = gen_ops.sub(forth, 1)
    lowest, highest = back, gen_ops.add(lengths, back)

    def bound(number, otherwise):
        if number is None:
            return otherwise
        number = cast(convert(number, hint=dtype), dtype)
        counted = gen_ops.select_v2(gen_ops.less(number, zero), lengths + number, number)
        return gen_ops.maximum(gen_ops.minimum(counted, highest), lowest)

    is_forth = gen_ops.greater(forth, zero)
    nothing = gen_ops.mul(lengths, zero)
    begin = bound(key.start, gen_ops.select_v2(is_forth, nothing, highest))
    end = bound(key.stop, gen_ops.select_v2(is_forth, highest, nothing + back))
    starts = splits[:-1]
    picked = gen_ops.ragged_range(
        gen_ops.add(starts, begin),
        gen_ops.add(starts, end),
        cast(convert(step, hint=dtype), dtype),
        Tsplits=dtype,
    )
    made = picked[0]
    made.set_shape(splits.shape)
    return RaggedTensor(rows_of(ragged.values, picked[1]), made)
