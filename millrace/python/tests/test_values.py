"""The bridge itself: values of the runtime from NumPy and back."""

import numpy as np
import pytest

import millrace as tf
from millrace import _millrace
from millrace._values import dtypes, tensor_values


@pytest.mark.parametrize(
    "name", [n for n in dtypes.ALL if n not in ("resource", "variant", "string")]
)
def test_every_type_with_numbers_goes_there_and_back(name):
    dtype = dtypes.as_dtype(name)
    array = np.arange(6).reshape(2, 3).astype(dtype.as_numpy_dtype)
    made = _millrace.make_tensor(array, dtype.as_datatype_enum)
    assert made.dtype == dtype.as_datatype_enum and made.shape == (2, 3)
    back = made.numpy()
    assert back.dtype == array.dtype and np.array_equal(back, array)
    scalar = _millrace.make_tensor(array[1, 1], dtype.as_datatype_enum)
    if scalar is not None:
        assert scalar.numpy() == array[1, 1]


def test_a_value_of_another_type_is_left_to_numpy():
    assert _millrace.make_tensor(np.zeros(3, np.float64), 1) is None
    assert _millrace.make_tensor(np.zeros((3, 3), np.float32).T[::2], 1) is None
    assert _millrace.make_tensor([1, 2], 1) is None
    assert _millrace.make_tensor(2**40, 3) is None
    assert _millrace.make_tensor(1.5, 3) is None
    assert _millrace.make_tensor(True, 3) is None
    assert _millrace.make_tensor(None, 3) is None
    with pytest.raises(ValueError):
        _millrace.make_tensor(1, 99)


def test_strings_are_bytes():
    made = _millrace.make_tensor(np.array([["ä", b"\x00\xff"]], object), 7)
    assert made.numpy().tolist() == [["ä".encode(), b"\x00\xff"]]
    assert _millrace.make_tensor("ä", 7).numpy() == "ä".encode()
    with pytest.raises(TypeError, match="binary or unicode"):
        _millrace.make_tensor(np.array([1], object), 7)


def test_bfloat16_is_rounded_to_the_nearest_and_comes_back_as_float32():
    made = _millrace.make_tensor(np.float32([1.0, 1.00390625, 3.1415927]), 14)
    assert made.numpy().tolist() == [1.0, 1.0, 3.140625]


def test_arrays_from_one_tensor_do_not_share_memory():
    for size in (1, 2000, 200_000):
        made = _millrace.make_tensor(np.zeros(size, np.float32), 1)
        first, second = made.numpy(), made.numpy()
        first += 1
        assert second.max() == 0 and made.numpy().max() == 0


def test_numbers_find_the_narrowest_usual_type():
    assert tensor_values.to_array([1, 2])[1] == dtypes.int32
    assert tensor_values.to_array([1, 2**33])[1] == dtypes.int64
    assert tensor_values.to_array([1.0, 2])[1] == dtypes.float32
    assert tensor_values.to_array([np.float64(1.0)])[1] == dtypes.float64
    with pytest.raises(ValueError):
        tensor_values.to_array(2**70)


@pytest.mark.parametrize(
    "value, dtype",
    [
        (2**40, tf.int32),
        ([2**40], tf.int32),
        (-1, tf.uint8),
        ([[300]], tf.int8),
        (2**63, tf.int64),
    ],
)
def test_numbers_that_a_type_does_not_hold_are_refused(value, dtype):
    with pytest.raises(TypeError, match=f"Expected {dtype.name}, got .* outside of"):
        tf.constant(value, dtype)
