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
def test_the_time_of_adam_may_be_the_global_step(session, resource):
    step = tf.train.create_global_step()
    found = _trained(
        session, opt.AdamGSOptimizer(step, RATE), [SLOPE, SLOPE], resource, global_step=step
    )

    def adam(m, v, t, g):
        m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g
        return m, v, RATE * math.sqrt(1 - B2**t) / (1 - B1**t) * m / (np.sqrt(v) + EPS)

    np.testing.assert_allclose(found, _adam([SLOPE, SLOPE], adam), rtol=1e-5)
    assert not [each for each in tf.global_variables() if "power" in each.name]


def test_lazy_adam_by_the_global_step_does_what_lazy_adam_does(session):
    step, found = tf.train.create_global_step(), []
    for number, make in enumerate(
        [lambda: opt.LazyAdamOptimizer(RATE), lambda: opt.LazyAdamGSOptimizer(step, RATE)]
    ):
        var = tf.get_variable(f"v{number}", initializer=START)
        loss = tf.reduce_sum(tf.square(tf.gather(var, [0, 2, 2])))
        train = make().minimize(loss, global_step=step if number else None)
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        found.append(session.run(var))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    np.testing.assert_array_equal(found[0][1], START[1])


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_only_regularizes_leaves_the_sums_of_adagrad_alone(session, resource, sparse):
    var = tf.get_variable("v", initializer=START, use_resource=resource)
    optimizer = opt.RegAdagradOptimizer(RATE)
    slope = tf.IndexedSlices(tf.constant(SLOPE), tf.constant([0, 1, 2]))
    slope = slope if sparse else tf.constant(SLOPE)
    with optimizer.avoid_updating_slots():
        regularized = optimizer.apply_gradients([(slope, var)])
    trained = optimizer.apply_gradients([(slope, var)])
    sums = optimizer.get_slot(var, "accumulator")
    session.run(tf.global_variables_initializer())
    session.run(regularized)
    np.testing.assert_allclose(session.run(sums), np.full([3, 2], 0.1))
    np.testing.assert_allclose(session.run(var), START - RATE * SLOPE / math.sqrt(0.1), rtol=1e-6)
    session.run(trained)
    np.testing.assert_allclose(session.run(sums), 0.1 + SLOPE**2, rtol=1e-6)


@pytest.mark.parametrize("resource", [False, True])
def test_a_gradient_of_zeros_leaves_momentum_as_it_was(session, resource):
    slope = tf.placeholder(tf.float64, [3, 2])
    whole = tf.get_variable("whole", initializer=START, use_resource=resource)
    rows = tf.get_variable("rows", initializer=START, use_resource=resource)
    optimizer = opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(1.0, 0.5))
    slices = tf.IndexedSlices(slope, tf.constant([0, 1, 2]))
    train = optimizer.apply_gradients([(slope, whole), (slices, rows)])
    session.run(tf.global_variables_initializer())
    expected, momentum = START.copy(), 0.0
    for value in (SLOPE, 0 * SLOPE, SLOPE):
        session.run(train, {slope: value})
        if value.any():
            momentum = 0.5 * momentum + value
            expected = expected - momentum
        for var in (whole, rows):
            np.testing.assert_allclose(session.run(var), expected)
    assert optimizer.get_slot_names() == ["momentum"]
    with pytest.raises(TypeError, match="instance of tf.train.Optimizer"):
        opt.MultitaskOptimizerWrapper(object())


@pytest.mark.parametrize("resource", [False, True])
def test_variables_are_kept_below_a_norm(session, resource):
    whole = tf.get_variable("whole", initializer=START, use_resource=resource)
    rows = tf.get_variable("rows", initializer=START, use_resource=resource)
    free = tf.get_variable("free", initializer=START, use_resource=resource)
    optimizer = opt.VariableClippingOptimizer(
        tf.train.GradientDescentOptimizer(1.0), {whole: [0], rows: [1]}, 2.0
    )
    slices = tf.IndexedSlices(tf.constant([[0.0, 1.0]] * 2, tf.float64), tf.constant([2, 2]))
    train = optimizer.apply_gradients(
        [(tf.zeros([3, 2], tf.float64), whole), (slices, rows), (tf.constant(SLOPE), free)]
    )
    session.run(tf.global_variables_initializer())
    session.run(train)
    found = session.run([whole, rows, free])
    np.testing.assert_allclose(found[0], 2 * START / np.linalg.norm(START, axis=0), rtol=1e-6)
    changed = START.copy()
    changed[2] = np.array([5.0, 4.0]) * 2 / math.hypot(5, 4)
    np.testing.assert_allclose(found[1], changed, rtol=1e-6)
    np.testing.assert_allclose(found[2], START - SLOPE)


@pytest.mark.parametrize("resource", [False, True])
def test_gradients_are_dropped_when_the_step_has_gone_on(session, resource):
    step = tf.train.create_global_step()
    var = tf.get_variable("v", initializer=10.0, use_resource=resource)
    steps_of_others = tf.placeholder(tf.int64, [])
    slope = tf.placeholder(tf.float32, [])

    def meanwhile(began):
        with tf.control_dependencies([began]):
            return tf.assign_add(step, steps_of_others)

    class Slow(tf.train.GradientDescentOptimizer):
        def compute_gradients(self, loss, *args, **kwargs):
            # The others make their steps between this worker's beginning and its gradient.
            (pair,) = super().compute_gradients(loss, *args, **kwargs)
            with tf.control_dependencies([meanwhile(loss)]):
                return [(tf.identity(pair[0]), pair[1])]

    optimizer = opt.DropStaleGradientOptimizer(Slow(1.0), staleness=2)
    train = optimizer.minimize(var * slope, global_step=step)
    assert [each.op.inputs[0].op.name for each in tf.get_collection("summaries")]
    session.run(tf.global_variables_initializer())
    assert session.run(train, {slope: 1.0, steps_of_others: 2}) == 0
    assert session.run([var, step]) == [9.0, 3]
    assert session.run(train, {slope: 1.0, steps_of_others: 3}) == 1
    assert session.run([var, step]) == [9.0, 6]
    with pytest.raises(ValueError, match="needs global_step="):
        optimizer.apply_gradients([(tf.constant(1.0), var)])


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
    made, norm = opt.clip_gradients_by_global_norm([*pairs, (None, None)], 1.0)
    assert made[2] == (None, None)
    clipped, before = session.run([[g for g, _ in made[:2]], norm])
    np.testing.assert_allclose(np.concatenate(clipped), [0.6, 0.8], rtol=1e-5)
    assert before == 5.0
