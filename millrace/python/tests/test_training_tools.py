"""Rates that decay, moving averages, clipping and global steps, beside their formulas in NumPy."""

import numpy as np
import pytest

import millrace as tf

_STEPS = [0, 3, 10, 15, 40]
_DECAYS = {
    "exponential": (
        lambda step: tf.train.exponential_decay(0.5, step, 10, 0.9),
        lambda t: 0.5 * 0.9 ** (t / 10),
    ),
    "staircase": (
        lambda step: tf.train.exponential_decay(0.5, step, 10, 0.9, staircase=True),
        lambda t: 0.5 * 0.9 ** (t // 10),
    ),
    "natural": (
        lambda step: tf.train.natural_exp_decay(0.5, step, 10, 0.9),
        lambda t: 0.5 * np.exp(-0.9 * t / 10),
    ),
    "inverse": (
        lambda step: tf.train.inverse_time_decay(0.5, step, 10, 0.9),
        lambda t: 0.5 / (1 + 0.9 * t / 10),
    ),
    "polynomial": (
        lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1, power=2.0),
        lambda t: 0.4 * (1 - min(t, 10) / 10) ** 2 + 0.1,
    ),
    "cycle": (
        lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1, cycle=True),
        lambda t: 0.4 * (1 - t / (10 * max(np.ceil(t / 10), 1))) + 0.1,
    ),
    "cosine": (
        lambda step: tf.train.cosine_decay(0.5, step, 10, alpha=0.2),
        lambda t: 0.5 * (0.8 * 0.5 * (1 + np.cos(np.pi * min(t, 10) / 10)) + 0.2),
    ),
    "piecewise": (
        lambda step: tf.train.piecewise_constant(step, [3, 15], [1.0, 0.5, 0.25]),
        lambda t: 1.0 if t <= 3 else 0.5 if t <= 15 else 0.25,
    ),
}


@pytest.mark.parametrize("name", _DECAYS)
def test_rates_fall_by_their_formulas(session, name):
    make, formula = _DECAYS[name]
    step = tf.placeholder(tf.int64, [])
    rate = make(step)
    found = [session.run(rate, {step: t}) for t in _STEPS]
    assert np.allclose(found, [formula(t) for t in _STEPS], rtol=1e-5)


def test_decays_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="global_step is required for exponential_decay"):
        tf.train.exponential_decay(0.5, None, 10, 0.9)
    x = tf.constant(1)
    with pytest.raises(ValueError, match="1 less than the length of values"):
        tf.train.piecewise_constant(x, [1], [1.0])
    with pytest.raises(ValueError, match="must have the same dtype as x"):
        tf.train.piecewise_constant(x, [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="all with the same dtype"):
        tf.train.piecewise_constant(x, [1], [1.0, 2])


def test_a_global_step_is_made_once_and_must_be_a_whole_number(session):
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert step.name == "global_step:0" and step.dtype.base_dtype == tf.int64
    assert tf.train.get_or_create_global_step() is step is tf.train.get_global_step()
    assert step in tf.global_variables() and step not in tf.trainable_variables()
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()
    session.run(step.initializer)
    assert tf.train.global_step(session, step) == 0
    with pytest.raises(TypeError, match="does not have integer type"):
        tf.train.assert_global_step(tf.constant(1.0))
    with pytest.raises(TypeError, match="is not scalar"):
        tf.train.assert_global_step(tf.constant([1]))


@pytest.mark.parametrize("use_resource", [False, True])
def test_averages_follow_variables_after_each_update(session, use_resource):
    w = tf.Variable(10.0, name="w", use_resource=use_resource)
    averages = tf.train.ExponentialMovingAverage(0.75)
    down = tf.assign_sub(w, 4.0)
    with tf.control_dependencies([down]):
        train = averages.apply([w])
    average = averages.average(w)
    assert average.name == "w/ExponentialMovingAverage:0"
    assert averages.average_name(w) == "w/ExponentialMovingAverage"
    assert tf.moving_average_variables() == [w]
    restored = averages.variables_to_restore()
    assert restored["w/ExponentialMovingAverage"] is w and "w" not in restored
    session.run(tf.global_variables_initializer())
    assert session.run(average) == 10.0
    expected = 10.0
    for value in (6.0, 2.0, -2.0):
        session.run(train)
        expected = 0.75 * expected + 0.25 * value
        assert session.run(average) == pytest.approx(expected)


def test_averages_of_tensors_begin_at_zero_and_may_be_corrected_for_that(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    plain = tf.train.ExponentialMovingAverage(0.9)
    corrected = tf.train.ExponentialMovingAverage(0.9, zero_debias=True, name="corrected")
    train = [plain.apply([x]), corrected.apply([x])]
    session.run(tf.global_variables_initializer())
    session.run(train, {x: [1.0, 2.0]})
    assert np.allclose(session.run(plain.average(x)), [0.1, 0.2])
    assert np.allclose(session.run(corrected.average(x)), [1.0, 2.0])
    session.run(train, {x: [3.0, 2.0]})
    assert np.allclose(
        session.run(corrected.average(x)), [(0.9 * 0.1 + 0.1 * 3) / (1 - 0.81), 2.0], rtol=1e-5
    )


def test_the_number_of_updates_limits_the_decay(session):
    w, number = tf.Variable(0.0), tf.Variable(0)
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=number)
    train = averages.apply([w])
    session.run(tf.global_variables_initializer())
    session.run(w.assign(1.0))
    session.run(train)
    assert session.run(averages.average(w)) == pytest.approx(0.9)  # 1 - 1/10


def test_norms_are_clipped(check, session):
    x = tf.constant([3.0, 4.0])
    check(tf.clip_by_norm(x, 1.0), np.float32([0.6, 0.8]))
    check(tf.clip_by_norm(x, 10.0), np.float32([3.0, 4.0]))
    check(
        tf.clip_by_norm([[3.0, 4.0], [0.0, 0.5]], 1.0, axes=[1]), np.float32([[0.6, 0.8], [0, 0.5]])
    )
    check(tf.clip_by_average_norm(x, 0.5), np.float32([0.6, 0.8]), rtol=1e-5)
    check(tf.global_norm([x, None, tf.constant([[12.0]])]), np.float32(13.0))
    (clipped, none, other), norm = tf.clip_by_global_norm([x, None, tf.constant([[12.0]])], 6.5)
    assert none is None
    check(clipped, np.float32([1.5, 2.0]))
    check(other, np.float32([[6.0]]))
    check(norm, np.float32(13.0))
    check(tf.clip_by_global_norm([x], 100.0)[0][0], np.float32([3.0, 4.0]))
    (broken,), _ = tf.clip_by_global_norm([tf.constant([1.0, np.inf])], 1.0)
    assert np.isnan(session.run(broken)).all()
    at_zero = tf.constant([0.0, 0.0])
    assert session.run(tf.gradients(tf.clip_by_norm(at_zero, 1.0), at_zero)[0]).tolist() == [
        1.0,
        1.0,
    ]
    with pytest.raises(TypeError, match="should be a sequence"):
        tf.global_norm(x)


def test_slices_are_clipped_as_slices(session):
    slices = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([2, 0]), tf.constant([3, 1]))
    for clipped in (
        tf.clip_by_norm(slices, 1.0),
        tf.clip_by_global_norm([slices], 1.0)[0][0],
    ):
        assert isinstance(clipped, tf.IndexedSlices)
        assert np.allclose(session.run(clipped.values), [[0.6], [0.8]])
    assert session.run(tf.clip_by_value(slices, 0.0, 3.5).values).tolist() == [[3.0], [3.5]]
