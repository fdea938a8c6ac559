"""Distributions of single numbers that come from others: one side of them, their reciprocals, quotients of them."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.gammas import Gamma
from millrace._distributions.scalars import (
    ScalarDistribution,
    drawn_above_0,
    parameter,
    where_defined,
)
from millrace._ops.arrays import expand_dims, where, zeros_like
from millrace._ops.random_values import random_gamma, random_normal


class Cauchy(ScalarDistribution):
    """Cauchy distributions, of quotients of normal numbers; they have no mean and no variance.

    Args:
      loc: medians. scale: positive. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Cauchy"):
        super().__init__(dict(locals()), {"loc": loc, "scale": scale}, ["scale"])

    loc = parameter("loc", "The medians.")
    scale = parameter("scale", "How wide the distributions are.")

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        return self._quantile(drawn_above_0(self.drawn_shape(n), self.dtype, seed))

    def _quantile(self, p):
        return self.loc + self.scale * gen_ops.tan(math.pi * (p - 0.5))

    def _log_prob(self, x):
        return (
            -gen_ops.log1p(gen_ops.square(self._z(x))) - math.log(math.pi) - gen_ops.log(self.scale)
        )

    def _cdf(self, x):
        return gen_ops.atan(self._z(x)) / math.pi + 0.5

    def _entropy(self):
        return self.filled(math.log(4 * math.pi) + gen_ops.log(self.scale))

    def _mean(self):
        return self.filled(float("nan"))

    _variance = _mean

    def _mode(self):
        return self.filled(self.loc)


class HalfNormal(ScalarDistribution):
    """The sizes of normal numbers.

    Args:
      scale: positive standard deviations of these.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, scale, validate_args=False, allow_nan_stats=True, name="HalfNormal"):
        super().__init__(dict(locals()), {"scale": scale}, ["scale"])

    scale = parameter("scale", "The standard deviations of what is on both sides.")

    def _sample_n(self, n, seed=None):
        drawn = random_normal(self.drawn_shape(n), 0.0, 1.0, self.dtype, seed)
        return gen_ops.abs(drawn * self.scale)

    def _log_prob(self, x):
        z = x / self.scale
        inside = -0.5 * gen_ops.square(z) - gen_ops.log(self.scale) + 0.5 * math.log(2 / math.pi)
        return where(gen_ops.less(z, 0.0), zeros_like(inside) - float("inf"), inside)

    def _cdf(self, x):
        return gen_ops.erf(gen_ops.maximum(x, 0.0) / self.scale * math.sqrt(0.5))

    def _quantile(self, p):
        return math.sqrt(2.0) * self.scale * gen_ops.erfinv(p)

    def _entropy(self):
        return 0.5 * math.log(math.pi / 2) + gen_ops.log(self.scale) + 0.5

    def _mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    def _variance(self):
        return gen_ops.square(self.scale) * (1 - 2 / math.pi)

    def _mode(self):
        return zeros_like(self.scale)


class Chi2(Gamma):
    """The sum of the squares of so many normal numbers.

    Args:
      df: positive: how many.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2"):
        ScalarDistribution.__init__(self, dict(locals()), {"df": df}, ["df"])

    df = parameter("df", "The degrees of freedom.")

    @property
    def concentration(self):
        """Half of them."""
        return 0.5 * self.df

    @property
    def rate(self):
        """1/2."""
        return 0.5 * gen_ops.ones_like(self.df)


class InverseGamma(ScalarDistribution):
    """Reciprocals of what Gamma draws: density proportional to x^(-concentration - 1) exp(-rate / x).

    Args:
      concentration, rate: positive; they broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self, concentration, rate, validate_args=False, allow_nan_stats=True, name="InverseGamma"
    ):
        parameters = dict(locals())
        values = {"concentration": concentration, "rate": rate}
        super().__init__(parameters, values, list(values))

    concentration = parameter("concentration", "The exponents of the reciprocals, plus 1.")
    rate = parameter("rate", "How fast the densities of the reciprocals fall.")

    def _sample_n(self, n, seed=None):
        drawn = random_gamma(expand_dims(n, 0), self.concentration, self.rate, self.dtype, seed)
        return 1.0 / drawn

    def _log_prob(self, x):
        a, b = self.concentration, self.rate
        return a * gen_ops.log(b) - gen_ops.lgamma(a) - (1.0 + a) * gen_ops.log(x) - b / x

    def _cdf(self, x):
        x = x + self.filled(0)
        return gen_ops.igammac(self.concentration + zeros_like(x), self.rate / x)

    def _entropy(self):
        a = self.concentration
        return a + gen_ops.log(self.rate) + gen_ops.lgamma(a) - (1.0 + a) * gen_ops.digamma(a)

    def _where_above(self, limit, values):
        return where_defined(
            gen_ops.greater(self.filled(self.concentration), limit), self.filled(values)
        )

    def _mean(self):
        return self._where_above(1.0, self.rate / (self.concentration - 1.0))

    def _variance(self):
        a = self.concentration
        return self._where_above(2.0, gen_ops.square(self.rate / (a - 1.0)) / (a - 2.0))

    def _mode(self):
        return self.rate / (1.0 + self.concentration)


class Kumaraswamy(ScalarDistribution):
    """Numbers from 0 to 1, near those of Beta: a share of 1 - (1 - x^concentration1)^concentration0 is below x.

    Args:
      concentration1, concentration0: positive; they broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self,
        concentration1=None,
        concentration0=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Kumaraswamy",
    ):
        parameters = dict(locals())
        values = {"concentration1": concentration1, "concentration0": concentration0}
        super().__init__(parameters, values, list(values))

    concentration1 = parameter("concentration1", "What pulls events to 1.")
    concentration0 = parameter("concentration0", "What pulls events to 0.")

    def _sample_n(self, n, seed=None):
        return self._quantile(drawn_above_0(self.drawn_shape(n), self.dtype, seed))

    def _quantile(self, p):
        kept = -gen_ops.expm1(gen_ops.log1p(-p) / self.concentration0)
        return gen_ops.pow(kept, 1.0 / self.concentration1)

    def _log_prob(self, x):
        a, b = self.concentration1, self.concentration0
        rest = gen_ops.xlog1py(b - 1.0, -gen_ops.pow(x, a))
        return gen_ops.log(a) + gen_ops.log(b) + gen_ops.xlogy(a - 1.0, x) + rest

    def _cdf(self, x):
        below = gen_ops.log1p(-gen_ops.pow(x, self.concentration1))
        return -gen_ops.expm1(self.concentration0 * below)

    def _entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = gen_ops.digamma(1.0 + b) + np.euler_gamma
        return (1.0 - 1.0 / b) + (1.0 - 1.0 / a) * harmonic - gen_ops.log(a) - gen_ops.log(b)

    def _moment(self, n):
        """The mean of x^n."""
        b, at = self.concentration0, 1.0 + n / self.concentration1
        log = gen_ops.lgamma(at) + gen_ops.lgamma(1.0 + b) - gen_ops.lgamma(at + b)
        return gen_ops.exp(log)

    def _mean(self):
        return self._moment(1)

    def _variance(self):
        return self._moment(2) - gen_ops.square(self._moment(1))

    def _mode(self):
        a, b = self.concentration1, self.concentration0
        mode = gen_ops.pow((a - 1.0) / (a * b - 1.0), 1.0 / a)
        above = gen_ops.logical_and(
            gen_ops.greater(self.filled(a), 1.0), gen_ops.greater(self.filled(b), 1.0)
        )
        return where_defined(above, mode)
