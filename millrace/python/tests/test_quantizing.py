"""Floats as numbers of quantized types, and back."""

import numpy as np
import pytest

import millrace as tf


def steps(value):
    return np.asarray(value).astype(np.int64).tolist()


def test_a_range_lies_on_the_numbers_of_its_type(session):
    x = [1.0, 1.25, 1.75, 127.0, 255.0, 500.0]
    made = tf.quantization.quantize(x, 0.0, 255.0, tf.quint8, mode="MIN_FIRST")
    number, low, high = session.run(made)
    assert steps(number) == [1, 1, 2, 127, 255, 255] and (low, high) == (0, 255)
    back = tf.quantization.dequantize(made[0], made[1], made[2], mode="MIN_FIRST")
    assert session.run(back).tolist() == [1, 1, 2, 127, 255, 255]


def test_each_slice_of_an_axis_has_a_range_of_its_own(session):
    x = np.array([[-1, 0.5], [2, -4]], np.float32)
    made = tf.quantize_v2(
        x, [-1.0, -4.0], [0.5, 1.0], tf.qint8, mode="SCALED", round_mode="HALF_TO_EVEN", axis=-2
    )
    assert [part.shape.as_list() for part in made] == [[2, 2], [2], [2]]
    number, low, high = session.run(made)
    assert steps(number) == [[-128, 64], [64, -128]] and low.tolist() == [-1, -4]
    back = tf.dequantize(made[0], low, high, mode="SCALED", axis=0)
    np.testing.assert_allclose(session.run(back), x, rtol=1e-6)


def test_a_range_that_is_turned_round_is_refused(session):
    made = tf.quantize_v2([1.0], 1.0, -1.0, tf.qint8)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be larger than input_min_range"):
        session.run(made)


def test_an_axis_from_the_end_needs_a_rank():
    with tf.Graph().as_default():
        unknown = tf.placeholder(tf.float32)
        with pytest.raises(ValueError, match="rank is not known"):
            tf.quantize_v2(unknown, [0.0], [1.0], tf.qint8, mode="SCALED", axis=-1)
