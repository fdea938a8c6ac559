import pickle

import numpy as np
import pytest

import millrace as tf
from millrace._values import dtypes


@pytest.mark.parametrize("name", dtypes.ALL)
def test_a_type_is_found_by_its_name_number_and_itself(name):
    dtype = getattr(tf, name)
    assert tf.as_dtype(name) is dtype
    assert tf.as_dtype(dtype.as_datatype_enum) is dtype
    assert tf.as_dtype(dtype) is dtype


@pytest.mark.parametrize(
    "numpy_type",
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 "
    "complex128".split(),
)
def test_numpy_types_have_the_type_of_their_name(numpy_type):
    assert tf.as_dtype(np.dtype(numpy_type)) == getattr(tf, numpy_type)
    assert np.dtype(getattr(tf, numpy_type).as_numpy_dtype) == np.dtype(numpy_type)


@pytest.mark.parametrize(
    "name, numpy_type",
    [
        ("bfloat16", np.float32),
        ("qint8", np.int8),
        ("quint8", np.uint8),
        ("qint16", np.int16),
        ("quint16", np.uint16),
        ("qint32", np.int32),
        ("float8_e5m2", np.uint8),
        ("float4_e2m1fn", np.uint8),
        ("int4", np.int8),
        ("uint2", np.uint8),
        ("string", np.object_),
    ],
)
def test_types_that_numpy_lacks_come_as_what_stores_them(name, numpy_type):
    assert tf.as_dtype(name).as_numpy_dtype is numpy_type


@pytest.mark.parametrize("name", ["resource", "variant"])
def test_types_whose_values_stay_in_the_runtime_have_no_numpy_type(name):
    with pytest.raises(TypeError, match="has no NumPy type"):
        _ = tf.as_dtype(name).as_numpy_dtype


def test_types_compare_with_what_converts_to_them():
    assert tf.float32 == "float32"
    assert tf.float32 == np.float32
    assert tf.float32 != tf.float64
    assert tf.float32 != None  # noqa: E711
    assert not tf.float32 == "no type"


def test_a_reference_type_knows_its_base():
    assert tf.float32_ref.name == "float32_ref"
    assert tf.float32_ref.base_dtype is tf.float32
    assert tf.float32_ref._is_ref_dtype and not tf.float32._is_ref_dtype
    assert tf.float32_ref != tf.float32
    assert tf.float32_ref.as_datatype_enum == 101


def test_kinds_of_types():
    assert tf.float32.is_floating and tf.bfloat16.is_floating and not tf.int32.is_floating
    assert tf.uint8.is_integer and tf.uint8.is_unsigned and not tf.qint8.is_integer
    assert tf.complex64.is_complex and tf.complex64.real_dtype is tf.float32
    assert tf.qint8.is_quantized
    assert tf.int8.min == -128 and tf.int8.max == 127
    assert tf.float64.size == 8


@pytest.mark.parametrize("wrong", ["float31", 77, object(), [1], {"a": 1}])
def test_what_is_no_type_is_refused(wrong):
    with pytest.raises(TypeError):
        tf.as_dtype(wrong)


def test_types_survive_pickling():
    assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32
