"""Strings as tf.* names them, where that is more than the op."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.sparse_tensor import SparseTensor
from millrace._values import dtypes

__all__ = [
    "decode_base64",
    "encode_base64",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "string_format",
    "string_length",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "substr",
    "unsorted_segment_join",
]

decode_base64 = gen_ops.decode_base64
encode_base64 = gen_ops.encode_base64
string_strip = gen_ops.string_strip
string_to_hash_bucket_fast = gen_ops.string_to_hash_bucket_fast
string_to_hash_bucket_strong = gen_ops.string_to_hash_bucket_strong
unsorted_segment_join = gen_ops.unsorted_segment_join


def string_length(input, name=None, unit="BYTE"):
    """How many bytes (or characters, for unit="UTF8_CHAR") each string has."""
    return gen_ops.string_length(input, unit=unit, name=name)


def string_split(source=None, sep=None, skip_empty=True, delimiter=" ", input=None, name=None):
    """Each string cut into pieces, as the rows of a sparse matrix.

    Args:
      source: a vector of strings.
      sep: the characters to cut at, each of them; "" cuts into single bytes.
      skip_empty: False to keep empty pieces.
      delimiter: `sep` by its older name; a space if neither is given.
      input: `source` by its other name.
      name: a name for the node.

    Returns:
      a SparseTensor.
    """
    cut = gen_ops.string_split(
        input if source is None else source,
        delimiter if sep is None else sep,
        skip_empty=skip_empty,
        name=name,
    )
    return SparseTensor(cut.indices, cut.values, cut.shape)


def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    """Which of `num_buckets` each string falls into, by TensorFlow's first hash."""
    strings = input if string_tensor is None else string_tensor
    return gen_ops.string_to_hash_bucket(strings, num_buckets, name=name)


def substr(input, pos, len, name=None, unit="BYTE"):
    """From each string `len` bytes (or characters) from `pos` on; negative places are from the end.

    Args:
      input: strings.
      pos, len: int32 or int64, of one shape, which broadcasts with that of `input`.
      name: a name for the node.
      unit: "BYTE" or "UTF8_CHAR".
    """
    return gen_ops.substr(input, pos, len, unit=unit, name=name)


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """Each string with what matches a pattern (RE2's syntax) replaced.

    Args:
      input: strings.
      pattern: a str, or a scalar Tensor.
      rewrite: what stands in its place; "\\\\1" is the first group. A str or a scalar Tensor.
      replace_global: False to replace the first match alone.
      name: a name for the node.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return gen_ops.static_regex_replace(
            input, pattern, rewrite, replace_global=replace_global, name=name
        )
    return gen_ops.regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input, pattern, name=None):
    """Whether a pattern (RE2's syntax) matches the whole of each string: a bool Tensor."""
    if isinstance(pattern, (str, bytes)):
        return gen_ops.static_regex_full_match(input, pattern, name=name)
    return gen_ops.regex_full_match(input, pattern, name=name)


def reduce_join(
    inputs,
    axis=None,
    keep_dims=None,
    separator="",
    name=None,
    reduction_indices=None,
    keepdims=None,
):
    """The strings along some axes one after another.

    Args:
      inputs: strings.
      axis: an axis or a list of them, the one that moves fastest first; None for all in order.
      keep_dims, keepdims: True to leave axes of size 1.
      separator: what stands between.
      name: a name for the node.
      reduction_indices: `axis` by its older name.
    """
    inputs = convert(inputs, dtypes.string)
    axes = axis if axis is not None else reduction_indices
    if axes is None:
        rank = inputs.shape.ndims
        axes = (
            gen_ops.range(gen_ops.rank(inputs) - 1, -1, -1)
            if rank is None
            else list(range(rank - 1, -1, -1))
        )
    return gen_ops.reduce_join(
        inputs,
        convert(axes, dtypes.int32),
        keep_dims=bool(keep_dims if keepdims is None else keepdims),
        separator=separator,
        name=name,
    )


def string_format(template, inputs, placeholder="{}", summarize=3, name=None):
    """The template with each placeholder replaced by a Tensor's value, as text.

    Args:
      template: a str with a placeholder for each Tensor.
      inputs: a Tensor, or a list of them.
      placeholder: a str.
      summarize: so many elements from each end of an axis; -1 for all.
      name: a name for the node.
    """
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    return gen_ops.string_format(
        list(inputs), template=template, placeholder=placeholder, summarize=summarize, name=name
    )
