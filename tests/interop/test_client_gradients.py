"""Gradients of loops and conditionals of TensorFlow 2: they carry lists, add them and zero them."""

import math

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("control_flow_v2")


def op_types(graph):
    """Of the graph and of all functions in it."""
    definition = graph.as_graph_def()
    bodies = [node for function in definition.library.function for node in function.node_def]
    return {node.op for node in [*definition.node, *bodies]}


def power(x, n):
    return tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, y * x), [0, 1.0])[1]


def test_derivatives_of_any_order_go_through_a_loop(target, graph):
    x = tf1.placeholder(tf.float32, [])
    derivatives = [power(x, 4)]
    for _ in range(3):
        derivatives += tf.gradients(derivatives[-1], x)
    with tf1.Session(target) as session:
        assert session.run(derivatives, {x: 2}) == [16, 32, 48, 48]


def test_a_gradient_stops_in_a_loop_where_it_is_told_to(target, graph):
    x = tf1.placeholder(tf.float32, [])

    def body(i, through, past):
        return i + 1, through * x, past + tf.stop_gradient(through) * x

    _, _, past = tf.while_loop(lambda i, *_: i < 3, body, [0, 1.0, 0.0])
    [gradient] = tf.gradients(past, x)  # past = x + stop(x) x + stop(x^2) x
    with tf1.Session(target) as session:
        assert session.run([past, gradient], {x: 2}) == [2 + 4 + 8, 1 + 2 + 4]


def test_a_loop_inside_of_which_a_gradient_is_taken_has_a_gradient(target, graph):
    x = tf1.placeholder(tf.float32, [])
    v = tf1.get_variable("v", initializer=1.0, use_resource=True)

    def slope(a):
        b = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, tf.cos(v + y)), [0, a])[1]
        return tf.gradients(b, a)[0]

    z = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, slope(y)), [0, x])[1]
    gradients = tf.gradients(z, [x, v])

    def exact(x, v):
        for _ in range(2):
            x = math.sin(v + x) * math.sin(v + math.cos(v + x))
        return x

    def difference(x, v, dx, dv):
        return (exact(x + dx, v + dv) - exact(x - dx, v - dv)) / (2 * (dx + dv))

    with tf1.Session(target) as session:
        session.run(v.initializer)
        found = session.run([z, *gradients], {x: 0.5})
    step = 1e-5
    wanted = [exact(0.5, 1), difference(0.5, 1, step, 0), difference(0.5, 1, 0, step)]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_an_array_that_is_read_twice_adds_up_two_gradients(target, graph):
    x = tf1.placeholder(tf.float32, [3])
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    total = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, s: (i + 1, s + array.read(i) * array.read(2 - i)),
        [0, 0.0],
    )[1]
    [gradient] = tf.gradients(total + tf.reduce_sum(array.stack()), x)
    assert "AddN" in op_types(graph)
    with tf1.Session(target) as session:
        value, slope = session.run([total, gradient], {x: [1, 2, 3]})
    assert value == 3 + 4 + 3
    assert slope.tolist() == [6 + 1, 4 + 1, 2 + 1]


def test_a_fold_and_a_scan_have_gradients(target, graph):
    x = tf1.placeholder(tf.float32, [3])
    product = tf.foldl(lambda a, b: a * b, x)
    products = tf.scan(lambda a, b: a * b, x)
    gradients = [tf.gradients(y, x)[0] for y in (product, products)]
    with tf1.Session(target) as session:
        fold, scan = session.run(gradients, {x: [2, 3, 4]})
    assert fold.tolist() == [12, 8, 6]
    assert scan.tolist() == [1 + 3 + 12, 2 + 8, 6]


def test_a_conditional_in_a_loop_has_a_gradient_of_a_gradient(target, graph):
    x = tf1.placeholder(tf.float32, [])

    def body(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)

    y = tf.while_loop(lambda i, _: i < 3, body, [0, 1.0])[1]  # (x + x) x
    [first] = tf.gradients(y, x)
    [second] = tf.gradients(first, x)
    with tf1.Session(target) as session:
        assert session.run([y, first, second], {x: 3}) == [18, 12, 4]


def test_parts_of_unequal_length_are_joined_and_their_gradient_is_split(target, graph):
    x = tf1.placeholder(tf.float32, [3, 2])
    array = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    y = array.concat()
    [gradient] = tf.gradients(y * y, x)
    assert {"TensorListSplit", "TensorListConcatV2"} <= op_types(graph)
    value = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf1.Session(target) as session:
        found, slope = session.run([y, gradient], {x: value})
    assert found.tolist() == value.tolist()
    assert slope.tolist() == (2 * value).tolist()


def test_lists_have_a_sum_if_they_are_of_one_length(target, graph):
    lists = [
        tf.raw_ops.TensorListFromTensor(tensor=tensor, element_shape=tf.constant([], tf.int32))
        for tensor in ([1.0, 2.0], [10.0, 20.0], [5.0])
    ]

    def stack(handle):
        return tf.raw_ops.TensorListStack(
            input_handle=handle, element_shape=-1, element_dtype=tf.float32
        )

    total = stack(tf.add_n(lists[:2]))
    zeros = stack(tf.zeros_like(lists[0]))
    unequal = stack(tf.add_n(lists[1:]))
    with tf1.Session(target) as session:
        assert session.run(total).tolist() == [11, 22]
        assert session.run(zeros).tolist() == [0, 0]
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="Trying to add two lists of tensors with different lengths",
        ):
            session.run(unequal)
