"""Strings cut into rows of pieces, and runs of words."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.text import string_split
from millrace._ragged.partitions import splits_of_rowids
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from millrace._values import dtypes


def split(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    """Each string cut into pieces at a separator, as Python's str.split does.

    Args:
      input: a vector of strings; for ragged results a Tensor or RaggedTensor of any known rank.
      sep: where to cut, a whole string; None or "" for runs of white space.
      maxsplit: how often to cut at most; -1 for everywhere.
      result_type: "SparseTensor" or "RaggedTensor".
      source: `input` by its other name.
      name: the name scope.

    Returns:
      a SparseTensor [strings, pieces], or a RaggedTensor whose last dimension is that of the pieces.

    Raises:
      ValueError: for another result_type, or if the rank is not known.
    """
    input = input if input is not None else source
    if input is None:
        raise ValueError("tf.strings.split needs strings: its argument `input` is missing")
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    with name_scope(name, "StringSplit", [input]):
        input = as_ragged_or_tensor(input, dtypes.string, "input")
        if result_type == "SparseTensor" and not is_ragged(input) and input.shape.ndims == 1:
            return _cut(input, sep, maxsplit)
        ragged = _in_rows(input, lambda strings: _rows_of(_cut(strings, sep, maxsplit)))
        return ragged if result_type == "RaggedTensor" else ragged.to_sparse()


def bytes_split(input, name=None):
    """Each string cut into strings of one byte.

    Args:
      input: a Tensor or RaggedTensor of strings, of known rank.
      name: the name scope.

    Returns:
      a RaggedTensor with one more dimension; for a scalar, a vector.
    """
    with name_scope(name, "StringsByteSplit", [input]):
        input = as_ragged_or_tensor(input, dtypes.string, "input")
        if not is_ragged(input) and input.shape.ndims == 0:
            return bytes_split(input[None]).values
        return _in_rows(
            input, lambda strings: _rows_of(string_split(strings, "", skip_empty=False))
        )


def _cut(strings, sep, maxsplit):
    """The pieces of a vector of strings as a SparseTensor."""
    return SparseTensor(
        *gen_ops.string_split_v2(strings, "" if sep is None else sep, maxsplit=maxsplit)
    )


def _rows_of(cut):
    """The rows of a sparse matrix without gaps."""
    splits = splits_of_rowids(cut.indices[:, 0], cut.dense_shape[0])
    return RaggedTensor(cut.values, splits)


def _in_rows(strings, rows_of):
    """A RaggedTensor with what `rows_of` makes of vectors of strings, one dimension deeper."""
    if is_ragged(strings):
        return strings.with_values(_in_rows(strings.values, rows_of))
    rank = strings.shape.ndims
    if rank is None:
        raise ValueError("input must have a known rank")
    if rank == 0:
        return rows_of(strings[None])
    if rank > 1:
        return _in_rows(RaggedTensor.from_tensor(strings, ragged_rank=rank - 1), rows_of)
    made = rows_of(strings)
    known = strings.shape.as_list()[0]
    made.row_splits.set_shape([None if known is None else known + 1])
    return made


def ngrams(
    data,
    ngram_width,
    separator=" ",
    pad_values=None,
    padding_width=None,
    preserve_short_sequences=False,
    name=None,
):
    """Runs of words of each row, joined.

    Args:
      data: a Tensor or RaggedTensor of strings, of rank 1 or more; the last dimension is that of the words.
      ngram_width: how many words make a run, a number or a list of them.
      separator: what stands between the words of a run.
      pad_values: what is put before and behind each row: a string, or (left, right); None for nothing.
      padding_width: how often it is put there; None for ngram_width - 1, and never more than that.
      preserve_short_sequences: True to make a run of rows that are too short for one.
      name: the name scope.

    Returns:
      a RaggedTensor of the rank of data; a vector if data is one.

    Raises:
      ValueError: for widths below 1, a padding_width below 0 or without pad_values.
    """
    with name_scope(name, "StringNGrams", [data]):
        widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
        if any(width < 1 for width in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        if pad_values is None:
            left = right = ""
        elif isinstance(pad_values, (str, bytes)):
            left = right = pad_values
        else:
            left, right = pad_values
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        if padding_width is not None and padding_width < 0:
            raise ValueError("padding_width must be greater than or equal to 0.")
        if padding_width is None:
            padding_width = -1 if pad_values is not None else 0
        data = as_ragged_or_tensor(data, dtypes.string, "data")
        rank = data.shape.ndims
        if rank is None or rank == 0:
            raise ValueError("data must have a known rank of 1 or more")
        attrs = (separator, widths, left, right, padding_width, preserve_short_sequences)
        if not is_ragged(data) and rank == 1:
            splits = gen_ops.pack([constant(0, dtypes.int64), gen_ops.size(data, dtypes.int64)])
            return gen_ops.string_n_grams(data, splits, *attrs)[0]
        if not is_ragged(data):
            data = RaggedTensor.from_tensor(data, ragged_rank=rank - 1)
        return _runs(data, attrs)


def _runs(data, attrs):
    inner = data.values
    if is_ragged(inner):
        return data.with_values(_runs(inner, attrs))
    if inner.shape.ndims != 1:
        levels = inner.shape.ndims - 1
        dtype = data.row_splits.dtype.base_dtype
        inner = RaggedTensor.from_tensor(inner, ragged_rank=levels, row_splits_dtype=dtype)
        return data.with_values(_runs(inner, attrs))
    made = gen_ops.string_n_grams(inner, convert(data.row_splits), *attrs)
    return RaggedTensor(made[0], made[1])
