"""Spectra of signals, as tf.signal and tf.spectral name them."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, pad, reverse, shape
from millrace._values import dtypes

_WIDTHS = {"float32": "complex64", "float64": "complex128"}


def _lengths(value, length, rank, whole):
    """fft_length as a Tensor: what is given, or what the last axes have."""
    if length is not None:
        return convert(length, dtypes.int32, "fft_length")
    sizes = value.shape.as_list()[-rank:] if value.shape.ndims is not None else [None]
    if None not in sizes:
        if not whole:
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
        return convert(sizes, dtypes.int32, "fft_length")
    sizes = shape(value)[-rank:]
    if whole:
        return sizes
    return concat([sizes[:-1], gen_ops.maximum(0, 2 * (sizes[-1:] - 1))], 0)


def _reaching(value, lengths, rank, whole):
    """The signal with zeros behind, as far as the lengths reach."""
    wanted = lengths if whole else concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
    known, sizes = constant_value(wanted), value.shape.as_list()[-rank:]
    before = [[0, 0]] * (value.shape.ndims - rank)
    if known is not None and None not in sizes:
        more = [max(0, int(each) - size) for size, each in zip(sizes, known)]
        return pad(value, before + [[0, each] for each in more]) if any(more) else value
    more = gen_ops.maximum(0, wanted - shape(value)[-rank:])
    none = gen_ops.zeros_like(more)
    last = gen_ops.transpose(gen_ops.pack([none, more]), [1, 0])
    return pad(value, concat([convert(before, dtypes.int32), last], 0) if before else last)


def _real_in(op, rank):
    def transform(input_tensor, fft_length=None, name=None):
        with name_scope(name, "rfft", [input_tensor, fft_length]) as scope:
            value = convert(input_tensor, name="input_tensor")
            lengths = _lengths(value, fft_length, rank, True)
            value = _reaching(value, lengths, rank, True)
            return op(value, lengths, Tcomplex=_WIDTHS[value.dtype.name], name=scope)

    transform.__doc__ = f"""The half that says it all of the spectrum of a real signal, along its last {rank} axes.

    Args:
      input_tensor: a Tensor of float32 or float64.
      fft_length: how much of the signal is taken along each axis, {rank} numbers; zeros stand behind one
        that is shorter. None for all of it.
      name: the name scope.
    """
    return transform


def _real_out(op, rank):
    def transform(input_tensor, fft_length=None, name=None):
        with name_scope(name, "irfft", [input_tensor, fft_length]) as scope:
            value = convert(input_tensor, name="input_tensor")
            real = value.dtype.real_dtype
            lengths = _lengths(value, fft_length, rank, False)
            value = _reaching(value, lengths, rank, False)
            return op(value, lengths, Treal=real, name=scope)

    transform.__doc__ = f"""The real signal of whose spectrum, along its last {rank} axes, the input is a half.

    Args:
      input_tensor: a Tensor of complex64 or complex128.
      fft_length: how long the signal is along each axis, {rank} numbers; None for an even length.
      name: the name scope.
    """
    return transform


rfft, rfft2d, rfft3d = (
    _real_in(op, rank + 1) for rank, op in enumerate([gen_ops.rfft, gen_ops.rfft2d, gen_ops.rfft3d])
)
irfft, irfft2d, irfft3d = (
    _real_out(op, rank + 1)
    for rank, op in enumerate([gen_ops.irfft, gen_ops.irfft2d, gen_ops.irfft3d])
)


def _known_length(x, what):
    length = x.shape.as_list()[-1] if x.shape.ndims is not None else None
    if length is None:
        raise ValueError(f"{what} needs a last axis whose size is known")
    return length


def _check_dct(type, n, axis, norm):
    if axis != -1:
        raise NotImplementedError("axis must be -1. Got: {}".format(axis))
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Types I, II and III (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError("Unknown normalization. Expected None or 'ortho', got: {}".format(norm))
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The discrete cosine transform of lines along the last axis.

    Args:
      input: a Tensor of float32 or float64.
      type: 1, 2 or 3.
      n: how much of each line is taken; zeros stand behind one that is shorter.
      axis: must be -1.
      norm: None, or "ortho" for a transform that keeps lengths.
      name: the name scope.

    Raises:
      ValueError: if the type or norm is another. NotImplementedError: for another axis.
    """
    _check_dct(type, n, axis, norm)
    with name_scope(name, "dct", [input]):
        x = convert(input, name="input")
        length = _known_length(x, "dct")
        if n is not None and n <= length:
            x, length = x[..., :n], n
        elif n is not None:
            x = pad(x, [[0, 0]] * (x.shape.ndims - 1) + [[0, n - length]])
            length = n
        real = x.dtype
        width = _WIDTHS[real.name]
        if type == 1:
            if length < 2:
                raise ValueError("DCT-I requires the dimension to be greater than one.")
            both = concat([x, reverse(x[..., 1:-1], [-1])], -1)
            return gen_ops.real(rfft(both), Tout=real)
        numpy_complex = np.complex64 if width == "complex64" else np.complex128
        places = np.arange(length)
        if type == 2:
            turns = 2.0 * np.exp(-0.5j * np.pi * places / length)
            half = rfft(x, [2 * length])[..., :length]
            made = gen_ops.real(half * convert(turns.astype(numpy_complex)), Tout=real)
            if norm == "ortho":
                scale = np.full(length, np.sqrt(0.5 / length))
                scale[0] = np.sqrt(0.25 / length)
                made = made * convert(scale.astype(real.as_numpy_dtype))
            return made
        if norm == "ortho":
            scale = np.full(length, np.sqrt(0.5 / length) * length)
            scale[0] = np.sqrt(1.0 / length) * length
            x = x * convert(scale.astype(real.as_numpy_dtype))
        turns = 2.0 * np.exp(0.5j * np.pi * places / length)
        spectrum = convert(turns.astype(numpy_complex)) * gen_ops.cast(x, DstT=width)
        return irfft(spectrum, [2 * length])[..., :length] * (length if norm is None else 1.0)


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The inverse of `dct`, whose arguments it has, but for a factor where norm is None."""
    if n is not None:
        raise NotImplementedError("idct takes whole lines: leave n out")
    _check_dct(type, n, axis, norm)
    return dct(input, type={1: 1, 2: 3, 3: 2}[type], axis=axis, norm=norm, name=name)
