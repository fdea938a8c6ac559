"""Tensors of every dtype go between TensorFlow's client and Millrace tasks, and between the tasks."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

INTEGERS = [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64]
FLOATS = [tf.half, tf.bfloat16, tf.float32, tf.float64]
COMPLEX = [tf.complex64, tf.complex128]
QUANTIZED = [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]
DTYPES = INTEGERS + FLOATS + COMPLEX + QUANTIZED + [tf.bool, tf.string]

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)


def values_of(dtype):
    """Six values, as far from each other as the dtype goes."""
    if dtype == tf.bool:
        return np.array([True, False, True, True, False, False])
    if dtype == tf.string:
        return np.array([b"", b"a", b"\x00\xff", "\u03bb".encode(), b"x" * 300, b"end"], object)
    numbers = dtype.as_numpy_dtype
    if dtype in COMPLEX:
        return np.array([0, 1j, -2.5 + 3j, 1e10, -1e-10j, complex("inf")], numbers)
    if dtype in FLOATS:
        return np.array([0, -1.5, 2, dtype.max, dtype.min, float("inf")]).astype(numbers)
    range_of = np.iinfo(numbers[0] if dtype in QUANTIZED else numbers)
    ends = np.array([range_of.min, range_of.max, range_of.max - 1], range_of.dtype)
    return np.concatenate([np.arange(3, dtype=range_of.dtype), ends]).astype(numbers)


def plain(array):
    """A quantized dtype is a record of one field to numpy; the client returns plain integers."""
    return array[array.dtype.names[0]] if array.dtype.names else array


def assert_same(got, expected):
    got, expected = plain(got), plain(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tolist() == expected.tolist()


@each_dtype
def test_a_value_returns_as_it_was_fed(target, graph, dtype):
    x = tf1.placeholder(dtype)
    y = tf.identity(x)
    values = values_of(dtype)
    with tf1.Session(target) as session:
        for value in [values, values.reshape(3, 1, 2), values[:0], values[:0].reshape(2, 0)]:
            assert_same(session.run(y, {x: value}), value)
        assert_same(np.array([session.run(y, {x: values[3]})], values.dtype), values[3:4])


@each_dtype
def test_a_constant_of_the_graph_arrives_as_it_was_written(target, graph, dtype):
    values = values_of(dtype)
    with tf1.Session(target) as session:
        assert_same(session.run(tf.constant(values, dtype)), values)


@each_dtype
def test_a_constant_that_repeats_one_value_arrives_whole(target, graph, dtype):
    value = values_of(dtype)[1]
    proto = tf.make_tensor_proto(value, dtype, [])
    proto.tensor_shape.CopyFrom(tf.TensorShape([2, 3]).as_proto())
    attr = tf1.AttrValue
    node = graph.create_op(
        "Const",
        [],
        [dtype],
        attrs={"value": attr(tensor=proto), "dtype": attr(type=dtype.as_datatype_enum)},
    )
    with tf1.Session(target) as session:
        got = session.run(node.outputs[0])
    assert got.shape == (2, 3)
    assert got.tolist() == np.full([2, 3], value, got.dtype).tolist()


@each_dtype
def test_a_value_crosses_two_tasks_and_returns(cluster, graph, dtype):
    both = cluster(ps=1, worker=1)
    x = tf1.placeholder(dtype, [2, 3])
    with tf.device("/job:ps/task:0"):
        there = tf.identity(x)
    with tf.device("/job:worker/task:0"):
        back = tf.identity(there)
    values = values_of(dtype).reshape(2, 3)
    with tf1.Session(both.target("worker")) as session:
        for fetch in [there, back]:
            assert_same(session.run(fetch, {x: values}), values)


def test_not_a_number_and_signed_zero_keep_their_bits(target, graph):
    bits = np.array([0x7FC00000, 0xFFC00001, 0x80000000, 1], np.uint32)
    x = tf1.placeholder(tf.float32, [4])
    with tf1.Session(target) as session:
        got = session.run(tf.identity(x), {x: bits.view(np.float32)})
    assert got.view(np.uint32).tolist() == bits.tolist()


def test_casts_on_the_server_agree_with_numpy(target, graph):
    x = tf1.placeholder(tf.float64, [4])
    values = np.array([0, 1.75, 2.5, 100])
    with tf1.Session(target) as session:
        for dtype in INTEGERS + FLOATS:
            expected = values.astype(dtype.as_numpy_dtype)
            assert_same(session.run(tf.cast(x, dtype), {x: values}), expected)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + COMPLEX, ids=lambda dtype: dtype.name)
def test_sums_are_taken_in_the_dtype_of_their_operands(target, graph, dtype):
    x = tf1.placeholder(dtype, [3])
    values = np.array([1, 2, 3]).astype(dtype.as_numpy_dtype)
    with tf1.Session(target) as session:
        got = session.run(tf.add(x, x), {x: values})
    assert_same(got, (values + values).astype(dtype.as_numpy_dtype))
