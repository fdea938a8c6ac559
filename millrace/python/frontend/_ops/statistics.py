"""Variances, polynomials and products that know about zeros, made of simpler functions."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.reductions import reduce_mean, reduce_sum
from millrace._values import dtypes


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The mean of the squares of the distances to the mean, over axes.

    Args:
      input_tensor: a Tensor of floating or complex numbers.
      axis: an axis or a list of axes; None for all of them.
      keepdims: True to keep the axes, with size 1.
      name: the name scope.

    Raises:
      TypeError: for integers.
    """
    with name_scope(name or "reduce_variance") as scope:
        tensor = convert(input_tensor)
        if tensor.dtype.is_integer:
            raise TypeError("Input must be either real or complex")
        distances = tensor - reduce_mean(tensor, axis, keepdims=True)
        if distances.dtype.is_complex:
            distances = magnitude(distances)
        return reduce_mean(gen_ops.square(distances), axis, keepdims=keepdims, name=scope)


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The root of `reduce_variance`."""
    with name_scope(name or "reduce_std") as scope:
        return gen_ops.sqrt(reduce_variance(input_tensor, axis, keepdims), name=scope)


def polyval(coeffs, x, name=None):
    """The polynomial with these coefficients, the highest first, at x.

    Raises:
      ValueError: if the coefficients are no list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type, found {type(coeffs)}.")
    with name_scope(name, "polyval", [x, *coeffs]) as scope:
        x = convert(x, name="x")
        total = gen_ops.zeros_like(x)
        for coefficient in coeffs:
            total = total * x + convert(coefficient, x.dtype.base_dtype)
        return gen_ops.identity(total, name=scope)


def multiply_no_nan(x, y, name=None):
    """x * y, and 0 where y is 0, even if x is infinite or not a number."""
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        x = convert(x, name="x")
        y = convert(y, x.dtype.base_dtype, "y")
        zero = convert(0, x.dtype.base_dtype)
        return gen_ops.select_v2(gen_ops.equal(y, zero), zero, gen_ops.mul(x, y), name=scope)


def reciprocal_no_nan(x, name=None):
    """1 / x, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert(x, name="x")
        return gen_ops.div_no_nan(convert(1, x.dtype.base_dtype), x, name=scope)


def lbeta(x, name=None):
    """The logarithm of the absolute value of the beta function of the last axis."""
    with name_scope(name, "lbeta", [x]) as scope:
        x = convert(x, name="x")
        ends = gen_ops.lgamma(reduce_sum(x, [-1]))
        return gen_ops.sub(reduce_sum(gen_ops.lgamma(x), [-1]), ends, name=scope)


def is_non_decreasing(x, name=None):
    """Whether no element of x, in row-major order, is less than the one before."""
    with name_scope(name, "is_non_decreasing", [x]) as scope:
        return _all_differences(gen_ops.less_equal, x, scope)


def is_strictly_increasing(x, name=None):
    """Whether each element of x, in row-major order, is greater than the one before."""
    with name_scope(name, "is_strictly_increasing", [x]) as scope:
        return _all_differences(gen_ops.less, x, scope)


def _all_differences(compare, x, scope):
    flat = gen_ops.reshape(convert(x, name="x"), [-1])
    return gen_ops.all(compare(flat[:-1], flat[1:]), [0], name=scope)


def to_complex64(x, name="ToComplex64"):
    """`x` with its elements as complex64."""
    return cast(x, dtypes.complex64, name)


def to_complex128(x, name="ToComplex128"):
    """`x` with its elements as complex128."""
    return cast(x, dtypes.complex128, name)


def to_bfloat16(x, name="ToBFloat16"):
    """`x` with its elements as bfloat16."""
    return cast(x, dtypes.bfloat16, name)
