"""From any Python value to a value of the runtime.

`_millrace.make_tensor` takes what needs no conversion; this module brings the rest (lists, other
dtypes, other layouts) into that form, by TensorFlow's rules for what a number's type is.
"""

import numpy as np

from millrace import _millrace
from millrace._values import dtypes

_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
# What a target accepts: NumPy's letters for bool, int, unsigned, float, complex.
_ACCEPTED = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc"}


def make_constant(value, dtype=None, shape=None):
    """A runtime Tensor for a constant.

    Args:
      value: a number, bytes, str, (nested) sequence of them, or a NumPy array.
      dtype: a DType; None takes NumPy's for arrays, else int32 (int64 for large numbers), float32,
        bool, complex128 or string, as the values are.
      shape: a sequence of ints; a value with fewer elements is filled up with its last one.

    Raises:
      TypeError: if the value does not fit the type; ValueError: for ragged lists, wrong shapes.
    """
    if shape is None and dtype is not None:
        made = _millrace.make_tensor(value, dtype.as_datatype_enum % 100)
        if made is not None:
            return made
    array, dtype = to_array(value, dtype)
    if shape is not None:
        array = filled(array, tuple(int(dim) for dim in shape))
    return wrap(array, dtype)


def wrap(array, dtype):
    """The Tensor of an array that `to_array` made for `dtype`."""
    made = _millrace.make_tensor(array, dtype.as_datatype_enum % 100)
    if made is None:
        raise TypeError(f"Cannot convert {array!r} to a tensor of type {dtype.name}")
    return made


def would_wrap(array, dtype):
    """True for NumPy's integers of which some are outside of what an integer DType holds."""
    return (
        isinstance(array, (np.ndarray, np.generic))
        and array.dtype.kind in "iu"
        and dtype.is_integer
        and array.size > 0
        and not dtype.min <= array.min() <= array.max() <= dtype.max
    )


def to_array(value, dtype=None):
    """(array, DType): a dense NumPy array that `make_tensor` takes as it is."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
    if isinstance(value, (np.ndarray, np.generic)):
        array, dtype = _from_numpy(np.asarray(value), dtype)
    else:
        array, dtype = _from_python(value, dtype)
    return np.require(array, requirements=("C", "A")), dtype


def _from_numpy(array, dtype):
    if array.dtype.kind in "SUO":
        if dtype not in (None, dtypes.string):
            raise TypeError(f"Cannot convert an array of {array.dtype} to {dtype.name}")
        return array.astype(object, copy=False), dtypes.string
    if dtype is None:
        return array.astype(array.dtype.newbyteorder("="), copy=False), dtypes.as_dtype(array.dtype)
    if dtype == dtypes.string:
        raise TypeError(f"Cannot convert an array of {array.dtype} to string")
    return array.astype(dtype.as_numpy_dtype, copy=False), dtype


def _from_python(value, dtype):
    if dtype == dtypes.string:
        return _strings(value), dtype
    natural = _natural_array(value)
    if natural.dtype.kind in "SUO":
        if dtype is not None:
            raise TypeError(_expected(dtype, value))
        return _strings(value), dtypes.string
    if dtype is None:
        return _default_typed(natural, value)
    wanted = np.dtype(dtype.as_numpy_dtype)
    if natural.dtype.kind not in _ACCEPTED[wanted.kind] and natural.size > 0:
        raise TypeError(_expected(dtype, value))
    array = natural.astype(wanted)
    if wanted.kind in "iu" and not np.array_equal(array, natural):
        raise TypeError(
            f"Expected {dtype.name}, got {value!r}, which is outside of "
            f"{dtype.min} to {dtype.max}"
        )
    return array, dtype


def _natural_array(value):
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {value!r}"
        ) from None
    if array.dtype.kind == "O" and _holds_numbers(array):
        raise ValueError(f"Cannot convert {value!r}: a number is larger than 64 bits")
    return array


def _holds_numbers(array):
    return array.size > 0 and all(isinstance(item, int) for item in array.flat)


def _default_typed(natural, value):
    """Python's numbers are float32 and int32 unless they need more."""
    if natural.dtype == np.float64:
        if natural.size == 0 or not _has_numpy_floats(value):
            return natural.astype(np.float32), dtypes.float32
    elif natural.dtype == np.int64:
        narrow = natural.astype(np.int32)
        if np.array_equal(narrow, natural):
            return narrow, dtypes.int32
    return natural, dtypes.as_dtype(natural.dtype)


def _has_numpy_floats(value):
    """True for a list whose first element NumPy already typed as float64."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float64


def _strings(value):
    array = np.empty((), dtype=object)
    if isinstance(value, (str, bytes)):
        array[()] = value
        return array
    array = np.array(value, dtype=object)
    for item in array.flat:
        if not isinstance(item, (str, bytes)):
            raise TypeError(_expected(dtypes.string, item))
    return array


def _expected(dtype, value):
    kind = type(value).__name__
    return f"Expected {dtype.name}, got {value!r} of type '{kind}' instead."


def filled(array, shape):
    size = 1
    for dim in shape:
        size *= dim
    if array.size == size:
        return array.reshape(shape)
    if array.size > size or array.size == 0:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size}"
            if array.size
            else f"an empty value cannot fill the shape {shape}"
        )
    filled = np.empty(size, dtype=array.dtype)
    filled[: array.size] = array.ravel()
    filled[array.size :] = array.ravel()[-1]
    return filled.reshape(shape)
