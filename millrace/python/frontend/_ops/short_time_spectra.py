"""Spectra of short pieces of signals, and what is made of them to tell sounds apart."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast, linspace
from millrace._ops.arrays import expand_dims, pad, reshape, shape, tile
from millrace._ops.frames import frame, overlap_and_add

from millrace._ops.reductions import reduce_sum
from millrace._ops.spectra import dct, irfft, rfft
from millrace._ops.windows import hann_window
from millrace._values import dtypes


def _enclosing_power(number):
    """The smallest power of two that is no less than an int32 scalar Tensor, which is known or not."""
    known = constant_value(number)
    if known is not None:
        return constant(1 << max(0, int(known) - 1).bit_length(), dtypes.int32)
    exact = gen_ops.log(cast(number, dtypes.float64)) / constant(np.log(2.0), dtypes.float64)
    return cast(gen_ops.pow(constant(2.0, dtypes.float64), gen_ops.ceil(exact)), dtypes.int32)


def _vector(size):
    known = constant_value(size)
    return gen_ops.pack([size]) if known is None else [int(known)]


def _scalars(**given):
    made = [convert(value, dtypes.int32, name) for name, value in given.items()]
    for each in made:
        each.shape.assert_has_rank(0)
    return made


def stft(
    signals,
    frame_length,
    frame_step,
    fft_length=None,
    window_fn=hann_window,
    pad_end=False,
    name=None,
):
    """The spectrum of each frame of signals.

    Args:
      signals: a Tensor of float32 or float64, of shape [..., samples].
      frame_length, frame_step: as of `frame`.
      fft_length: how many samples are transformed; None for the next power of two from frame_length.
      window_fn: a function of (frame_length, dtype=) that gives what a frame is multiplied by; None for
        nothing.
      pad_end: as of `frame`.
      name: the name scope.

    Returns:
      a complex Tensor of shape [..., frames, fft_length / 2 + 1].
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length, step = _scalars(frame_length=frame_length, frame_step=frame_step)
        size = _enclosing_power(length) if fft_length is None else _scalars(f=fft_length)[0]
        framed = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(length, dtype=framed.dtype)
        return rfft(framed, _vector(size))


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window by which inverse_stft undoes stft.

    Args:
      frame_step: that of the frames.
      forward_window_fn: the window of stft.
      name: the name scope.

    Returns:
      a function of (frame_length, dtype), for the window_fn of inverse_stft.
    """

    def window(frame_length, dtype):
        with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            length, step = _scalars(frame_length=frame_length, frame_step=frame_step)
            forward = forward_window_fn(length, dtype=dtype)
            # How much of a sample all frames together took that it was in.
            overlaps = -gen_ops.floor_div(-length, step)
            missing = overlaps * step - length
            squares = pad(gen_ops.square(forward), convert([[0, missing]], dtypes.int32))
            taken = reduce_sum(reshape(squares, gen_ops.pack([overlaps, step])), 0, keepdims=True)
            taken = reshape(tile(taken, gen_ops.pack([overlaps, 1])), [-1])
            return forward / taken[:length]

    return window


def inverse_stft(
    stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None
):
    """The signals of which these are the spectra; with inverse_stft_window_fn those that stft was given.

    Args:
      stfts: a complex Tensor of shape [..., frames, fft_length / 2 + 1].
      frame_length, frame_step, fft_length: as stft was given them.
      window_fn: a function of (frame_length, dtype=); None for nothing.
      name: the name scope.

    Returns:
      a Tensor of shape [..., samples].
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length, step = _scalars(frame_length=frame_length, frame_step=frame_step)
        size = _enclosing_power(length) if fft_length is None else _scalars(f=fft_length)[0]
        frames = irfft(stfts, _vector(size))[..., :length]
        # A frame that is longer than its transform ends in silence.
        missing = gen_ops.maximum(0, length - size)
        known = constant_value(length), constant_value(size)
        if None in known or known[0] > known[1]:
            edges = [[0, 0]] * (frames.shape.ndims - 1) + [[0, missing]]
            frames = pad(frames, convert(edges, dtypes.int32))
        whole = None if known[0] is None else int(known[0])
        frames.set_shape([*stfts.shape.as_list()[:-1], whole])
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, step)


def _mel(hertz):
    """Where a pitch is heard: HTK's scale."""
    return 1127.0 * gen_ops.log(1.0 + hertz / 700.0)


def linear_to_mel_weight_matrix(
    num_mel_bins=20,
    num_spectrogram_bins=129,
    sample_rate=8000,
    lower_edge_hertz=125.0,
    upper_edge_hertz=3800.0,
    dtype=dtypes.float32,
    name=None,
):
    """By which a spectrogram is multiplied to have bands as wide as they are heard to be.

    Args:
      num_mel_bins: how many bands, an integer.
      num_spectrogram_bins: how many frequencies the spectrogram has, an integer.
      sample_rate: how many samples of the signal are a second, a number or scalar.
      lower_edge_hertz, upper_edge_hertz: where the lowest band begins and the highest ends.
      dtype: a type of numbers with a point.
      name: the name scope.

    Returns:
      a Tensor of shape [num_spectrogram_bins, num_mel_bins].

    Raises:
      ValueError: if a number is not positive, the lower edge not below the upper one, or this above
        half of the sample rate.
    """
    dtype = dtypes.as_dtype(dtype)
    _check_bands(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
    with name_scope(name, "linear_to_mel_weight_matrix", [sample_rate]):
        rate = cast(sample_rate, dtype)
        low, high = convert(lower_edge_hertz, dtype), convert(upper_edge_hertz, dtype)
        zero = constant(0.0, dtype)
        # The first frequency is 0, which no band has.
        hertz = linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]
        heard = expand_dims(_mel(hertz), 1)
        edges = linspace(_mel(low), _mel(high), num_mel_bins + 2)
        bands = frame(edges, 3, 1)
        begin, middle, end = (reshape(bands[:, i], [1, num_mel_bins]) for i in range(3))
        rising = (heard - begin) / (middle - begin)
        falling = (end - heard) / (end - middle)
        weights = gen_ops.maximum(zero, gen_ops.minimum(rising, falling))
        return pad(weights, [[1, 0], [0, 0]])


def _check_bands(bins, rate, low, high, dtype):
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low} >= upper_edge_hertz {high}")
    if isinstance(rate, (int, float)):
        if rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {rate}")
        if high > rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {high} for sample_rate: {rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype!r}")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Cepstral coefficients: the cosine transform of the logarithms of bands as they are heard.

    Args:
      log_mel_spectrograms: a Tensor of float32 or float64, [..., num_mel_bins].
      name: the name scope.

    Returns:
      a Tensor of the same shape, as HTK scales it.

    Raises:
      ValueError: if there are no bands.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        bands = convert(log_mel_spectrograms, name="log_mel_spectrograms")
        count = bands.shape.with_rank_at_least(1).as_list()[-1]
        if count == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {bands.shape}")
        size = shape(bands)[-1] if count is None else constant(count)
        return dct(bands, type=2) * gen_ops.rsqrt(cast(size, bands.dtype) * 2.0)


def _shifted(x, axes, name, sign):
    with name_scope(name, "fftshift" if sign > 0 else "ifftshift", [x]):
        x = convert(x, name="x")
        if axes is None:
            if x.shape.ndims is None:
                raise ValueError("without axes, the rank of what is shifted must be known")
            axes = list(range(x.shape.ndims))
        axes = [axes] if isinstance(axes, int) else axes
        halves = gen_ops.floor_div(gen_ops.gather_v2(shape(x), axes, 0), 2)
        return gen_ops.roll(x, halves * sign, axes)


def fftshift(x, axes=None, name=None):
    """What a Fourier transform gave with the frequency 0 in the middle.

    Args:
      x: a Tensor.
      axes: an axis or a list of them; None for all.
      name: the name scope.
    """
    return _shifted(x, axes, name, 1)


def ifftshift(x, axes=None, name=None):
    """What fftshift made, as it was before."""
    return _shifted(x, axes, name, -1)
