"""GradientTape and Defun in graphs: gradients of what a block built, and of functions with their own."""

import numpy as np
import pytest

import millrace as tf
from millrace.python.framework import function


def test_a_tape_knows_what_was_built_in_its_block(session):
    x, other = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * other
    assert session.run(tape.gradient(y, x)) == 12.0
    with pytest.raises(RuntimeError, match="only be called once"):
        tape.gradient(y, x)


def test_what_was_computed_before_the_block_is_a_constant_in_it(session):
    x = tf.constant(3.0)
    before = x * x
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, before])
        y = before * x
        with tape.stop_recording():
            aside = x * 5.0
        z = y + aside
    assert session.run(tape.gradient(z, x)) == 9.0
    assert session.run(tape.gradient(z, before)) == 3.0


def test_variables_are_watched_but_other_sources_must_be_named(session):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    r = tf.get_variable("r", [2], initializer=tf.ones_initializer(), use_resource=True)
    fixed = tf.get_variable("fixed", [2], initializer=tf.ones_initializer(), trainable=False)
    x = tf.constant([1.0, 4.0])
    beyond = tf.constant([float("inf"), float("nan")])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(v * x * 2.0 + r * x + fixed)
    session.run(tf.global_variables_initializer())
    by = tape.gradient(loss, {"v": v, "r": r, "x": x, "fixed": fixed})
    assert by["x"] is None and by["fixed"] is None
    assert session.run([by["v"], by["r"]])[0].tolist() == [2.0, 8.0]
    assert session.run(by["r"]).tolist() == [1.0, 4.0]
    zeros = tape.gradient(loss, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert session.run(zeros).tolist() == [0.0, 0.0]
    zeros = tape.gradient(loss, beyond, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert session.run(zeros).tolist() == [0.0, 0.0]
    with tf.GradientTape(watch_accessed_variables=False) as blind:
        loss = tf.reduce_sum(v * x)
    assert blind.gradient(loss, v) is None
    assert tape.watched_variables() == (v, r)


def test_a_loop_of_training_by_tapes(session):
    w = tf.get_variable("w", [3], initializer=tf.zeros_initializer(), use_resource=True)
    data = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    labels = data @ np.array([1.0, -2.0, 0.5], np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.linalg.tensordot(data, w, [[1], [0]]) - labels))
    step = tf.train.GradientDescentOptimizer(0.3).apply_gradients([(tape.gradient(loss, w), w)])
    session.run(tf.global_variables_initializer())
    for _ in range(60):
        session.run(step)
    assert np.allclose(session.run(w), [1.0, -2.0, 0.5], atol=1e-2)


def test_a_defun_is_a_function_of_types(session):
    @function.Defun(tf.float32, tf.float32, func_name="Hypotenuse")
    def hypotenuse(x, y):
        return tf.sqrt(x * x + y * y)

    x = tf.constant(3.0)
    made = hypotenuse(x, 4)
    assert made.op.name.startswith("Hypotenuse/")
    assert session.run([made, tf.gradients(made, x)[0]]) == [5.0, pytest.approx(0.6)]
    with pytest.raises(ValueError, match="arguments: 2, received: 1"):
        hypotenuse(x)
    with pytest.raises((TypeError, ValueError)):
        hypotenuse(x, tf.constant(1))


def test_a_defun_may_bring_its_gradient(session):
    @function.Defun(tf.float32, tf.float32)
    def halved(x, arriving):
        return arriving * 0.5 + x * 0.0

    @function.Defun(tf.float32, grad_func=halved)
    def square(x):
        return x * x

    def of_op(op, first, second):
        return first * op.inputs[0] + second * op.outputs[1]

    @function.Defun(tf.float32, python_grad_func=of_op)
    def both(x):
        return x * 2.0, x * x

    x = tf.constant(3.0)
    assert session.run(tf.gradients(square(x), x)[0]) == 0.5
    assert session.run(square(x)) == 9.0
    first, second = both(x)
    assert session.run([first, second]) == [6.0, 9.0]
    assert session.run(tf.gradients([first, second], x)[0]) == 3.0 + 9.0
    with pytest.raises(ValueError, match="twice"):
        function.Defun(tf.float32, grad_func=halved, python_grad_func=of_op)
