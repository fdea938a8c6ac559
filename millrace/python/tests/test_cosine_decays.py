"""Rates that fall along cosines; beside TensorFlow they are in tests/interop."""

import numpy as np
import pytest

import millrace as tf


def at(session, rate, step, steps):
    return [session.run(rate, {step: each}) for each in steps]


def test_a_rate_begins_anew_in_longer_and_lower_periods(session):
    step = tf.placeholder(tf.int64, [])
    rate = tf.train.cosine_decay_restarts(1.0, step, 4, t_mul=2.0, m_mul=0.5, alpha=0.0)
    # Periods of 4, 8 and 16 steps.
    found = at(session, rate, step, [0, 2, 4, 8, 12, 20])
    np.testing.assert_allclose(found, [1.0, 0.5, 0.5, 0.25, 0.25, 0.125], atol=1e-6)
    alike = tf.train.cosine_decay_restarts(1.0, step, 4, t_mul=1.0)
    by_tensor = tf.train.cosine_decay_restarts(1.0, step, 4, t_mul=tf.constant(1.0))
    for each in (alike, by_tensor):
        np.testing.assert_allclose(at(session, each, step, [4, 6]), [1.0, 0.5], atol=1e-6)


def test_a_rate_falls_along_a_line_and_a_wave(session):
    step = tf.placeholder(tf.int64, [])
    rate = tf.train.linear_cosine_decay(2.0, step, 10, beta=0.0)
    np.testing.assert_allclose(at(session, rate, step, [0, 5, 10, 99]), [2, 0.5, 0, 0], atol=1e-6)
    with pytest.raises(ValueError, match="global_step is required for linear_cosine_decay"):
        tf.train.linear_cosine_decay(2.0, None, 10)


def test_noise_on_a_rate_falls_too(session):
    step = tf.placeholder(tf.int64, [])
    noisy = tf.train.noisy_linear_cosine_decay(1.0, step, 1000, 1.0, variance_decay=2.0)
    draws = {each: [session.run(noisy, {step: each}) for _ in range(40)] for each in (0, 99)}
    assert np.std(draws[0]) > 0.3 and np.std(draws[99]) < 0.03
