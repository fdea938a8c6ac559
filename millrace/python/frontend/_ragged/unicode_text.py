"""Strings as rows of code points or of characters, and back."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import reshape
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from millrace._values import dtypes

_REPLACEMENT = 0xFFFD


def unicode_decode(
    input,
    input_encoding,
    errors="replace",
    replacement_char=_REPLACEMENT,
    replace_control_characters=False,
    name=None,
):
    """The code points of each string.

    Args:
      input: a Tensor or RaggedTensor of strings, of known rank.
      input_encoding: "UTF-8", "UTF-16", "UTF-32" (with "-BE" or "-LE", or as a byte order mark says),
        "US-ASCII", "ISO-8859-1", or what else the machine that runs the op knows.
      errors: what becomes of bytes that are no characters: "strict" is an error of the step, "replace" puts
        replacement_char there, "ignore" leaves them out.
      replacement_char: a code point.
      replace_control_characters: True to treat U+0000 to U+001F as `errors` says ("strict" replaces them).
      name: the name scope.

    Returns:
      int32 code points: a RaggedTensor with one more dimension than input; a vector for a scalar.

    Raises:
      ValueError: if the rank is not known.
    """
    with name_scope(name, "UnicodeDecode", [input]):
        attrs = (input_encoding, errors, replacement_char, replace_control_characters)
        return _decoded(input, attrs, with_offsets=False)[0]


def unicode_decode_with_offsets(
    input,
    input_encoding,
    errors="replace",
    replacement_char=_REPLACEMENT,
    replace_control_characters=False,
    name=None,
):
    """The code points of each string, and at which byte of its string each begins.

    Arguments and errors are those of unicode_decode.

    Returns:
      (int32 code points, int64 offsets), of one shape.
    """
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        attrs = (input_encoding, errors, replacement_char, replace_control_characters)
        return _decoded(input, attrs, with_offsets=True)


def unicode_split(
    input, input_encoding, errors="replace", replacement_char=_REPLACEMENT, name=None
):
    """Each string cut into characters.

    Args:
      input, errors, replacement_char: as of unicode_decode.
      input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE"; in it characters are given, too.
      name: the name scope.

    Returns:
      strings of one character: a RaggedTensor with one more dimension than input; a vector for a scalar.

    Raises:
      ValueError: if the rank is not known.
    """
    with name_scope(name, "UnicodeSplit", [input]):
        attrs = (input_encoding, errors, replacement_char)
        return _split(input, attrs, with_offsets=False)[0]


def unicode_split_with_offsets(
    input, input_encoding, errors="replace", replacement_char=_REPLACEMENT, name=None
):
    """Each string cut into characters, and at which byte of its string each begins.

    Arguments and errors are those of unicode_split.

    Returns:
      (strings of one character, int64 offsets), of one shape.
    """
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        attrs = (input_encoding, errors, replacement_char)
        return _split(input, attrs, with_offsets=True)


def unicode_encode(
    input, output_encoding, errors="replace", replacement_char=_REPLACEMENT, name=None
):
    """The strings that code points spell.

    Args:
      input: int32 code points, a Tensor or RaggedTensor of known rank of 1 or more; the last dimension is that
        of a string.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what becomes of numbers that are no characters (halves of pairs, and what is out of range): "strict"
        is an error of the step, "replace" puts replacement_char there, "ignore" leaves them out.
      replacement_char: a code point.
      name: the name scope.

    Returns:
      strings, a Tensor or RaggedTensor of one dimension less than input; a scalar for a vector.

    Raises:
      ValueError: if the rank is not known, or 0.
    """
    with name_scope(name, "UnicodeEncode", [input]):
        attrs = dict(
            output_encoding=output_encoding, errors=errors, replacement_char=replacement_char
        )
        return _encoded(as_ragged_or_tensor(input, dtypes.int32, "input"), attrs)


def _decoded(input, attrs, with_offsets):
    """(code points, where they begin, or None)."""
    input = as_ragged_or_tensor(input, dtypes.string, "input")
    rank = input.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    outer = _with_vector_at_heart(input, rank) if rank > 1 else input
    flat = outer.flat_values if is_ragged(outer) else reshape(outer, [-1])
    decode = gen_ops.unicode_decode_with_offsets if with_offsets else gen_ops.unicode_decode
    splits_dtype = outer.row_splits.dtype.base_dtype if is_ragged(outer) else dtypes.int64
    made = decode(flat, *attrs, Tsplits=splits_dtype)

    def rows_of(values):
        if rank == 0:
            return values
        rows = RaggedTensor(values, made.row_splits)
        return outer.with_flat_values(rows) if is_ragged(outer) else rows

    offsets = rows_of(made.char_to_byte_starts) if with_offsets else None
    return rows_of(made.char_values), offsets


def _with_vector_at_heart(strings, rank):
    """Strings of rank 2 or more as a RaggedTensor all of whose outer dimensions are ragged."""
    if not is_ragged(strings):
        return RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
    if strings.ragged_rank == rank - 1:
        return strings
    flat = RaggedTensor.from_tensor(
        strings.flat_values,
        ragged_rank=rank - 1 - strings.ragged_rank,
        row_splits_dtype=strings.row_splits.dtype.base_dtype,
    )
    return strings.with_flat_values(flat)


def _split(input, attrs, with_offsets):
    """(characters, where they begin, or None)."""
    code_points, offsets = _decoded(input, attrs, with_offsets)
    encoding, errors, replacement_char = attrs
    flat = code_points.flat_values if is_ragged(code_points) else code_points
    each = gen_ops.range(constant(0, dtypes.int64), gen_ops.size(flat, dtypes.int64) + 1, 1)
    characters = gen_ops.unicode_encode(
        flat, each, output_encoding=encoding, errors=errors, replacement_char=replacement_char
    )
    characters.set_shape(flat.shape)
    if is_ragged(code_points):
        characters = code_points.with_flat_values(characters)
    return characters, offsets


def _encoded(code_points, attrs):
    rank = code_points.shape.ndims
    if rank is None:
        raise ValueError("Rank of input_tensor must be statically known.")
    if rank == 0:
        raise ValueError("input_tensor's rank must be at least 1.")
    if is_ragged(code_points):
        inner = code_points.values
        if is_ragged(inner) or inner.shape.ndims > 1:
            return code_points.with_values(_encoded(inner, attrs))
        return gen_ops.unicode_encode(inner, code_points.row_splits, **attrs)
    shape = gen_ops.shape(code_points, out_type=dtypes.int64)
    # Every row ends where the next one begins.
    count = gen_ops.prod(shape[:-1], 0)
    splits = gen_ops.range(constant(0, dtypes.int64), count + 1, 1) * shape[-1]
    strings = gen_ops.unicode_encode(reshape(code_points, [-1]), splits, **attrs)
    made = reshape(strings, shape[:-1])
    made.set_shape(code_points.shape[:-1])
    return made
