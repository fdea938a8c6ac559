"""Bijectors of each element by itself."""

import math

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.bijector import Bijector
from millrace._distributions.shapes import dtype_of
from millrace._flow.checks import assert_none_equal, assert_positive
from millrace._flow.control_flow import with_dependencies
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import zeros_like


def softplus_inverse(x, name=None):
    """y with softplus(y) = x, for positive x: log(exp(x) - 1), also where that exponential is too large or near 1."""
    with name_scope(name, "softplus_inverse", [x]):
        x = convert(x, name="x")
        return x + gen_ops.log(-gen_ops.expm1(-x))


class _Elementwise(Bijector):
    """A function of single numbers.

    Args:
      name, validate_args: as for Bijector.
      is_constant_jacobian: as for Bijector.
      **parameters: numbers or Tensors by name, of the type of the first that is a Tensor; if all are numbers, of
        that of what the function is called with.
    """

    def __init__(self, name, validate_args, is_constant_jacobian=False, **parameters):
        kind = dtype_of(parameters.values())
        with name_scope(name):
            self._held = {
                key: value if self._is_of_any_type(value, kind) else convert(value, kind, key)
                for key, value in parameters.items()
            }
        super().__init__(
            None, is_constant_jacobian, validate_args, kind, forward_min_event_ndims=0, name=name
        )

    @staticmethod
    def _is_of_any_type(value, kind):
        return value is None or kind is None and isinstance(value, (int, float))

    def _checked(self, check, *keys):
        """From now on, what is held runs after a check of it, if arguments are checked."""
        for key in keys:
            value = self._held[key]
            if not self._validate_args or value is None:
                continue
            done = check(value)
            if not isinstance(value, (int, float)):
                self._held[key] = with_dependencies([done], value)

    def _values(self, x):
        """The parameters in the type of x; None for those that are not given."""
        kind = x.dtype.base_dtype
        return [value if value is None else convert(value, kind) for value in self._held.values()]


def _parameter(key, doc):
    return property(lambda self: self._held[key], doc=doc)


def _is_not_0(value):
    value = convert(value)
    return assert_none_equal(value, zeros_like(value))


class Identity(_Elementwise):
    """y = x."""

    def __init__(self, validate_args=False, name="identity"):
        super().__init__(name, validate_args, True)

    def _forward(self, x):
        return x

    def _inverse(self, y):
        return y

    def _forward_log_det_jacobian(self, x):
        return convert(0, x.dtype.base_dtype)


class PowerTransform(_Elementwise):
    """y = (1 + power x)^(1 / power), for x above -1 / power; exp(x) if power is 0.

    Args:
      power: a number, 0 or more.
      validate_args, name: as for Bijector.

    Raises:
      ValueError: for another power.
    """

    def __init__(self, power=0.0, validate_args=False, name="power_transform"):
        known = power if isinstance(power, (int, float)) else constant_value(convert(power))
        if known is None or known < 0:
            raise ValueError(f"`power` must be a non-negative TF constant, not {power}")
        self._power = float(known)
        super().__init__(name, validate_args)

    power = property(lambda self: self._power)

    def _forward(self, x):
        if self._power == 0:
            return gen_ops.exp(x)
        # Exact for small powers, where 1 + power x has lost digits.
        return gen_ops.exp(gen_ops.log1p(x * self._power) / self._power)

    def _inverse(self, y):
        if self._power == 0:
            return gen_ops.log(y)
        return gen_ops.expm1(gen_ops.log(y) * self._power) / self._power

    def _inverse_log_det_jacobian(self, y):
        return (self._power - 1.0) * gen_ops.log(y)

    def _forward_log_det_jacobian(self, x):
        if self._power == 0:
            return gen_ops.identity(x)
        return (1.0 / self._power - 1.0) * gen_ops.log1p(x * self._power)


class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args=False, name="exp"):
        super().__init__(0.0, validate_args, name)


class AffineScalar(_Elementwise):
    """y = scale x + shift.

    Args:
      shift: a Tensor that broadcasts with x; 0 if None.
      scale: one that is nowhere 0; 1 if None.
      validate_args, name: as for Bijector.
    """

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_scalar"):
        super().__init__(name, validate_args, True, shift=shift, scale=scale)
        self._checked(_is_not_0, "scale")

    shift = _parameter("shift", "What is added; None for nothing.")
    scale = _parameter("scale", "What is multiplied by; None for 1.")

    def _forward(self, x):
        shift, scale = self._values(x)
        scaled = x if scale is None else x * scale
        return scaled if shift is None else scaled + shift

    def _inverse(self, y):
        shift, scale = self._values(y)
        moved = y if shift is None else y - shift
        return moved if scale is None else moved / scale

    def _forward_log_det_jacobian(self, x):
        scale = self._values(x)[1]
        if scale is None:
            return convert(0, x.dtype.base_dtype)
        return gen_ops.log(gen_ops.abs(scale))


class Sigmoid(_Elementwise):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args=False, name="sigmoid"):
        super().__init__(name, validate_args)

    def _forward(self, x):
        return gen_ops.sigmoid(x)

    def _inverse(self, y):
        return gen_ops.log(y) - gen_ops.log1p(-y)

    def _inverse_log_det_jacobian(self, y):
        return -gen_ops.log1p(-y) - gen_ops.log(y)

    def _forward_log_det_jacobian(self, x):
        return -gen_ops.softplus(-x) - gen_ops.softplus(x)


class Softplus(_Elementwise):
    """y = hinge_softness log(1 + exp(x / hinge_softness)).

    Args:
      hinge_softness: a Tensor that is nowhere 0; 1 if None.
      validate_args, name: as for Bijector.
    """

    def __init__(self, hinge_softness=None, validate_args=False, name="softplus"):
        super().__init__(name, validate_args, hinge_softness=hinge_softness)
        self._checked(_is_not_0, "hinge_softness")

    hinge_softness = _parameter("hinge_softness", "How round the bend is; None for 1.")

    def _by(self, x):
        (softness,) = self._values(x)
        return x if softness is None else x / softness

    def _times(self, x):
        (softness,) = self._values(x)
        return x if softness is None else x * softness

    def _forward(self, x):
        return self._times(gen_ops.softplus(self._by(x)))

    def _inverse(self, y):
        return self._times(softplus_inverse(self._by(y)))

    def _inverse_log_det_jacobian(self, y):
        return -gen_ops.log(-gen_ops.expm1(-self._by(y)))

    def _forward_log_det_jacobian(self, x):
        return -gen_ops.softplus(-self._by(x))


class Softsign(_Elementwise):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args=False, name="softsign"):
        super().__init__(name, validate_args)

    def _forward(self, x):
        return gen_ops.softsign(x)

    def _inverse(self, y):
        return y / (1.0 - gen_ops.abs(y))

    def _forward_log_det_jacobian(self, x):
        return -2.0 * gen_ops.log1p(gen_ops.abs(x))

    def _inverse_log_det_jacobian(self, y):
        return -2.0 * gen_ops.log1p(-gen_ops.abs(y))


class Square(_Elementwise):
    """y = x^2, of x that are not negative."""

    def __init__(self, validate_args=False, name="square"):
        super().__init__(name, validate_args)

    def _forward(self, x):
        return gen_ops.square(x)

    def _inverse(self, y):
        return gen_ops.sqrt(y)

    def _forward_log_det_jacobian(self, x):
        return math.log(2.0) + gen_ops.log(x)


class AbsoluteValue(_Elementwise):
    """y = |x|, which two x have: inverses are tuples (-y, y)."""

    is_injective = False

    def __init__(self, validate_args=False, name="absolute_value"):
        super().__init__(name, validate_args, True)

    def _forward(self, x):
        return gen_ops.abs(x)

    def _inverse(self, y):
        return -y, y

    def _inverse_log_det_jacobian(self, y):
        zero = convert(0, y.dtype.base_dtype)
        return zero, zero


class Gumbel(_Elementwise):
    """y = exp(-exp(-(x - loc) / scale)): the share of Gumbel distributions below x.

    Args:
      loc: modes. scale: positive. They broadcast with x.
      validate_args, name: as for Bijector.
    """

    def __init__(self, loc=0.0, scale=1.0, validate_args=False, name="gumbel"):
        super().__init__(name, validate_args, loc=loc, scale=scale)
        self._checked(assert_positive, "scale")

    loc = _parameter("loc", "The modes.")
    scale = _parameter("scale", "How wide it is.")

    def _forward(self, x):
        loc, scale = self._values(x)
        return gen_ops.exp(-gen_ops.exp(-(x - loc) / scale))

    def _inverse(self, y):
        loc, scale = self._values(y)
        return loc - scale * gen_ops.log(-gen_ops.log(y))

    def _inverse_log_det_jacobian(self, y):
        loc, scale = self._values(y)
        return gen_ops.log(scale) - gen_ops.log(-gen_ops.log(y)) - gen_ops.log(y)

    def _forward_log_det_jacobian(self, x):
        loc, scale = self._values(x)
        z = (x - loc) / scale
        return -z - gen_ops.exp(-z) - gen_ops.log(scale)


class Weibull(_Elementwise):
    """y = 1 - exp(-(x / scale)^concentration): the share of Weibull distributions below x, which is not negative.

    Args:
      scale, concentration: positive; they broadcast with x.
      validate_args, name: as for Bijector.
    """

    def __init__(self, scale=1.0, concentration=1.0, validate_args=False, name="weibull"):
        super().__init__(name, validate_args, scale=scale, concentration=concentration)
        self._checked(assert_positive, "scale", "concentration")

    scale = _parameter("scale", "How wide it is.")
    concentration = _parameter("concentration", "The exponent.")

    def _forward(self, x):
        scale, k = self._values(x)
        return -gen_ops.expm1(-gen_ops.pow(x / scale, k))

    def _inverse(self, y):
        scale, k = self._values(y)
        return scale * gen_ops.pow(-gen_ops.log1p(-y), 1.0 / k)

    def _inverse_log_det_jacobian(self, y):
        scale, k = self._values(y)
        log = gen_ops.log(-gen_ops.log1p(-y))
        moved = (1.0 / k - 1.0) * log - gen_ops.log1p(-y)
        return moved + gen_ops.log(scale / k)

    def _forward_log_det_jacobian(self, x):
        scale, k = self._values(x)
        slope = gen_ops.xlogy(k - 1.0, x) + gen_ops.log(k) - k * gen_ops.log(scale)
        return slope - gen_ops.pow(x / scale, k)


class Kumaraswamy(_Elementwise):
    """y = (1 - (1 - x)^(1 / concentration0))^(1 / concentration1), of x between 0 and 1.

    Args:
      concentration1, concentration0: positive; they broadcast with x.
      validate_args, name: as for Bijector.

    Raises:
      ValueError: without one of both.
    """

    def __init__(
        self, concentration1=None, concentration0=None, validate_args=False, name="kumaraswamy"
    ):
        values = {"concentration1": concentration1, "concentration0": concentration0}
        if concentration1 is None or concentration0 is None:
            raise ValueError("Kumaraswamy needs concentration1 and concentration0")
        super().__init__(name, validate_args, **values)
        self._checked(assert_positive, *values)

    concentration1 = _parameter("concentration1", "What pulls y to 1.")
    concentration0 = _parameter("concentration0", "What pulls y to 0.")

    def _forward(self, x):
        a, b = self._values(x)
        kept = -gen_ops.expm1(gen_ops.log1p(-x) / b)
        return gen_ops.exp(gen_ops.log(kept) / a)

    def _inverse(self, y):
        a, b = self._values(y)
        below = gen_ops.log1p(-gen_ops.pow(y, a))
        return -gen_ops.expm1(b * below)

    def _inverse_log_det_jacobian(self, y):
        a, b = self._values(y)
        below = gen_ops.xlog1py(b - 1.0, -gen_ops.pow(y, a))
        return gen_ops.log(a) + gen_ops.log(b) + gen_ops.xlogy(a - 1.0, y) + below


class SinhArcsinh(_Elementwise):
    """y = sinh((arcsinh(x) + skewness) tailweight).

    Args:
      skewness: what makes one side longer; 0 if None.
      tailweight: positive: above 1 for more that is far out; 1 if None.
      validate_args, name: as for Bijector.
    """

    def __init__(self, skewness=None, tailweight=None, validate_args=False, name="SinhArcsinh"):
        skewness = 0.0 if skewness is None else skewness
        tailweight = 1.0 if tailweight is None else tailweight
        super().__init__(name, validate_args, skewness=skewness, tailweight=tailweight)
        self._checked(assert_positive, "tailweight")

    skewness = _parameter("skewness", "What makes one side longer.")
    tailweight = _parameter("tailweight", "How much is far out.")

    def _forward(self, x):
        skewness, tailweight = self._values(x)
        return gen_ops.sinh((gen_ops.asinh(x) + skewness) * tailweight)

    def _inverse(self, y):
        skewness, tailweight = self._values(y)
        return gen_ops.sinh(gen_ops.asinh(y) / tailweight - skewness)

    @staticmethod
    def _log_cosh(x):
        # Not the logarithm of cosh, which is soon too large.
        size = gen_ops.abs(x)
        return size + gen_ops.softplus(-2.0 * size) - math.log(2.0)

    @staticmethod
    def _log_root(x):
        # log(sqrt(1 + x^2)), also where the square is too large.
        return SinhArcsinh._log_cosh(gen_ops.asinh(x))

    def _forward_log_det_jacobian(self, x):
        skewness, tailweight = self._values(x)
        at = (gen_ops.asinh(x) + skewness) * tailweight
        return self._log_cosh(at) + gen_ops.log(tailweight) - self._log_root(x)

    def _inverse_log_det_jacobian(self, y):
        skewness, tailweight = self._values(y)
        at = gen_ops.asinh(y) / tailweight - skewness
        return self._log_cosh(at) - gen_ops.log(tailweight) - self._log_root(y)
