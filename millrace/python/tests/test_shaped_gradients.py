"""tf.contrib.opt's ShampooOptimizer and GGTOptimizer beside their formulas in NumPy."""

import numpy as np
import pytest

import millrace as tf

opt = tf.contrib.opt
START = np.arange(6.0).reshape(2, 3)
SLOPES = [np.float64([[0.5, -1.0, 2.0], [0.1, 1.0, 1.0]]), np.float64([[1.0, 0, 0], [-2, 0.3, 1]])]


def _power(matrix, power, epsilon=1e-4):
    values, vectors = np.linalg.eigh(matrix + epsilon * np.eye(len(matrix)))
    return vectors * np.maximum(values, epsilon) ** power @ vectors.T


def _trained(session, optimizer, slopes, resource=False, step=None):
    var = tf.get_variable("v", initializer=START, use_resource=resource)
    slope = tf.placeholder(tf.float64, START.shape)
    train = optimizer.apply_gradients([(slope, var)], global_step=step)
    session.run(tf.global_variables_initializer())
    for value in slopes:
        session.run(train, {slope: value})
    return session.run(var)


def _shampoo(slopes, gbar_decay=0.0, decay=1.0, rate=1.0, root_every=1, matrix_every=1):
    var, gbar = START.copy(), np.zeros_like(START)
    left, right = np.zeros([2, 2]), np.zeros([3, 3])
    roots = [np.eye(2), np.eye(3)]
    for step, slope in enumerate(slopes, 1):
        gbar = gbar_decay * gbar + slope
        if step % matrix_every == 0:
            left = decay * left + matrix_every * slope @ slope.T
            right = decay * right + matrix_every * slope.T @ slope
        if step % root_every == 0:
            roots = [_power(left / 2, -0.25), _power(right / 3, -0.25)]
        var -= rate * roots[0] @ gbar @ roots[1]
    return var


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    "arguments, formula",
    [
        ({}, {}),
        ({"gbar_decay": 0.5, "mat_gbar_decay": 0.5}, {"gbar_decay": 0.5, "decay": 0.5}),
        ({"svd_interval": 2, "precond_update_interval": 2}, {"root_every": 2, "matrix_every": 2}),
        ({"use_iterative_root": True}, {}),
    ],
)
def test_each_axis_is_shaped_by_its_own_matrix(session, arguments, formula, resource):
    step = tf.train.create_global_step()
    optimizer = opt.ShampooOptimizer(step, learning_rate=0.5, **arguments)
    found = _trained(session, optimizer, SLOPES * 2, resource, step)
    rtol = 1e-2 if "use_iterative_root" in arguments else 1e-5
    np.testing.assert_allclose(found, _shampoo(SLOPES * 2, rate=0.5, **formula), rtol, 1e-4)


def test_parameters_may_be_functions_of_the_step(session):
    step = tf.train.create_global_step()
    optimizer = opt.ShampooOptimizer(
        step, svd_interval=lambda t: 2.0 + 0.0 * t, learning_rate=lambda t: 0.5 + 0.0 * t
    )
    found = _trained(session, optimizer, SLOPES * 2, False, step)
    np.testing.assert_allclose(found, _shampoo(SLOPES * 2, rate=0.5, root_every=2), 1e-5)


def test_long_axes_have_diagonals_alone(session):
    optimizer = opt.ShampooOptimizer(max_matrix_size=2)
    found = _trained(session, optimizer, SLOPES)
    left, right, expected = np.zeros([2, 2]), np.zeros(3), START.copy()
    for slope in SLOPES:
        left, right = left + slope @ slope.T, right + (slope**2).sum(0) / 3
        expected -= _power(left / 2, -0.25) @ slope * right**-0.25
    np.testing.assert_allclose(found, expected, 1e-5)


@pytest.mark.parametrize("longest", [1, 768])
def test_rows_of_a_long_axis_are_changed_by_themselves(session, longest):
    var = tf.get_variable("v", initializer=np.ones([3, 1]))
    optimizer = opt.ShampooOptimizer(max_matrix_size=longest)
    rows = tf.IndexedSlices(tf.constant([[2.0], [1.0]], tf.float64), tf.constant([0, 2]))
    train = optimizer.apply_gradients([(rows, var)])
    session.run(tf.global_variables_initializer())
    session.run(train)
    slope = np.float64([[2.0], [0.0], [1.0]])
    if longest == 1:  # row by row: each by the power of its own sum of squares
        rates = np.float64([4.0**-0.25, 0, 1.0])[:, None]
        expected = 1 - slope * rates * (5.0 + 1e-4) ** -0.25
    else:
        expected = 1 - _power(slope @ slope.T / 3, -0.25) @ slope * (5.0 + 1e-4) ** -0.25
    np.testing.assert_allclose(session.run(var), expected, 1e-5)


def test_rows_of_long_axes_are_changed_by_sums_along_both(session):
    var = tf.get_variable("v", initializer=np.ones([3, 2]))
    optimizer = opt.ShampooOptimizer(max_matrix_size=1)
    slope = np.float64([[2.0, 1.0], [1.0, 3.0]])
    rows = tf.IndexedSlices(tf.constant(slope), tf.constant([0, 2]))
    train = optimizer.apply_gradients([(rows, var)])
    session.run(tf.global_variables_initializer())
    session.run(train)
    squares, expected = slope**2, np.ones([3, 2])
    expected[[0, 2]] -= slope * squares.sum(1, keepdims=True) ** -0.25 * squares.sum(0) ** -0.25
    np.testing.assert_allclose(session.run(var), expected, 1e-5)


def _ggt(slopes, window, rate, eps):
    var, mean, kept = START.ravel().copy(), np.zeros(6), np.zeros([window, 6])
    for step, slope in enumerate(slopes, 1):
        mean = 0.9 * mean + 0.1 * slope.ravel()
        kept[(step - 1) % window] = mean
        columns = kept.T / np.sqrt(min(step, window))
        values, vectors = np.linalg.eigh(columns.T @ columns + 1e-6 * np.eye(window))
        roots, inside = np.sqrt(values), vectors.T @ columns.T @ mean
        change = columns @ vectors @ (inside / (roots + 1e-2) ** 3)
        if roots.min() > eps:
            change += (mean - columns @ vectors @ (inside / values)) / roots.min()
        var -= rate * change
    return var.reshape(START.shape)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("window, eps", [(2, 1e-4), (3, 1.0)])
def test_steps_are_shaped_by_the_last_means_together(session, window, eps, resource):
    optimizer = opt.GGTOptimizer(0.01, window=window, eps=eps)
    found = _trained(session, optimizer, SLOPES * 2, resource)
    np.testing.assert_allclose(found, _ggt(SLOPES * 2, window, 0.01, eps), 1e-5)


def test_variables_are_one_vector_in_the_order_of_their_names(session):
    slope = tf.placeholder(tf.float64, START.shape)
    optimizer = opt.GGTOptimizer(0.01, window=2)
    b = tf.get_variable("b", initializer=START[1])
    a = tf.get_variable("a", initializer=START[0])
    train = optimizer.apply_gradients([(slope[1], b), (slope[0], a)])
    session.run(tf.global_variables_initializer())
    for value in SLOPES:
        session.run(train, {slope: value})
    expected = _ggt(SLOPES, 2, 0.01, 1e-4)
    np.testing.assert_allclose(np.stack(session.run([a, b])), expected, 1e-5)
    with pytest.raises(ValueError, match="window is 0"):
        opt.GGTOptimizer(window=0)
