"""Strings as tf.* names them, where that is more than the op."""

from millrace import _gen as gen_ops


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
      (indices, values, shape) of the matrix.
    """
    return gen_ops.string_split(
        input if source is None else source,
        delimiter if sep is None else sep,
        skip_empty=skip_empty,
        name=name,
    )
