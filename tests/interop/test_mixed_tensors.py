"""Tensors cross the border between TensorFlow's tasks and Millrace's, in both directions."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2

tf1 = tf.compat.v1

# Handles are no values: test_mixed_state.py has them.
VALUE_TYPES = [
    tf.as_dtype(number)
    for name, number in types_pb2.DataType.items()
    if not name.endswith("_REF") and name not in ("DT_INVALID", "DT_RESOURCE", "DT_VARIANT")
]
SHAPES = [(), (0,), (3, 0, 2), (5,), (2, 3, 4), (1,) * 8]


def some_values(dtype, shape):
    """Values of a type, the extreme ones among them, that differ from place to place."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == tf.string:
        texts = [b"", b"\x00\xff\x00", "grün".encode(), b"x" * 70_000, b"plain"]
        return np.array([texts[i % len(texts)] for i in range(count)], object).reshape(shape)
    if dtype == tf.bool:
        return (np.arange(count) % 3 == 0).reshape(shape)
    kind = np.dtype(dtype.as_numpy_dtype)
    if dtype in (tf.as_dtype("int4"), tf.as_dtype("int2")):
        return np.resize(np.array([-1, 0, 1], kind), shape)
    if dtype in (tf.as_dtype("uint4"), tf.as_dtype("uint2")):
        return np.resize(np.array([3, 0, 1], kind), shape)
    # Any bytes make a value of the others, infinities and odd NaNs too.
    pattern = np.random.default_rng(dtype.as_datatype_enum).integers(0, 256, count * kind.itemsize)
    return np.frombuffer(pattern.astype(np.uint8).tobytes(), kind).reshape(shape)


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype == object:
        return one.shape == other.shape and one.tolist() == other.tolist()
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def test_tensors_of_any_type_and_shape_return_from_the_other_side_as_they_went(border):
    with border.session() as session:
        for dtype in VALUE_TYPES:
            sent = [some_values(dtype, shape) for shape in SHAPES]
            feeds = [tf1.placeholder(dtype, shape) for shape in SHAPES]
            returned = session.run([border.round_trip(x) for x in feeds], dict(zip(feeds, sent)))
            for one, other in zip(sent, returned):
                assert same_bits(one, other), (dtype, one.shape)


def test_a_shape_that_only_the_step_knows_crosses(border):
    of_unknown_rank = tf1.placeholder(tf.float32)
    of_unknown_sizes = tf1.placeholder(tf.float32, [None, 2, None])
    with tf.device(border.there):
        shapes = [tf.shape(of_unknown_rank), tf.shape(of_unknown_sizes)]
    shapes = [border.from_there(shape) for shape in shapes]
    with border.session() as session:
        for one, other in [((), (1, 2, 3)), ((4, 0), (0, 2, 0)), ((2, 3, 4, 5, 6), (7, 2, 1))]:
            feeds = {of_unknown_rank: np.zeros(one), of_unknown_sizes: np.zeros(other)}
            assert [s.tolist() for s in session.run(shapes, feeds)] == [list(one), list(other)]


def test_values_that_each_side_made_itself_cross(border):
    """Constants travel inside graphs, in the short forms too that only graphs use."""
    for device in (border.here, border.there):
        with tf.device(device):
            zeros = tf.zeros([1000])
            halves = tf.constant(np.full(100, 0.5, np.float16))
            strings = tf.constant([b"", b"a\x00b", b"c" * 3000])
            raw = tf.constant(np.arange(1000.0))
            truth = tf.constant([True, False, True])
            parts = tf.constant([1 + 2j, -3j], tf.complex64)
            small = tf.constant([-128, 127], tf.int8)
            made = [zeros, halves, strings, raw, truth, parts, small]
        other = border.here if device == border.there else border.there
        with tf.device(other):
            made = [tf.identity(each) for each in made]
        with border.session() as session:
            values = session.run(made)
        assert values[0].tolist() == [0.0] * 1000
        assert values[1].tolist() == [0.5] * 100
        assert values[2].tolist() == [b"", b"a\x00b", b"c" * 3000]
        assert values[3].tolist() == list(range(1000))
        assert values[4].tolist() == [True, False, True]
        assert values[5].tolist() == [1 + 2j, -3j]
        assert values[6].tolist() == [-128, 127]


@pytest.mark.parametrize("direction", ["from here", "from there"])
@pytest.mark.parametrize("megabytes", [3, 5, 65, 100])
def test_a_large_tensor_crosses(border, megabytes, direction):
    """Below and above gRPC's own limit of 4 MiB, and what others take for large."""
    count = megabytes * 1_000_000 // 4
    source, sink = border.here, border.there
    if direction == "from there":
        source, sink = sink, source
    with tf.device(source):
        made = tf.range(tf1.placeholder_with_default(count, []))
    with tf.device(sink):
        seen = [tf.shape(made), made[:2], made[-2:], tf.reduce_max(made)]
    with border.session() as session:
        shape, first, last, largest = session.run(seen)
    assert shape.tolist() == [count]
    assert first.tolist() == [0, 1] and last.tolist() == [count - 2, count - 1]
    assert largest == count - 1


def test_a_large_tensor_of_strings_crosses(border):
    texts = [b"%d" % i * (i % 50) for i in range(100_000)]
    with border.session() as session:
        given = tf1.placeholder(tf.string, [None])
        returned = session.run(border.round_trip(given), {given: texts})
    assert returned.tolist() == texts


def test_a_tensor_of_almost_two_gigabytes_crosses(border):
    """1.9e9 bytes; a message of gRPC ends at 2^31."""
    count = 1_900_000_000
    with tf.device(border.there):
        made = tf.fill([tf1.placeholder_with_default(count, [])], tf.constant(7, tf.int8))
    with tf.device(border.here):
        seen = [tf.size(made), made[:2], made[-2:]]
    with border.session() as session:
        size, first, last = session.run(seen)
    assert size == count and first.tolist() == last.tolist() == [7, 7]
