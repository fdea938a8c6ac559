"""tf.assert_near, assert_shapes, add_check_numerics_ops and other checks of what numbers and shapes are."""

import numpy as np
import pytest

import millrace as tf


def test_near_is_within_both_tolerances(session):
    session.run(tf.assert_near(1.0, 1.0 + 1e-7))
    session.run(tf.assert_near([100.0], [101.0], rtol=0.011, atol=0.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="far off:.*not equal to tolerance"):
        session.run(tf.assert_near([1.0, 2.0], [1.0, 2.1], message="far off:"))
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.debugging.assert_near(np.float64(1.0), 1.0 + 1e-13))


def test_numbers_that_are_not_finite_fail_with_the_message(session):
    x = tf.placeholder(tf.float32)
    for checked in (
        tf.verify_tensor_all_finite(x, "the loss"),
        tf.debugging.assert_all_finite(x=x, message="the loss"),
    ):
        assert session.run(checked, {x: 2.0}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="the loss"):
            session.run(checked, {x: np.nan})
    with pytest.raises(ValueError, match="a Tensor and a message"):
        tf.verify_tensor_all_finite(x)


def test_the_first_number_that_is_not_finite_is_named(session):
    x = tf.placeholder(tf.float32, name="x")
    root = tf.log(x, name="logarithm")
    tf.exp(root, name="back")
    check = tf.add_check_numerics_ops()
    session.run(check, {x: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="logarithm:0"):
        session.run(check, {x: -1.0})
    tf.cond(tf.constant(True), lambda: x + 1.0, lambda: x)
    with pytest.raises(ValueError, match="not compatible with TensorFlow control flow"):
        tf.add_check_numerics_ops()


def test_lists_are_told_from_tensors():
    tf.assert_proper_iterable([1, 2])
    for wrong in (tf.constant([1]), np.ones(2), "text", tf.SparseTensor([[0]], [1], [1])):
        with pytest.raises(TypeError, match="proper"):
            tf.assert_proper_iterable(wrong)
    with pytest.raises(TypeError, match="to be iterable"):
        tf.assert_proper_iterable(1)


def test_one_float_type_of_all():
    x = tf.constant(1.0)
    assert tf.assert_same_float_dtype([x, None]) == tf.float32
    assert tf.assert_same_float_dtype(dtype=tf.float64) == tf.float64
    assert tf.assert_same_float_dtype() == tf.float32
    with pytest.raises(ValueError, match="mismatch"):
        tf.assert_same_float_dtype([x, tf.constant(1.0, tf.float64)])
    with pytest.raises(ValueError, match="Expected floating point"):
        tf.assert_same_float_dtype([tf.constant(1)])


def test_sizes_of_one_name_are_alike():
    shapes = tf.debugging.assert_shapes
    x, y = tf.zeros([3, 2]), tf.zeros([3, 4])
    shapes([(x, ("N", "Q")), (y, ("N", 4)), (tf.zeros([2]), "Q"), (tf.zeros([]), ())])
    shapes({x: ("...", 2), y: (None, None), tf.zeros([5]): tf.TensorShape(None)})
    with pytest.raises(ValueError, match="size 3 .N, as .* along axis -2.*shape"):
        shapes([(x, ("N", "Q")), (y, ("Q", "N"))][:1] + [(y, (None, "N"))])
    with pytest.raises(ValueError, match="must have rank 3.  Received rank 2"):
        shapes([(x, (1, 2, 3))])
    with pytest.raises(ValueError, match="must have rank at least 3"):
        shapes([(x, ("*", 1, 2, 3))])


def test_sizes_that_are_not_known_are_compared_when_it_runs(session):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, None])
    check = tf.debugging.assert_shapes([(x, ("N", 2)), (y, ("N", "N"))], message="Inputs")
    session.run(check, {x: np.ones([3, 2]), y: np.ones([3, 3])})
    for wrong in ([4, 2], [3, 3], [3]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Inputs"):
            session.run(check, {x: np.ones(wrong), y: np.ones([3, 3])})
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis -1"):
        session.run(check, {x: np.ones([3, 2]), y: np.ones([3, 4])})
