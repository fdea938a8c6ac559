"""Complex numbers and their parts, as tf.* names them: real Tensors are their own real part."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import zeros_like
from millrace._values import dtypes

__all__ = ["abs", "angle", "complex", "conj", "imag", "real"]


def _part_type(x):
    return dtypes.float64 if x.dtype.base_dtype == dtypes.complex128 else dtypes.float32


def complex(real, imag, name=None):
    """The complex numbers with these parts.

    Args:
      real, imag: Tensors of one type, float32 or float64, which broadcast.
      name: the name scope.

    Raises:
      TypeError: for parts of another type.
    """
    with name_scope(name, "Complex") as scope:
        real = convert(real, name="real")
        imag = convert(imag, name="imag")
        kinds = (real.dtype.base_dtype, imag.dtype.base_dtype)
        made = {
            (dtypes.float32, dtypes.float32): dtypes.complex64,
            (dtypes.float64, dtypes.float64): dtypes.complex128,
        }.get(kinds)
        if made is None:
            raise TypeError(
                f"The real and imaginary parts of complex numbers are float32 or float64 both, "
                f"not {kinds[0].name} and {kinds[1].name}"
            )
        return gen_ops.complex(real, imag, Tout=made, name=scope)


def real(input, name=None):
    """The real part of each element; a real Tensor itself."""
    input = convert(input, name="input")
    if not input.dtype.is_complex:
        return input
    return gen_ops.real(input, Tout=_part_type(input), name=name)


def imag(input, name=None):
    """The imaginary part of each element; zeros for a real Tensor."""
    input = convert(input, name="input")
    if not input.dtype.is_complex:
        return zeros_like(input, name=name)
    return gen_ops.imag(input, Tout=_part_type(input), name=name)


def angle(input, name=None):
    """The angle of each element to the positive real axis, in radians."""
    input = convert(input, name="input")
    if input.dtype.is_complex:
        return gen_ops.angle(input, Tout=_part_type(input), name=name)
    zero = convert(0, input.dtype.base_dtype)
    turned = gen_ops.less(input, zero)
    half_turn = convert(3.141592653589793, input.dtype.base_dtype)
    return gen_ops.select_v2(turned, half_turn, zero, name=name)


def conj(x, name=None):
    """The complex conjugate of each element; a real Tensor itself."""
    x = convert(x, name="x")
    return gen_ops.conj(x, name=name) if x.dtype.is_complex else x


def abs(x, name=None):
    """The magnitude of each element: real numbers, also of complex ones."""
    x = convert(x, name="x")
    if x.dtype.is_complex:
        return gen_ops.complex_abs(x, Tout=_part_type(x), name=name or "Abs")
    return gen_ops.abs(x, name=name)
