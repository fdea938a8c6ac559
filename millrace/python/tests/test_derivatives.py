"""tf.hessians and tf.test.compute_gradient."""

import numpy as np
import pytest

import millrace as tf


def test_a_hessian_is_the_matrix_of_second_derivatives(session):
    x = tf.constant([1.0, 2.0, 3.0])
    m = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0], [5.0, 0.0, 1.0]], np.float32)
    quadratic = tf.reduce_sum(x * tf.reshape(tf.matmul(m, tf.reshape(x, [3, 1])), [3]))
    (found,) = tf.hessians(quadratic, x)
    assert found.shape.as_list() == [3, 3]
    assert np.allclose(session.run(found), m + m.T)


def test_hessians_of_several_xs_of_any_rank(session):
    x, w = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.Variable(2.0)
    by_x, by_w = tf.hessians(tf.reduce_sum(x * x * x) * w * w, [x, w])
    session.run(tf.global_variables_initializer())
    values, by_w = session.run([by_x, by_w])
    assert values.shape == (2, 2, 2, 2) and by_w == 200.0
    assert np.allclose(values.reshape(4, 4), np.diag([24.0, 48.0, 72.0, 96.0]))
    with pytest.raises(ValueError, match="do not depend on"):
        tf.hessians(x, tf.constant(1.0))


def test_a_gradient_beside_differences(session):
    with session.as_default():
        x = tf.constant([[0.5, 1.5]], tf.float64)
        y = tf.reshape(x * x, [2]) * [1.0, 3.0]
        by_graph, by_differences = tf.test.compute_gradient(
            x, [1, 2], y, [2], np.array([[1.0, 2.0]])
        )
        assert np.allclose(by_graph, [[2.0, 0.0], [0.0, 12.0]])
        assert np.allclose(by_differences, by_graph)
        assert tf.test.compute_gradient_error(x, [1, 2], y, [2]) < 1e-8
        z = tf.placeholder(tf.float64, [1, 2])
        assert tf.test.compute_gradient_error([x, z], [[1, 2], [1, 2]], x * z, [1, 2]) < 1e-6


def test_a_wrong_gradient_is_seen(session):
    @tf.custom_gradient
    def wrong(x):
        return x * x, lambda arriving: arriving * 3.0

    with session.as_default():
        x = tf.constant([2.0], tf.float64)
        error = tf.test.compute_gradient_error(x, [1], wrong(x), [1], np.array([2.0]))
        assert np.isclose(error, 1.0)
        with pytest.raises(ValueError, match="does not depend"):
            tf.test.compute_gradient_error(x, [1], tf.constant([1.0]), [1])


def test_complex_numbers_count_twice(session):
    with session.as_default():
        x = tf.constant([1.0 + 2.0j], tf.complex128)
        by_graph, by_differences = tf.test.compute_gradient(
            x, [1], x - 3.0 + x, [1], np.array([1 + 2j])
        )
        assert np.allclose(by_graph, [[2.0, 0.0], [0.0, 2.0]]) and np.allclose(
            by_graph, by_differences
        )
