"""tf.contrib.integrate: differential equations beside their solutions."""

import numpy as np
import pytest

import millrace as tf

odeint = tf.contrib.integrate.odeint
odeint_fixed = tf.contrib.integrate.odeint_fixed
TIMES = np.linspace(0.0, 2.0, 9)


def test_decay_is_exponential(session):
    made = odeint(lambda y, _: -y, 1.0, [0, 1, 2])
    assert made.dtype == tf.float32 and made.shape.as_list() == [3]
    np.testing.assert_allclose(session.run(made), np.exp([0.0, -1, -2]), rtol=1e-5)


def test_solutions_are_as_near_as_is_asked_for(session):
    def func(y, t):
        return tf.cast(t, y.dtype) * y - tf.stack([y[1], -y[0]])

    y0 = np.array([1.0, 0.5])
    made = odeint(func, y0, TIMES, rtol=1e-9, atol=1e-12)
    assert made.dtype == tf.float64 and made.shape.as_list() == [9, 2]
    turned = (1 + 0.5j) * np.exp(1j * TIMES + TIMES**2 / 2)
    expected = np.stack([turned.real, turned.imag], 1)
    np.testing.assert_allclose(session.run(made), expected, rtol=1e-7)
    coarse = session.run(odeint(func, y0, TIMES, rtol=1e-3, atol=1e-6))
    assert 1e-7 < abs(coarse - expected).max() < 1e-1


@pytest.mark.parametrize("kind, clock", [("complex64", "float32"), ("complex128", "float64")])
def test_complex_values_turn(session, kind, clock):
    times = tf.constant(TIMES, clock)
    for made in (
        odeint(lambda y, _: 1j * y, tf.constant(1.0, kind), times),
        odeint_fixed(lambda y, _: 1j * y, tf.constant(1.0, kind), times, tf.constant(0.05, clock)),
    ):
        assert made.dtype == kind
        np.testing.assert_allclose(session.run(made), np.exp(1j * TIMES), rtol=1e-4)


def test_the_time_of_a_slope_counts(session):
    made = odeint(lambda _, t: 3 * t * t, tf.constant(0.0, tf.float64), TIMES)
    np.testing.assert_allclose(session.run(made), TIMES**3, atol=1e-9)


def test_steps_are_told_on_request(session):
    counted = []

    def func(y, _):
        return tf.py_func(lambda y: counted.append(1) or -y, [y], tf.float64)

    y, told = odeint(func, np.float64(1), [0.0, 1.0, 4.0], full_output=True)
    found, told = session.run([y, told])
    np.testing.assert_allclose(found, np.exp([0.0, -1, -4]), rtol=1e-5)
    ends, ratios = told["integrate_points"], told["error_ratio"]
    assert len(ends) == len(ratios) > 3 and ends[-1] >= 4
    assert told["num_func_evals"] == 6 * len(ends) + 1 == len(counted)
    assert ends[0] == 1 and ratios[0] > 1  # the first step, which was made again
    kept = ends[ratios <= 1]
    assert (np.diff(kept) > 0).all()


def test_options_shape_the_steps(session):
    def ends(**options):
        made = odeint(
            lambda y, _: -y,
            np.float64(1),
            [0.0, 4.0],
            rtol=1e-3,
            method="dopri5",
            options=options,
            full_output=True,
        )
        return session.run(made[1]["integrate_points"])

    assert ends(first_step=0.25)[0] == 0.25
    assert len(ends(safety=0.5)) > len(ends(safety=0.9))
    steady = ends(first_step=0.01, ifactor=1.5)
    np.testing.assert_allclose(np.diff(steady)[:3], [0.015, 0.0225, 0.03375])
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps exceeded"):
        ends(max_num_steps=2)
    with pytest.raises(TypeError, match="unknown"):
        ends(unknown=1)


def test_what_can_not_go_on_says_why(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be monotonic increasing"):
        session.run(odeint(lambda y, _: y, 1.0, [0, 2, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-finite values in state"):
        session.run(odeint(lambda y, _: y, float("nan"), [0, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="underflow in dt|non-finite|exceeded"):
        session.run(odeint(lambda y, _: y * y, np.float64(1), [0.0, 2.0]))  # 1 / (1 - t)


def test_arguments_that_do_not_fit_are_refused():
    for solve in (odeint, odeint_fixed):
        with pytest.raises(TypeError, match="`y0` must have a floating point or complex"):
            solve(lambda y, _: y, 1, [0, 1])
        with pytest.raises(TypeError, match="`t` must have a floating point dtype"):
            solve(lambda y, _: y, 1.0, tf.constant([0, 1]))
    with pytest.raises(ValueError, match="invalid method: 'euler'"):
        odeint(lambda y, _: y, 1.0, [0, 1], method="euler")
    with pytest.raises(ValueError, match="cannot supply `options` without specifying `method`"):
        odeint(lambda y, _: y, 1.0, [0, 1], options={"first_step": 1.0})
    with pytest.raises(ValueError, match="method not supported: dopri5"):
        odeint_fixed(lambda y, _: y, 1.0, [0, 1], method="dopri5")
    with pytest.raises(ValueError):
        odeint_fixed(lambda y, _: y, 1.0, [0, 1, 2, 3], dt=[0.1, 0.1])
    with pytest.raises(TypeError, match="`dt` must have"):
        odeint_fixed(lambda y, _: y, 1.0, [0, 1], dt=tf.constant(1))


def stepped(func, y, times, dt, change):
    """What NumPy makes of the same steps."""
    found = [y]
    for begin, end, longest in zip(times, times[1:], np.broadcast_to(dt, len(times) - 1)):
        count = int(np.ceil((end - begin) / longest))
        length = (end - begin) / count
        for number in range(count):
            y = y + change(func, y, begin + number * length, length)
        found.append(y)
    return np.array(found)


def midpoint(func, y, t, dt):
    return dt * func(y + func(y, t) * dt / 2, t + dt / 2)


def rk4(func, y, t, dt):
    a = func(y, t)
    b = func(y + dt * a / 2, t + dt / 2)
    c = func(y + dt * b / 2, t + dt / 2)
    return dt * (a + 2 * b + 2 * c + func(y + dt * c, t + dt)) / 6


@pytest.mark.parametrize("method, change", [("midpoint", midpoint), ("rk4", rk4)])
@pytest.mark.parametrize("dt", [None, 0.1, [0.5, 0.3, 0.07]])
def test_fixed_steps_are_those_that_are_told(session, method, change, dt):
    times, y0 = np.array([0.0, 0.5, 1.5, 1.6]), np.array([[1.0], [-2.0]])
    made = odeint_fixed(lambda y, t: y * t - 1, y0, times, dt=dt, method=method)
    assert made.shape.as_list() == [4, 2, 1]
    expected = stepped(
        lambda y, t: y * t - 1, y0, times, np.diff(times) if dt is None else dt, change
    )
    np.testing.assert_allclose(session.run(made), expected, rtol=1e-12)


def test_slopes_of_unknown_shape_are_those_of_what_changes(session):
    made = odeint_fixed(lambda y, _: tf.py_func(np.negative, [y], tf.float64), np.ones(2), [0, 1])
    assert made.shape.as_list() == [2, 2]
    np.testing.assert_allclose(session.run(made)[1], [0.375, 0.375])
    with pytest.raises(ValueError):
        odeint(lambda y, _: tf.zeros([3], tf.float64), np.ones(2), [0, 1])


def test_fixed_steps_want_times_that_grow(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be monotonic increasing"):
        session.run(odeint_fixed(lambda y, _: y, 1.0, [0, 2, 1]))


@pytest.mark.parametrize("method", ["midpoint", "rk4"])
def test_gradients_go_through_fixed_steps(session, method):
    rate, y0 = tf.constant(-0.7, tf.float64), tf.constant(1.5, tf.float64)
    made = odeint_fixed(lambda y, _: rate * y, y0, [0.0, 1.0, 2.0], dt=0.01, method=method)
    found = session.run(tf.gradients(made[2], [rate, y0]))
    np.testing.assert_allclose(found, [2 * 1.5 * np.exp(-1.4), np.exp(-1.4)], rtol=1e-4)
