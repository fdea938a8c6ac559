"""Distributions of all numbers, or of those of an interval: Normal, Laplace, StudentT, Uniform."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from millrace._distributions.divergence import RegisterKL
from millrace._distributions.parameters import defined, floats, positive
from millrace._graph.conversion import constant
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import ones_like, where, zeros_like
from millrace._ops.random_values import random_gamma, random_normal, random_uniform

_HALF_LOG_OF_CIRCLE = 0.5 * math.log(2 * math.pi)


class _LocationScale(Distribution):
    """One that is moved by `loc` and stretched by `scale`."""

    def __init__(self, loc, scale, validate_args, allow_nan_stats, parameters, name, **others):
        with name_scope(name, values=[loc, scale]) as scope:
            names = [*others, "loc", "scale"]
            made = floats(**others, loc=loc, scale=scale)
            checked = dict(zip(names, made))
            for each in (*others, "scale"):
                (checked[each],) = positive(validate_args, checked[each])
        for each in names:
            setattr(self, each, checked[each])
        super().__init__(
            self.scale.dtype.base_dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            list(checked.values()),
            scope,
        )

    def _parts(self):
        return [self.loc, self.scale]

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _mean(self):
        return self.whole(self.loc)

    def _mode(self):
        return self.whole(self.loc)


class Normal(_LocationScale):
    """The normal distribution.

    Args:
      loc: the mean.
      scale: the standard deviation, positive; of the same float type, and both broadcast.
      validate_args: True to check the scale when it runs.
      allow_nan_stats: accepted: all statistics are defined.
      name: what its nodes' names begin with.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        parameters = {"loc": loc, "scale": scale, "name": name}
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)

    def _sample_n(self, n, seed):
        return (
            random_normal(self.shape_of_draws(n), dtype=self.dtype, seed=seed) * self.scale
            + self.loc
        )

    def _log_prob(self, x):
        return -0.5 * gen_ops.square(self._z(x)) - _HALF_LOG_OF_CIRCLE - gen_ops.log(self.scale)

    def _cdf(self, x):
        return 0.5 * gen_ops.erfc(-self._z(x) * math.sqrt(0.5))

    def _log_cdf(self, x):
        return _log_of_tail(self._z(x))

    def _survival(self, x):
        return 0.5 * gen_ops.erfc(self._z(x) * math.sqrt(0.5))

    def _log_survival(self, x):
        return _log_of_tail(-self._z(x))

    def _quantile(self, p):
        return gen_ops.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        return self.whole(0.5 + _HALF_LOG_OF_CIRCLE + gen_ops.log(self.scale))

    def _stddev(self):
        return self.whole(self.scale)


def _log_of_tail(z):
    """log(cdf) of the standard normal distribution, exact far below 0, where the cdf is 0 itself."""
    one = ones_like(z)
    near = gen_ops.maximum(z, -5.0 * one)
    below = gen_ops.minimum(z, -5.0 * one)
    # Mills' ratio as a series in 1 / z^2.
    inverse = 1.0 / gen_ops.square(below)
    series = one
    for factor in (11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = 1.0 - factor * inverse * series
    far = -0.5 * gen_ops.square(below) - gen_ops.log(-below) - _HALF_LOG_OF_CIRCLE
    exact = gen_ops.log(0.5 * gen_ops.erfc(-near * math.sqrt(0.5)))
    return where(gen_ops.less(z, -5.0 * one), far + gen_ops.log(series), exact)


@RegisterKL(Normal, Normal)
def _between_normals(a, b, name=None):
    with name_scope(name, "kl_normal_normal"):
        ratio = gen_ops.square(a.scale / b.scale)
        distance = gen_ops.square((a.loc - b.loc) / b.scale)
        return 0.5 * (distance + ratio - 1.0 - gen_ops.log(ratio))


class Laplace(_LocationScale):
    """Laplace's distribution: two exponential ones, back to back.

    Args:
      loc: the mean.
      scale: how fast it falls on both sides, positive.
      validate_args, allow_nan_stats, name: as for Normal.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Laplace"):
        parameters = {"loc": loc, "scale": scale, "name": name}
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)

    def _sample_n(self, n, seed):
        # Above -1, where the logarithm would be infinite.
        least = float(np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0)))
        drawn = random_uniform(self.shape_of_draws(n), least, 1.0, self.dtype, seed=seed)
        fall = gen_ops.sign(drawn) * gen_ops.log1p(-gen_ops.abs(drawn))
        return self.loc - self.scale * fall

    def _log_prob(self, x):
        return -gen_ops.abs(self._z(x)) - math.log(2.0) - gen_ops.log(self.scale)

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * gen_ops.sign(z) * (1.0 - gen_ops.exp(-gen_ops.abs(z)))

    def _entropy(self):
        return self.whole(math.log(2.0) + 1.0 + gen_ops.log(self.scale))

    def _stddev(self):
        return self.whole(math.sqrt(2.0) * self.scale)


class StudentT(_LocationScale):
    """Student's distribution, moved and stretched.

    Args:
      df: the degrees of freedom, positive.
      loc, scale: by which it is moved and stretched; the scale is not negative.
      validate_args: True to check parameters when it runs.
      allow_nan_stats: False to fail where the mean (df up to 1) or variance is not defined.
      name: what its nodes' names begin with.
    """

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        parameters = {"df": df, "loc": loc, "scale": scale, "name": name}
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name, df=df)

    def _parts(self):
        return [self.loc, self.scale, self.df]

    def _sample_n(self, n, seed):
        normal = random_normal(self.shape_of_draws(n), dtype=self.dtype, seed=seed)
        df = self.whole(self.df)
        other = None if seed is None else seed + 1
        square = random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=other)
        return normal * gen_ops.rsqrt(square / df) * self.scale + self.loc

    def _log_prob(self, x):
        z = self._z(x)
        norm = (
            gen_ops.log(gen_ops.abs(self.scale))
            + 0.5 * gen_ops.log(self.df)
            + 0.5 * math.log(math.pi)
            + gen_ops.lgamma(0.5 * self.df)
            - gen_ops.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * gen_ops.log1p(gen_ops.square(z) / self.df) - norm

    def _cdf(self, x):
        z = self._z(x)
        half = 0.5 * gen_ops.betainc(
            0.5 * self.df + zeros_like(z),
            0.5 * ones_like(z),
            self.df / (gen_ops.square(z) + self.df),
        )
        return where(gen_ops.less(z, zeros_like(z)), half, 1.0 - half)

    def _entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        lbeta = gen_ops.lgamma(half) + 0.5 * math.log(math.pi) - gen_ops.lgamma(more)
        own = more * (gen_ops.digamma(more) - gen_ops.digamma(half)) + 0.5 * gen_ops.log(self.df)
        return self.whole(own + lbeta + gen_ops.log(gen_ops.abs(self.scale)))

    def _mean(self):
        is_there = gen_ops.greater(self.whole(self.df), 1.0)
        return defined(is_there, self.whole(self.loc), self, "mean not defined for df <= 1")

    def _variance(self):
        df, square = self.whole(self.df), self.whole(gen_ops.square(self.scale))
        safe = where(gen_ops.greater(df, 2.0 * ones_like(df)), df - 2.0, ones_like(df))
        endless = constant(float("inf"), self.dtype) * ones_like(df)
        variance = where(gen_ops.greater(df, 2.0 * ones_like(df)), square * df / safe, endless)
        return defined(gen_ops.greater(df, 1.0), variance, self, "variance not defined for df <= 1")


class Uniform(Distribution):
    """Numbers from `low` up to `high`, all as likely.

    Args:
      low, high: of one float type; both broadcast.
      validate_args: True to check that low < high when it runs.
      allow_nan_stats: accepted: all statistics are defined.
      name: what its nodes' names begin with.
    """

    def __init__(
        self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"
    ):
        parameters = {"low": low, "high": high, "name": name}
        with name_scope(name, values=[low, high]) as scope:
            self.low, self.high = floats(low=low, high=high)
            if validate_args:
                (width,) = positive(True, self.high - self.low)
                self.high = self.low + width
        super().__init__(
            self.low.dtype.base_dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.low, self.high],
            scope,
        )

    def range(self, name="range"):
        """high - low."""
        with self._scope(name):
            return self.high - self.low

    def _parts(self):
        return [self.low, self.high]

    def _sample_n(self, n, seed):
        drawn = random_uniform(self.shape_of_draws(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x):
        low, high = self.low + zeros_like(x), self.high + zeros_like(x)
        x = x + zeros_like(low)
        is_outside = gen_ops.logical_or(gen_ops.less(x, low), gen_ops.greater_equal(x, high))
        inside = where(is_outside, zeros_like(x), ones_like(x) / (high - low))
        return where(gen_ops.is_nan(x), x, inside)

    def _cdf(self, x):
        share = (x - self.low) / self.range()
        return gen_ops.minimum(gen_ops.maximum(share, zeros_like(share)), ones_like(share))

    def _entropy(self):
        return gen_ops.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return gen_ops.square(self.range()) / 12.0

    def _stddev(self):
        return self.range() / math.sqrt(12.0)
