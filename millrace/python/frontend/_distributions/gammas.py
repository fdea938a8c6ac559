"""Distributions made of gamma functions: of waiting times, of shares, of means of few numbers."""

import math

from millrace import _gen as gen_ops
from millrace._distributions.scalars import (
    ScalarDistribution,
    drawn_above_0,
    parameter,
    where_defined,
)
from millrace._ops.arrays import expand_dims, where, zeros_like
from millrace._ops.random_values import random_gamma, random_normal


class Gamma(ScalarDistribution):
    """Gamma distributions: density proportional to x^(concentration - 1) exp(-x rate).

    Args:
      concentration, rate: positive; they broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"
    ):
        parameters = dict(locals())
        values = {"concentration": concentration, "rate": rate}
        super().__init__(parameters, values, list(values))

    concentration = parameter("concentration", "The exponents, plus 1.")
    rate = parameter("rate", "How fast the densities fall.")

    def _sample_n(self, n, seed=None):
        return random_gamma(expand_dims(n, 0), self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x):
        a, b = self.concentration, self.rate
        return gen_ops.xlogy(a - 1.0, x) - b * x - (gen_ops.lgamma(a) - a * gen_ops.log(b))

    def _cdf(self, x):
        x = x + self.filled(0)
        return gen_ops.igamma(self.concentration + zeros_like(x), self.rate * x)

    def _entropy(self):
        a = self.concentration
        log_rate = gen_ops.log(self.rate)
        return a - log_rate + gen_ops.lgamma(a) + (1.0 - a) * gen_ops.digamma(a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / gen_ops.square(self.rate)

    def _stddev(self):
        return gen_ops.sqrt(self.concentration) / self.rate

    def _mode(self):
        mode = (self.concentration - 1.0) / self.rate
        return where_defined(gen_ops.greater(self.concentration + zeros_like(mode), 1.0), mode)


class Exponential(Gamma):
    """Exponential distributions: how long it takes to something that happens `rate` times a unit of time.

    Args:
      rate: positive.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        parameters = dict(locals())
        values = {"rate": rate}
        ScalarDistribution.__init__(self, parameters, values, ["rate"])

    @property
    def concentration(self):
        """1."""
        return gen_ops.ones_like(self.rate)

    def _sample_n(self, n, seed=None):
        return -gen_ops.log(drawn_above_0(self.drawn_shape(n), self.dtype, seed)) / self.rate

    def _quantile(self, p):
        return -gen_ops.log1p(-p) / self.rate


class Beta(ScalarDistribution):
    """Beta distributions of numbers from 0 to 1: density proportional to x^(a - 1) (1 - x)^(b - 1).

    Args:
      concentration1: a. concentration0: b. Positive; they broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self,
        concentration1=None,
        concentration0=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Beta",
    ):
        parameters = dict(locals())
        values = {
            "concentration1": concentration1,
            "concentration0": concentration0,
        }
        super().__init__(parameters, values, list(values))

    concentration1 = parameter("concentration1", "What pulls events to 1.")
    concentration0 = parameter("concentration0", "What pulls events to 0.")

    @property
    def total_concentration(self):
        """The sum of both."""
        return self.concentration1 + self.concentration0

    def _sample_n(self, n, seed=None):
        a, b = self.filled(self.concentration1), self.filled(self.concentration0)
        second = None if seed is None else seed + 1
        first = random_gamma(expand_dims(n, 0), a, dtype=self.dtype, seed=seed)
        return first / (first + random_gamma(expand_dims(n, 0), b, dtype=self.dtype, seed=second))

    def _log_beta(self):
        a, b = self.concentration1, self.concentration0
        return gen_ops.lgamma(a) + gen_ops.lgamma(b) - gen_ops.lgamma(a + b)

    def _log_prob(self, x):
        a, b = self.concentration1, self.concentration0
        return gen_ops.xlogy(a - 1.0, x) + gen_ops.xlog1py(b - 1.0, -x) - self._log_beta()

    def _cdf(self, x):
        x = x + self.filled(0)
        zero = zeros_like(x)
        return gen_ops.betainc(self.concentration1 + zero, self.concentration0 + zero, x)

    def _entropy(self):
        a, b, whole = self.concentration1, self.concentration0, self.total_concentration
        digamma = gen_ops.digamma
        each = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b) - (whole - 2.0) * digamma(whole)
        return self._log_beta() - each

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self):
        a, b = self.concentration1, self.concentration0
        mode = (a - 1.0) / (a + b - 2.0)
        is_one = gen_ops.logical_and(
            gen_ops.greater(self.filled(a), 1.0), gen_ops.greater(self.filled(b), 1.0)
        )
        return where_defined(is_one, mode)


class StudentT(ScalarDistribution):
    """Student's t distributions, moved and scaled.

    Args:
      df: positive degrees of freedom. loc: medians. scale: positive. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        parameters = dict(locals())
        values = {"df": df, "loc": loc, "scale": scale}
        super().__init__(parameters, values, ["df", "scale"], reparameterized=False)

    df = parameter("df", "The degrees of freedom.")
    loc = parameter("loc", "The medians.")
    scale = parameter("scale", "What the standard distribution is multiplied by.")

    def _sample_n(self, n, seed=None):
        normal = random_normal(self.drawn_shape(n), 0.0, 1.0, self.dtype, seed)
        df = self.filled(self.df)
        second = None if seed is None else seed + 1
        squares = random_gamma(
            expand_dims(n, 0), 0.5 * df, 0.5 * gen_ops.ones_like(df), self.dtype, second
        )
        return normal * gen_ops.rsqrt(squares / df) * self.scale + self.loc

    def _log_norm(self):
        half = 0.5 * self.df
        return (
            gen_ops.log(self.scale)
            + 0.5 * gen_ops.log(self.df)
            + 0.5 * math.log(math.pi)
            + gen_ops.lgamma(half)
            - gen_ops.lgamma(half + 0.5)
        )

    def _log_prob(self, x):
        z = (x - self.loc) / self.scale
        return -0.5 * (self.df + 1.0) * gen_ops.log1p(z * z / self.df) - self._log_norm()

    def _cdf(self, x):
        z = (x - self.loc) / self.scale + self.filled(0)
        df = self.df + zeros_like(z)
        tail = 0.5 * gen_ops.betainc(0.5 * df, 0.5 + zeros_like(z), df / (z * z + df))
        return where(gen_ops.less(z, 0.0), tail, 1.0 - tail)

    def _entropy(self):
        half, after = 0.5 * self.df, 0.5 * (self.df + 1.0)
        moved = after * (gen_ops.digamma(after) - gen_ops.digamma(half))
        return self.filled(moved + self._log_norm())

    def _where_df_above(self, limit, value, otherwise):
        is_above = gen_ops.greater(self.filled(self.df), limit)
        return where(is_above, self.filled(value), self.filled(otherwise))

    def _mean(self):
        return self._where_df_above(1.0, self.loc, float("nan"))

    def _variance(self):
        spread = gen_ops.square(self.scale) * self.df / (self.df - 2.0)
        infinite = self._where_df_above(1.0, float("inf"), float("nan"))
        return self._where_df_above(2.0, spread, infinite)

    def _mode(self):
        return self.filled(self.loc)
