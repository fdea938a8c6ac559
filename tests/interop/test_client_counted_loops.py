"""For, the loop that counts, in sessions of TensorFlow 1."""

import pytest
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

tf1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("control_flow_v2")


def test_a_for_counts_up_and_down_and_not_at_all(target, graph):
    bounds = tf1.placeholder(tf.int32, [3])

    @function.Defun(tf.int32, tf.float32, tf.float32)
    def body(i, total, last):
        return total + tf.cast(i, tf.float32), tf.cast(i, tf.float32) + last * 0

    results = functional_ops.For(bounds[0], bounds[1], bounds[2], [0.0, -1.0], body)
    with tf1.Session(target) as session:
        run = lambda *values: session.run(results, {bounds: values})
        assert run(1, 21, 1) == [210, 20]
        assert run(0, 10, 4) == [12, 8]
        assert run(5, 0, -2) == [9, 1]
        assert run(3, 3, 1) == run(3, 3, 0) == [0, -1]
        most = 2**31 - 1
        assert run(most - 3, most, 2) == [2.0**32, 2.0**31]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid start/limit/delta"):
            run(0, 10, -1)


def test_a_for_refuses_bounds_that_are_no_scalars(target, graph):
    start = tf1.placeholder(tf.int32)

    @function.Defun(tf.int32, tf.float32)
    def body(i, x):
        return x

    result = functional_ops.For(start, 10, 1, [0.0], body)
    with tf1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar"):
            session.run(result, {start: [0]})
        assert session.run(result, {start: 0}) == [0]


def test_a_for_in_a_branch_that_is_not_taken_is_not_checked(target, graph):
    p = tf1.placeholder(tf.bool, [])

    @function.Defun(tf.int32, tf.float32)
    def body(i, x):
        return x + 1

    result = tf.cond(p, lambda: functional_ops.For(0, 10, -1, [0.0], body)[0], lambda: 7.0)
    with tf1.Session(target) as session:
        assert session.run(result, {p: False}) == 7
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid start/limit/delta"):
            session.run(result, {p: True})


def test_a_for_in_a_loop_counts_in_each_iteration(target, graph):
    @function.Defun(tf.int32, tf.float32)
    def body(i, x):
        return x + tf.cast(i, tf.float32)

    def turn(n, x):
        return n + 1, tf.ensure_shape(functional_ops.For(0, n, 1, [x], body)[0], [])

    with tf1.Session(target) as session:
        assert session.run(tf.while_loop(lambda n, x: n < 4, turn, [0, 0.0])) == [4, 4]
