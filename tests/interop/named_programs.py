"""Functions of many modules beside each other, the same text for TensorFlow and for Millrace.

`python3 named_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what its functions
give. Run by test_names_beside_tensorflow.py.
"""

import numpy as np

from numeric_programs import plain
from programs import print_results


def wave(count):
    places = np.arange(count)
    return (np.sin(places * 0.7) + 0.3 * np.cos(places * 2.1)).astype(np.float32)


def with_gradient(tf, session, function, value):
    """What a function gives, and the gradient of a weighed sum of it by its argument."""
    x = tf.constant(value)
    made = function(x)
    shape = session.run(made).shape
    assert made.shape.is_compatible_with(shape)
    weights = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)
    real = tf.real(made) + tf.imag(made) if made.dtype.is_complex else made
    total = tf.reduce_sum(real * tf.cast(weights, real.dtype))
    gradient = tf.convert_to_tensor(tf.gradients(total, [x])[0])
    return [plain(each) for each in session.run([made, gradient])]


def signals(tf, session):
    signal = tf.signal
    line, pair = wave(23), wave(44).reshape(2, 22)
    results = {}
    for name, function in {
        "frame": lambda x: signal.frame(x, 5, 3),
        "frame padded": lambda x: signal.frame(x, 5, 3, pad_end=True, pad_value=2),
        "frame first axis": lambda x: signal.frame(x, 1, 1, axis=0),
        "add": lambda x: signal.overlap_and_add(tf.reshape(x, [2, 2, 11]), 4),
        "stft": lambda x: signal.stft(x, 6, 3),
        "stft padded": lambda x: signal.stft(x, 7, 2, fft_length=10, pad_end=True),
        "there and back": lambda x: signal.inverse_stft(
            signal.stft(x, 8, 4), 8, 4, window_fn=signal.inverse_stft_window_fn(4)
        ),
        "plain inverse": lambda x: signal.inverse_stft(
            signal.stft(x, 8, 3, window_fn=None), 8, 3, window_fn=None
        ),
        "longer frames": lambda x: signal.inverse_stft(signal.stft(x, 8, 3, 8), 10, 3, 8),
        "mfccs": signal.mfccs_from_log_mel_spectrograms,
        "shift": signal.fftshift,
        "shift back": lambda x: signal.ifftshift(x, axes=[1]),
    }.items():
        results[name] = with_gradient(tf, session, function, pair)
    results["odd shift"] = plain(session.run([signal.fftshift(line), signal.ifftshift(line, 0)]))
    windows = [
        window(length, periodic=periodic)
        for window in (signal.hann_window, signal.hamming_window)
        for length in (1, 4, 5, 8)
        for periodic in (True, False)
    ]
    results["windows"] = plain(session.run(windows))
    matrices = [
        signal.linear_to_mel_weight_matrix(dtype=tf.float64),
        signal.linear_to_mel_weight_matrix(5, 33, 16000, 20.0, 7000.0, tf.float64),
    ]
    results["bands"] = plain(session.run(matrices))
    return results


def decays(tf, session):
    step = tf.placeholder(tf.int64, [])
    train = tf.train
    rates = {
        "restarts": train.cosine_decay_restarts(0.1, step, 4),
        "restarts alike": train.cosine_decay_restarts(0.1, step, 4, 1.0, 0.9, 0.1),
        "restarts lower": train.cosine_decay_restarts(0.1, step, 3, 1.5, 0.5, alpha=0.2),
        "linear": train.linear_cosine_decay(0.1, step, 10),
        "linear waves": train.linear_cosine_decay(0.1, step, 10, 2.0, 0.1, 0.01),
        "noiseless": train.noisy_linear_cosine_decay(0.1, step, 10, initial_variance=0.0),
    }
    return {
        name: [plain(session.run(rate, {step: at})) for at in (0, 1, 3, 4, 7, 11, 13, 30)]
        for name, rate in rates.items()
    }


PROGRAMS = [signals, decays]

if __name__ == "__main__":
    print_results(PROGRAMS)
