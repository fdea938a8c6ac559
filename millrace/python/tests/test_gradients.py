"""tf.gradients: values, names, slices and what it refuses, as TensorFlow documents them."""

import numpy as np
import pytest

import millrace as tf


def test_a_linear_model_learns(session):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    wanted = tf.constant([[5.0], [11.0], [19.0]])
    w = tf.Variable([[0.0], [0.0]])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - wanted))
    (by_w,) = tf.gradients(loss, [w])
    train = tf.assign_sub(w, 0.02 * by_w)
    session.run(tf.global_variables_initializer())
    for _ in range(2000):
        session.run(train.op)
    assert session.run(loss) < 1e-3
    assert np.allclose(session.run(w), [[1.0], [2.0]], atol=0.1)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_of_both_kinds_have_gradients_dense_and_as_slices(session, use_resource):
    w = tf.Variable([[1.0], [2.0], [3.0]], use_resource=use_resource)
    session.run(tf.global_variables_initializer())
    (dense,) = tf.gradients(tf.square(w), w)
    assert session.run(dense).tolist() == [[2.0], [4.0], [6.0]]
    (rows,) = tf.gradients(tf.gather(w, [0, 2]) * 5.0, [w])
    assert session.run(tf.convert_to_tensor(rows)).tolist() == [[5.0], [0.0], [5.0]]


def test_values_are_those_of_the_formula(session):
    x = tf.placeholder(tf.float64, [None])
    y = tf.tanh(x) * tf.exp(x) / (1.0 + tf.square(x))
    (by_x,) = tf.gradients(y, x)
    assert by_x.shape.as_list() == [None]
    at, step = np.array([0.3, -1.2, 2.0]), 1e-6
    f = lambda v: np.tanh(v) * np.exp(v) / (1 + v * v)
    assert np.allclose(
        session.run(by_x, {x: at}), (f(at + step) - f(at - step)) / (2 * step), rtol=1e-6
    )


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_conditional_has_the_gradient_of_the_branch_that_is_taken(session, use_resource):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant([2.0, 3.0])
    w = tf.Variable([1.0, 10.0], use_resource=use_resource)
    y = tf.cond(p, lambda: x * x * w, lambda: tf.constant([5.0, 5.0]) + x)
    session.run(tf.global_variables_initializer())
    by_x, by_w = tf.gradients(y, [x, w])
    assert session.run(by_x, {p: True}).tolist() == [4.0, 60.0]
    assert session.run(by_x, {p: False}).tolist() == [1.0, 1.0]
    assert session.run(tf.convert_to_tensor(by_w), {p: True}).tolist() == [4.0, 9.0]
    assert session.run(tf.convert_to_tensor(by_w), {p: False}).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_conditionals_in_conditionals_have_gradients_of_second_order_too(session, outer, inner):
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.constant(3.0)
    y = tf.cond(p, lambda: tf.cond(q, lambda: x**3.0, lambda: x * x) * x, lambda: -x)
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    power = 0 if not outer else 4 if inner else 3
    feeds = {p: outer, q: inner}
    assert session.run(y, feeds) == (3.0**power if power else -3.0)
    assert np.isclose(session.run(first, feeds), power * 3.0 ** (power - 1) if power else -1.0)
    assert np.isclose(session.run(second, feeds), power * (power - 1) * 3.0 ** max(power - 2, 0))


def test_rows_that_one_branch_gathers_are_the_gradient_of_that_branch(session):
    p = tf.placeholder(tf.bool, [])
    table = tf.Variable([[1.0], [2.0], [3.0]], use_resource=True)
    y = tf.cond(p, lambda: tf.reduce_sum(tf.gather(table, [2, 2])), lambda: tf.constant(0.0))
    session.run(tf.global_variables_initializer())
    (by_table,) = tf.gradients(y, [table])
    by_table = tf.convert_to_tensor(by_table)
    assert session.run(by_table, {p: True}).tolist() == [[0.0], [0.0], [2.0]]
    assert session.run(by_table, {p: False}).tolist() == [[0.0], [0.0], [0.0]]


def test_nodes_stand_in_tensorflows_scopes():
    x = tf.constant(2.0, name="x")
    y = tf.exp(x, name="y")
    assert tf.gradients(y, x)[0].name == "gradients/y_grad/Mul:0"
    assert tf.gradients(y, x)[0].name == "gradients_1/y_grad/Mul:0"
    with tf.name_scope("outer"):
        assert tf.gradients(y, x, name="by_hand")[0].name == "outer/by_hand/y_grad/Mul:0"


def test_a_gather_gives_slices_which_become_a_tensor_where_one_is_needed(session):
    params = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = tf.gather(params, [2, 0, 2])
    (by_params,) = tf.gradients(rows * 2.0, params)
    assert isinstance(by_params, tf.IndexedSlices)
    assert list(session.run(by_params.indices)) == [2, 0, 2]
    assert session.run(by_params.values).tolist() == [[2.0, 2.0]] * 3
    dense = tf.convert_to_tensor(by_params)
    assert session.run(dense).tolist() == [[2.0, 2.0], [0.0, 0.0], [4.0, 4.0]]
    whole, without_shape = session.run(
        [by_params, tf.IndexedSlices(by_params.values, by_params.indices)]
    )
    assert whole.indices.tolist() == [2, 0, 2] and whole.values.tolist() == [[2.0, 2.0]] * 3
    assert whole.dense_shape.tolist() == [3, 2] and without_shape.dense_shape is None


def test_grad_ys_stops_and_what_is_not_connected(session):
    x, other = tf.constant(3.0), tf.constant(1.0)
    a = tf.square(x)
    y = a * x
    assert session.run(tf.gradients(y, x)[0]) == 27.0
    assert session.run(tf.gradients(y, x, grad_ys=2.0)[0]) == 54.0
    assert session.run(tf.gradients(y, x, stop_gradients=[a])[0]) == 9.0
    assert tf.gradients(y, [other]) == [None]
    zero = tf.gradients(y, other, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
    assert session.run(zero) == 0.0
    assert tf.gradients(tf.stop_gradient(y), x) == [None]
    second = tf.gradients(tf.gradients(y, x)[0], x)[0]
    assert session.run(second) == 18.0


def test_what_has_no_gradient_is_refused_by_name():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(LookupError, match=r"'p' \(op type: PreventGradient\).*Reason: by hand"):
        tf.gradients(tf.raw_ops.PreventGradient(input=x, message="by hand", name="p"), x)
    with pytest.raises(ValueError, match="grad_ys"):
        tf.gradients(x, x, grad_ys=[x, x])
