"""Frames of signals, windows, spectra of frames; beside TensorFlow they are in tests/interop."""

import numpy as np
import pytest

import millrace as tf

LINE = np.cos(np.arange(22) * 0.7).astype(np.float32)


def frames_of(line, length, step):
    return np.stack([line[i : i + length] for i in range(0, len(line) - length + 1, step)])


def test_frames_overlap_and_leave_out_what_is_too_short(check):
    made = tf.signal.frame(LINE, 5, 3)
    assert made.shape.as_list() == [6, 5]
    check(made, frames_of(LINE, 5, 3))
    check(tf.signal.frame(LINE, 30, 3), np.zeros([0, 30], np.float32))
    rows = tf.placeholder(tf.float32, [None, None, 2])
    across = np.stack([LINE, -LINE], 1)[None]
    expected = np.stack([frames_of(LINE, 4, 4), -frames_of(LINE, 4, 4)], 2)[None]
    check(tf.signal.frame(rows, 4, 4, axis=1), expected, {rows: across})


def test_frames_at_the_end_are_filled_up(check):
    made = tf.signal.frame([1, 2, 3, 4, 5], 3, 2, pad_end=True, pad_value=9)
    check(made, np.array([[1, 2, 3], [3, 4, 5], [5, 9, 9]], np.int32))
    assert made.shape.as_list() == [3, 3]
    with pytest.raises(ValueError, match="axis 1"):
        tf.signal.frame(LINE, 3, 2, axis=1)


def test_frames_that_overlap_add_up(check):
    check(tf.signal.overlap_and_add([[1, 1, 1], [2, 2, 2]], 2), np.array([1, 1, 3, 2, 2]))
    check(tf.signal.overlap_and_add([[1.0], [2.0]], 3), np.array([1, 0, 0, 2], np.float32))
    with pytest.raises(ValueError, match="must be an integer"):
        tf.signal.overlap_and_add([[1.0]], 1.5)


def test_windows_are_cosines(check):
    places = np.arange(8)
    check(tf.signal.hann_window(8), (0.5 - 0.5 * np.cos(np.pi / 4 * places)).astype(np.float32))
    check(tf.signal.hamming_window(9, dtype=tf.float64), np.hamming(9))
    check(tf.signal.hann_window(8, periodic=False), np.hanning(8).astype(np.float32))
    check(tf.signal.hann_window(1), np.ones(1, np.float32))
    with pytest.raises(ValueError, match="floating point"):
        tf.signal.hann_window(8, dtype=tf.int32)


def test_the_spectrum_of_each_frame(check):
    made = tf.signal.stft(LINE, 6, 2)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(6) / 6)
    expected = np.fft.rfft(frames_of(LINE, 6, 2) * window, 8).astype(np.complex64)
    assert made.shape.as_list() == list(expected.shape)
    check(tf.real(made), expected.real)
    check(tf.imag(made), expected.imag)
    length = tf.placeholder_with_default(6, [])
    check(tf.abs(tf.signal.stft(LINE, length, 2)), np.abs(expected), rtol=1e-5)


def test_a_signal_comes_back_from_its_spectra(session):
    back = tf.signal.inverse_stft(
        tf.signal.stft(LINE, 8, 2), 8, 2, window_fn=tf.signal.inverse_stft_window_fn(2)
    )
    assert back.shape.as_list() == [22]
    np.testing.assert_allclose(session.run(back)[6:-6], LINE[6:-6], atol=1e-5)


def test_bands_are_as_wide_as_they_are_heard(session):
    bands = tf.signal.linear_to_mel_weight_matrix(4, 9, 8000, 0.0, 4000.0)
    assert bands.shape.as_list() == [9, 4]
    values = session.run(bands)
    assert not values[0].any() and (values >= 0).all() and (values <= 1).all()
    peaks = values.argmax(0)
    assert (np.diff(peaks) >= 1).all() and np.diff(peaks)[-1] > np.diff(peaks)[0]
    for wrong, what in (
        ({"num_mel_bins": 0}, "positive"),
        ({"lower_edge_hertz": -1.0}, "non-negative"),
        ({"lower_edge_hertz": 5000.0}, ">="),
        ({"upper_edge_hertz": 5000.0}, "Nyquist"),
        ({"dtype": tf.int32}, "floating point"),
    ):
        with pytest.raises(ValueError, match=what):
            tf.signal.linear_to_mel_weight_matrix(**wrong)


def test_the_middle_of_a_spectrum_is_its_begin(check):
    odd = np.arange(15).reshape(3, 5)
    check(tf.signal.fftshift(odd), np.fft.fftshift(odd))
    check(tf.signal.ifftshift(odd), np.fft.ifftshift(odd))
    check(tf.signal.fftshift(odd, axes=1), np.fft.fftshift(odd, 1))
