"""Rows of rows.py for Fourier transforms of one, two, three and any number of dimensions."""

from cases import COMPLEX, Row, rows_of

REALS = ["float32", "float64"]
WIDER = {"float32": "complex64", "float64": "complex128"}
NARROWER = {wide: narrow for narrow, wide in WIDER.items()}


def shape_of(m, dims, most=5):
    """With at least `dims` dimensions, some batches of which are empty."""
    rank = dims - 1 if m.one_in(10) else int(m.rng.integers(dims, dims + 2))
    shape = list(m.shape(ranks=(rank,), most=most, least=1))
    if rank > dims and m.one_in(6):
        shape[0] = 0
    return tuple(shape)


def complex_to_complex(dims):
    return lambda m: ({"input": m.values(shape_of(m, dims))}, {})


def lengths(m, shape, dims, cut):
    """What is asked for is as much as is there, or less or more, and now and then nonsense."""
    have = [max(1, shape[i]) if i >= -len(shape) else 1 for i in range(-dims, 0)]
    if not cut:
        return m.integers(have)
    asked = [max(1, dim + int(m.rng.integers(-2, 2 if m.one_in(6) else 1))) for dim in have]
    if m.one_in(8):
        asked = m.choice([[*asked, 1], [-1] * dims, have])
    return m.integers(asked)


def from_real(dims, cut):
    def make(m):
        shape = shape_of(m, dims)
        inputs = {"input": m.values(shape), "fft_length": lengths(m, shape, dims, cut)}
        return inputs, {"Tcomplex": WIDER[m.dtype]}

    return make


def to_real(dims, cut):
    def make(m):
        shape = shape_of(m, dims)
        inside = [*shape[:-1], 2 * shape[-1] - m.choice([1, 2])] if shape else shape
        inputs = {"input": m.values(shape), "fft_length": lengths(m, inside, dims, cut)}
        return inputs, {"Treal": NARROWER[m.dtype]}

    return make


NAMES = [(dims, name) for dims, name in enumerate(["", "2D", "3D"], 1)]

# TensorFlow's gradients hold where nothing is cut or filled up.
TABLE = [
    *rows_of("FFT2D IFFT2D", COMPLEX, complex_to_complex(2), gradient=True, tolerance=4),
    *rows_of("FFT3D IFFT3D", COMPLEX, complex_to_complex(3), gradient=True, tolerance=4),
    *[Row(f"RFFT{name}", REALS, from_real(dims, False), True, 4) for dims, name in NAMES],
    *[Row(f"RFFT{name}", REALS, from_real(dims, True), False, 4) for dims, name in NAMES],
    *[Row(f"IRFFT{name}", COMPLEX, to_real(dims, False), True, 4) for dims, name in NAMES],
    *[Row(f"IRFFT{name}", COMPLEX, to_real(dims, True), False, 4) for dims, name in NAMES],
]

_GONE = "TensorFlow has no kernel for it on CPUs"

UNCOMPARED = {
    **{f"Batch{op}{name}": _GONE for op in ("FFT", "IFFT") for _, name in NAMES},
    **{op: _GONE for op in ("FFTND", "IFFTND", "RFFTND", "IRFFTND")},
}
