"""tf.spectral beside NumPy, and gradients beside finite differences."""

import numpy as np
import pytest

import millrace as tf

_RANDOM = np.random.RandomState(5)


def _run(x):
    with tf.Session() as session:
        return session.run(x)


@pytest.mark.parametrize("length", [1, 2, 6, 7, 30, 37, 101])
def test_transforms_are_numpys(length):
    x = _RANDOM.normal(size=(3, length))
    z = x + 1j * _RANDOM.normal(size=(3, length))
    np.testing.assert_allclose(_run(tf.fft(z)), np.fft.fft(z), atol=1e-10)
    np.testing.assert_allclose(_run(tf.ifft(z)), np.fft.ifft(z), atol=1e-10)
    np.testing.assert_allclose(_run(tf.fft2d(z)), np.fft.fft2(z), atol=1e-10)
    half = np.fft.rfft(x)
    np.testing.assert_allclose(_run(tf.spectral.rfft(x)), half, atol=1e-10)
    np.testing.assert_allclose(_run(tf.spectral.irfft(half, [length])), x, atol=1e-10)


def test_signals_are_filled_up_or_cut_off():
    x = _RANDOM.normal(size=(2, 4, 6)).astype(np.float32)
    for length in (3, 6, 9):
        made = _run(tf.signal.rfft(x, [length]))
        np.testing.assert_allclose(made, np.fft.rfft(x, length), atol=1e-5)
    made = _run(tf.signal.rfft2d(x, [5, 3]))
    np.testing.assert_allclose(made, np.fft.rfft2(x, (5, 3)), atol=1e-5)


def test_a_cosine_transform_that_keeps_lengths_comes_back():
    x = _RANDOM.normal(size=(2, 8))
    there = tf.spectral.dct(x, norm="ortho")
    np.testing.assert_allclose(np.linalg.norm(_run(there)), np.linalg.norm(x))
    np.testing.assert_allclose(_run(tf.spectral.idct(there, norm="ortho")), x, atol=1e-12)
    with pytest.raises(ValueError, match="Type-I"):
        tf.spectral.dct(x, type=1, norm="ortho")


@pytest.mark.parametrize("length", [4, 5, 7])
def test_gradients_of_real_transforms_are_differences(length):
    at = _RANDOM.normal(size=5)
    x = tf.placeholder(tf.float64, [5])
    half = tf.spectral.rfft(x, [length])
    back = tf.spectral.irfft(
        half * tf.complex(tf.constant(0.5, tf.float64), tf.constant(2.0, tf.float64)), [length + 2]
    )
    total = tf.reduce_sum(tf.square(back)) + tf.reduce_sum(
        tf.imag(half) * np.arange(length // 2 + 1)
    )
    gradient = tf.gradients(total, x)[0]
    with tf.Session() as session:
        found = session.run(gradient, {x: at})
        for place in range(5):
            values = []
            for by in (1e-6, -1e-6):
                moved = at.copy()
                moved[place] += by
                values.append(session.run(total, {x: moved}))
            assert found[place] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-7)
