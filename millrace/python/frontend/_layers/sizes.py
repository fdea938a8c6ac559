"""tf.contrib.layers' utilities for sizes: axes of shapes that must be known, numbers given once for several axes."""

from millrace._values.tensor_shape import Dimension, TensorShape


def _axis(shape, min_rank, axis):
    shape = TensorShape(shape)
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    value = shape.as_list()[axis]
    if value is None:
        raise ValueError(f"dimension {axis} of shape {shape} must be known but is None")
    return value


def first_dimension(shape, min_rank=1):
    """The first size of a shape. ValueError if it is not known, or the rank is below min_rank."""
    return _axis(shape, min_rank, 0)


def last_dimension(shape, min_rank=1):
    """The last size of a shape. ValueError if it is not known, or the rank is below min_rank."""
    return _axis(shape, min_rank, -1)


def channel_dimension(shape, data_format, min_rank=1):
    """The number of channels: axis 1 for "NCHW", else the last. Errors as for last_dimension."""
    return _axis(shape, min_rank, 1 if data_format == "NCHW" else -1)


def n_positive_integers(n, value):
    """n ints from one, or from n of them.

    Args:
      n: how many, above 0.
      value: an int above 0, a list or tuple of n such, or a TensorShape of that rank.

    Raises:
      ValueError: for something else. TypeError: if n is no int.
    """
    if not isinstance(n, int):
        raise TypeError(f"n must be an integer, got {n!r}")
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n}")
    if isinstance(value, TensorShape):
        value = value.as_list() if value.ndims is not None else None
    values = list(value) if isinstance(value, (list, tuple)) else [value] * n
    values = [each.value if isinstance(each, Dimension) else each for each in values]
    is_int = [isinstance(each, int) or hasattr(each, "__index__") for each in values]
    if len(values) != n or not all(is_int) or any(each < 1 for each in values):
        raise ValueError(f"Argument must be a positive integer, or {n} of them, got {value!r}")
    return tuple(int(each) for each in values)


def two_element_tuple(int_or_tuple):
    """Two ints from one, or from two. ValueError for something else."""
    return n_positive_integers(2, int_or_tuple)
