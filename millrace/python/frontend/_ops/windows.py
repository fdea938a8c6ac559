"""Windows: what the samples of a frame are multiplied by before a Fourier transform."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones
from millrace._values import dtypes


def _raised_cosine(name, default_name, window_length, periodic, dtype, middle, swing):
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype!r}")
    with name_scope(name, default_name, [window_length, periodic]):
        length = convert(window_length, dtypes.int32, "window_length")
        length.shape.assert_has_rank(0)
        if constant_value(length) == 1:
            return ones([1], dtype)
        more = cast(convert(periodic, dtypes.bool, "periodic"), dtypes.int32)
        # As TensorFlow has it, a window of an odd length is symmetric whether it is periodic or not.
        last = length + more * (1 - gen_ops.floor_mod(length, 2)) - 1
        places = cast(gen_ops.range(0, length, 1), dtype)
        turns = constant(2 * np.pi, dtype) * places / cast(last, dtype)
        return middle - swing * gen_ops.cos(turns)


def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """One wave of a cosine from 0 up to 1 and back.

    Args:
      window_length: an integer scalar.
      periodic: True for a window of even length whose repetition is smooth, False for a symmetric one.
      dtype: a type of numbers with a point.
      name: the name scope.

    Returns:
      a vector of window_length numbers.

    Raises:
      ValueError: for another type, or a length that is no scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """The same from 0.08 up to 1 and back; arguments as of hann_window."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)
