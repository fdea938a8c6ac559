"""What may be fed to a step, and what of it comes out."""

import numpy as np
import pytest

import millrace as tf


@pytest.mark.parametrize(
    "dtype, value",
    [
        (tf.float32, 2),
        (tf.float32, 2.5),
        (tf.float32, np.float64(2.5)),
        (tf.float64, 2.5),
        (tf.int32, 7),
        (tf.int64, 2**40),
        (tf.int32, np.int64(7)),
        (tf.uint8, 200),
        (tf.bool, True),
        (tf.complex64, 1 + 2j),
        (tf.float16, 0.5),
        (tf.bfloat16, 0.5),
        (tf.string, b"bytes\x00and more"),
        (tf.float32, [1, 2, 3]),
        (tf.int64, [[1], [2]]),
        (tf.float32, np.arange(6).reshape(2, 3)),
        (tf.float64, np.arange(6.0).reshape(2, 3).T),
        (tf.int32, np.arange(10, dtype=np.int32)[::2]),
        (tf.int16, np.array([1, 2], ">i2")),
        (tf.string, [["a", b"b"]]),
        (tf.string, np.array(["a", "bc"])),
        (tf.float32, np.zeros((0, 3))),
        (tf.string, []),
        (tf.int64, np.arange(3, dtype=np.longlong)),
    ],
    ids=repr,
)
def test_what_is_fed_comes_out(session, dtype, value):
    x = tf.placeholder(dtype)
    fetched = session.run(tf.identity(x), {x: value})
    if dtype == tf.string:
        as_bytes = np.vectorize(lambda s: s.encode() if isinstance(s, str) else s, otypes=[object])
        expected = (
            as_bytes(np.array(value, dtype=object)) if np.size(value) else np.array([], object)
        )
        assert np.array_equal(fetched, expected)
    else:
        assert np.array_equal(fetched, np.asarray(value, dtype=dtype.as_numpy_dtype))


def test_feeds_may_be_named_in_three_ways(session):
    v = tf.Variable(1.0, name="v")
    x = tf.placeholder(tf.float32, name="x")
    assert session.run(x * 2, {"x:0": 3}) == 6
    assert session.run(x * 2, {x: 3}) == 6
    assert session.run(v * 2, {v.value(): 5.0}) == 10


def test_any_tensor_can_be_fed(session):
    a = tf.constant(1.0)
    b = a + 1
    c = b * 2
    assert session.run(c, {b: 10}) == 20
    assert session.run(c, {a: 10}) == 22


def test_a_tensor_that_is_fed_and_fetched_is_what_was_fed(session):
    x = tf.placeholder(tf.float32)
    y = x + 1
    assert session.run(x, {x: 3}) == 3
    assert session.run([y, x, y], {x: 3}) == [4, 3, 4]
    assert session.run({"x": x}, {x: [1, 2]})["x"].dtype == np.float32


@pytest.mark.parametrize(
    "value, error, words",
    [
        ([1, 2, 3], ValueError, r"Cannot feed value of shape \(3,\) for Tensor 'x:0', .* '\(2,\)'"),
        ("text", ValueError, "text"),
        ([[1], [2, 3]], ValueError, ""),
        (None, (TypeError, ValueError), ""),
        (object(), TypeError, ""),
    ],
    ids=repr,
)
def test_feeds_that_do_not_fit_say_why(session, value, error, words):
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(error, match=words):
        session.run(x + 1, {x: value})


def test_a_feed_that_is_itself_fetched_must_have_the_shape(session):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    words = r"Cannot feed value of shape \(2, 4\) for Tensor 'x:0', which has shape '\(\?, 3\)'"
    with pytest.raises(ValueError, match=words):
        session.run(x, {x: np.zeros((2, 4))})
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor 'y:0'"):
        session.run(x, {x: np.zeros((2, 3)), y: np.zeros(3)})
    assert session.run([x, x], {y: [1, 2], x: np.zeros((5, 3))})[1].shape == (5, 3)


def test_feeding_a_tensor_is_refused(session):
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match="cannot be a tf.Tensor object"):
        session.run(x + 1, {x: tf.constant(1.0)})


def test_integers_that_do_not_fit_the_type_are_refused(session):
    x = tf.placeholder(tf.int32)
    with pytest.raises(TypeError, match="larger type"):
        session.run(tf.identity(x), {x: 2**40})
    with pytest.raises(TypeError, match="larger type"):
        session.run(tf.identity(x), {x: [[1], [-(2**40)]]})
    with pytest.raises(ValueError, match="Cannot feed"):
        session.run(tf.identity(x), {x: [2**70]})


def test_feeding_what_is_no_tensor_is_refused(session):
    op = tf.no_op()
    c = tf.constant(1)
    for key in (op, "nothing:0", 3):
        with pytest.raises(TypeError, match="feed_dict key"):
            session.run(c, {key: 1})


def test_a_placeholder_that_is_not_fed_is_named(session):
    x = tf.placeholder(tf.float32, name="missing")
    with pytest.raises(tf.errors.InvalidArgumentError, match="missing"):
        session.run(x + 1)


def test_a_changed_array_does_not_change_what_was_fed_before(session):
    """Small and large arrays: whatever is kept of a feed is a copy."""
    for size in (4, 300_000):
        v = tf.Variable(tf.zeros([size]), name=f"v{size}")
        q = tf.FIFOQueue(3, tf.float32)
        x = tf.placeholder(tf.float32, [size])
        fed = np.ones(size, np.float32)
        session.run([tf.assign(v, x), q.enqueue(x)], {x: fed})
        fetched = session.run(tf.identity(x), {x: fed})
        fed[:] = 7
        assert session.run(v).max() == 1
        assert session.run(q.dequeue()).max() == 1
        assert fetched.max() == 1
