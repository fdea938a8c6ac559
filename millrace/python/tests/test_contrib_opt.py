"""tf.contrib.opt's optimizers beside their formulas in NumPy."""

import math
import types

import numpy as np
import pytest

import millrace as tf

opt = tf.contrib.opt
START = np.float64([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
SLOPE = np.float64([[0.5, -1.0], [2.0, 0.1], [1.0, 1.0]])
RATE, B1, B2, EPS = 0.1, 0.9, 0.999, 1e-8


def _adam(slopes, update):
    """A variable after steps with these gradients, by update(m, v, t, slope)."""
    var, m, v = START.copy(), np.zeros_like(START), np.zeros_like(START)
    for t, slope in enumerate(slopes, 1):
        m, v, change = update(m, v, t, slope)
        var -= change
    return var


def _trained(session, optimizer, slopes, resource, **kwargs):
    var = tf.get_variable("v", initializer=START, use_resource=resource)
    slope = tf.placeholder(tf.float64, [3, 2])
    train = optimizer.apply_gradients([(slope, var)], **kwargs)
    session.run(tf.global_variables_initializer())
    for value in slopes:
        session.run(train, {slope: value})
    return session.run(var)


def _nadam(m, v, t, g):
    m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g
    rate = RATE * math.sqrt(1 - B2**t) / (1 - B1**t)
    return m, v, rate * (B1 * m + (1 - B1) * g) / (np.sqrt(v) + EPS)


def _adamax(m, v, t, g):
    m, v = B1 * m + (1 - B1) * g, np.maximum(B2 * v, np.abs(g))
    return m, v, RATE / (1 - B1**t) * m / (v + EPS)


def _add_sign(m, v, t, g):
    m = B1 * m + (1 - B1) * g
    return m, v, RATE * (2.0 + np.sign(g) * np.sign(m)) * g


def _power_sign(m, v, t, g):
    m = B1 * m + (1 - B1) * g
    return m, v, RATE * 3.0 ** (np.sign(g) * np.sign(m)) * g


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    "make, update",
    [
        (lambda: opt.NadamOptimizer(RATE), _nadam),
        (lambda: opt.AdaMaxOptimizer(RATE), _adamax),
        (lambda: opt.AddSignOptimizer(RATE, alpha=2.0), _add_sign),
        (lambda: opt.PowerSignOptimizer(RATE, base=3.0), _power_sign),
    ],
)
def test_whole_gradients_change_variables_by_the_formula(session, make, update, resource):
    slopes = [SLOPE, -0.3 * SLOPE, SLOPE]
    found = _trained(session, make(), slopes, resource)
    np.testing.assert_allclose(found, _adam(slopes, update), rtol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
def test_lazy_adam_leaves_rows_alone_that_no_slice_names(session, resource):
    var = tf.get_variable("v", initializer=START, use_resource=resource)
    optimizer = opt.LazyAdamOptimizer(RATE)
    loss = tf.reduce_sum(tf.gather(var, [0, 2, 2]))
    train = optimizer.minimize(loss)
    session.run(tf.global_variables_initializer())
    m, v, expected = np.zeros([3, 1]), np.zeros([3, 1]), START.copy()
    slope, named = np.array([[1.0], [0.0], [2.0]]), [0, 2]
    for t in (1, 2):
        session.run(train)
        m[named] = B1 * m[named] + (1 - B1) * slope[named]
        v[named] = B2 * v[named] + (1 - B2) * slope[named] ** 2
        rate = RATE * math.sqrt(1 - B2**t) / (1 - B1**t)
        expected[named] -= rate * m[named] / (np.sqrt(v[named]) + EPS)
    found, kept = session.run([var, optimizer.get_slot(var, "m")])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(found[1], START[1])
    np.testing.assert_allclose(kept, m * np.ones([1, 2]), rtol=1e-5)


@pytest.mark.parametrize("make", [opt.NadamOptimizer, opt.AdaMaxOptimizer])
def test_slices_of_all_rows_do_what_a_whole_gradient_does(session, make):
    found = []
    for sparse in (False, True):
        var = tf.Variable(START)
        rows = tf.gather(var, [2, 0, 1]) if sparse else var
        train = make(RATE).minimize(tf.reduce_sum(tf.square(rows)))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        found.append(session.run(var))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
def test_weights_decay_before_they_are_updated(session, resource):
    found = _trained(session, opt.MomentumWOptimizer(0.01, RATE, 0.0), [SLOPE], resource)
    np.testing.assert_allclose(found, START * 0.99 - RATE * SLOPE, rtol=1e-5)


def test_only_the_variables_that_are_named_decay(session):
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = opt.AdamWOptimizer(0.1, learning_rate=0.0)
    train = optimizer.minimize(a + b, decay_var_list=[b])
    session.run(tf.global_variables_initializer())
    session.run(train)
    assert session.run([a, b]) == [1.0, pytest.approx(0.9)]


def test_any_optimizer_may_have_weights_that_decay(session):
    make = opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    var = tf.Variable(START)
    train = make(weight_decay=0.5, learning_rate=1.0).minimize(
        tf.reduce_sum(tf.gather(var, [1, 1]))
    )
    session.run(tf.global_variables_initializer())
    session.run(train)
    expected = START.copy()
    expected[1] = START[1] * 0.5 - 2
    np.testing.assert_allclose(session.run(var), expected)


def test_the_rate_of_a_layer_is_by_its_norm(session):
    optimizer = opt.LARSOptimizer(RATE, momentum=0.0, eeta=0.5, weight_decay=0.01)
    found = _trained(session, optimizer, [SLOPE], False)
    weights, slope = np.linalg.norm(START), np.linalg.norm(SLOPE)
    rate = RATE * 0.5 * weights / (slope + 0.01 * weights)
    np.testing.assert_allclose(found, START - rate * SLOPE, rtol=1e-5)
    with tf.variable_scope("bias"):
        skipping = opt.LARSOptimizer(RATE, momentum=0.0, skip_list=["bias"])
        found = _trained(session, skipping, [SLOPE], False)
    np.testing.assert_allclose(found, START - RATE * SLOPE, rtol=1e-5)


def test_the_decay_of_a_sign_is_by_the_step(session):
    step = tf.train.create_global_step()
    optimizer = opt.AddSignOptimizer(
        RATE, sign_decay_fn=lambda step: 1.0 / tf.cast(step + 1, tf.float64)
    )
    slopes = [SLOPE, SLOPE]
    found = _trained(session, optimizer, slopes, False, global_step=step)
    np.testing.assert_allclose(found, START - RATE * SLOPE * (2 + 1.5), rtol=1e-5)


def test_averages_are_saved_in_the_place_of_variables(session, tmp_path):
    var = tf.get_variable("v", initializer=10.0)
    wrapped = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5)
    with pytest.raises(RuntimeError, match="Must call apply_gradients"):
        wrapped.swapping_saver()
    train = wrapped.minimize(var * 2.0)
    session.run(tf.global_variables_initializer())
    session.run(train)
    path = wrapped.swapping_saver().save(session, str(tmp_path / "model"))
    reader = tf.train.load_checkpoint(path)
    assert session.run(var) == 8.0 and reader.get_tensor("v") == 9.0
    assert reader.get_tensor("v/ExponentialMovingAverage") == 8.0


class _Descent(opt.ExternalOptimizerInterface):
    def _minimize(self, initial_val, loss_grad_func, packed_bounds, optimizer_kwargs, **kwargs):
        x = initial_val
        for _ in range(optimizer_kwargs["steps"]):
            x = x - 0.25 * loss_grad_func(x)[1]
            if packed_bounds is not None:
                low, high = np.transpose(packed_bounds)
                x = np.clip(x, low, high).astype(x.dtype)
        self.told = kwargs["equality_funcs"], kwargs["equality_grad_funcs"], kwargs["step_callback"]
        return x


def test_an_algorithm_outside_minimizes(session):
    a, b = tf.Variable([7.0, 7.0]), tf.Variable([[3.0]])
    target = tf.placeholder(tf.float32, [])
    loss = tf.reduce_sum(tf.square(a)) + tf.reduce_sum(tf.square(b - target))
    seen = []
    it = _Descent(loss, equalities=[a[1] - 1.0], var_to_bounds={a: ([1, 2], None)}, steps=60)
    session.run(tf.global_variables_initializer())
    it.minimize(session, {target: 5.0}, fetches=[loss], loss_callback=seen.append)
    first, second = session.run([a, b])
    assert first.tolist() == [1, 2] and second == pytest.approx(np.float32([[5]]))
    assert len(seen) == 60 and seen[-1] == pytest.approx(5)
    assert it.told[0][0](np.float32([7, 4, 0])) == 3
    assert it.told[1][0](np.float32([7, 4, 0])).tolist() == [0, 1, 0]


def test_scipy_is_given_the_loss_in_doubles_and_the_constraints(session, monkeypatch):
    module = __import__("millrace._train.external", fromlist=["external"])
    called = {}

    class Result(dict):
        message, fun = "done", 0.0

    def minimize(function, start, **kwargs):
        called.update(kwargs, slope=function(start)[1])
        return Result(x=np.float64([1.0, 2.0]))

    monkeypatch.setattr(module, "_scipy", types.SimpleNamespace(minimize=minimize))
    var = tf.Variable([3.0, 4.0])
    it = opt.ScipyOptimizerInterface(
        tf.reduce_sum(var), inequalities=[var[0]], options={"maxiter": 3}, method="SLSQP"
    )
    session.run(tf.global_variables_initializer())
    with session.as_default():
        it.minimize()
    assert session.run(var).tolist() == [1.0, 2.0]
    assert called["slope"].dtype == np.float64 and called["options"] == {"maxiter": 3}
    assert called["method"] == "SLSQP" and called["constraints"][0]["type"] == "ineq"
    monkeypatch.setattr(module, "_scipy", None)
    with session.as_default(), pytest.raises(ImportError, match="needs SciPy"):
        it.minimize()


def test_gradients_are_clipped_together(session):
    pairs = [(tf.constant([3.0]), None), (tf.constant([4.0]), None)]
    clipped = session.run([g for g, _ in opt.clip_gradients_by_global_norm(pairs, 1.0)])
    np.testing.assert_allclose(np.concatenate(clipped), [0.6, 0.8], rtol=1e-5)
