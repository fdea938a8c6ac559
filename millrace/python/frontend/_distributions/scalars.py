"""Distributions of single numbers of any size: normal, uniform, gamma and their kin."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
)
from millrace._distributions.shapes import broadcast, broadcast_tensors, joined
from millrace._flow.checks import assert_positive
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arrays import expand_dims, where, zeros_like
from millrace._ops.random_values import random_gamma, random_normal, random_uniform
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class ScalarDistribution(Distribution):
    """A distribution whose events are scalars and whose parameters broadcast to its batch.

    Args:
      parameters: what the constructor was called with.
      values: the parameters, numbers or Tensors by name.
      positive: the names of those that validate_args checks.
      reparameterized: whether samples have a gradient by them.
      dtype: of events; that of the parameters if None.
    """

    def __init__(self, parameters, values, positive=(), reparameterized=True, dtype=None):
        with name_scope(parameters["name"]) as scope:
            self._held = self._converted(values)
            if parameters["validate_args"]:
                checks = [assert_positive(self._held[key]) for key in positive]
                with control_dependencies(checks):
                    self._held = {k: gen_ops.identity(v) for k, v in self._held.items()}
        super().__init__(
            dtype or next(iter(self._held.values())).dtype.base_dtype,
            FULLY_REPARAMETERIZED if reparameterized else NOT_REPARAMETERIZED,
            parameters["validate_args"],
            parameters["allow_nan_stats"],
            {key: value for key, value in parameters.items() if key != "__class__"},
            name=scope,
        )

    @staticmethod
    def _converted(values):
        """Tensors of one type: that of the first value which has one, else float32."""
        typed = next((value for value in values.values() if hasattr(value, "dtype")), None)
        kind = dtypes.float32 if typed is None else convert(typed).dtype.base_dtype
        return {
            key: convert(value, None if hasattr(value, "dtype") else kind, name=key)
            for key, value in values.items()
        }

    def _batch_shape(self):
        return broadcast(*(value.shape for value in self._held.values()))

    def _batch_shape_tensor(self):
        return broadcast_tensors(*self._held.values())

    def _event_shape(self):
        return TensorShape([])

    def _drawn_shape(self, n):
        return joined(expand_dims(n, 0), self.batch_shape_tensor())

    def _filled(self, value):
        """A Tensor, or a number, in the shape of the batch."""
        return convert(value, self.dtype) + gen_ops.fill(
            self.batch_shape_tensor(), convert(0, self.dtype)
        )


def _parameter(key, doc):
    """A property that is a parameter."""
    return property(lambda self: self._held[key], doc=doc)


class Normal(ScalarDistribution):
    """Normal distributions.

    Args:
      loc: means. scale: positive standard deviations. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        super().__init__(dict(locals()), {"loc": loc, "scale": scale}, ["scale"])

    loc = _parameter("loc", "The means.")
    scale = _parameter("scale", "The standard deviations.")

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        return (
            random_normal(self._drawn_shape(n), 0.0, 1.0, self.dtype, seed) * self.scale + self.loc
        )

    def _log_prob(self, x):
        return -0.5 * gen_ops.square(self._z(x)) - (_LOG_ROOT_2PI + gen_ops.log(self.scale))

    def _cdf(self, x):
        return 0.5 * gen_ops.erfc(self._z(x) * -math.sqrt(0.5))

    def _quantile(self, p):
        return gen_ops.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        return self._filled(0.5 + _LOG_ROOT_2PI + gen_ops.log(self.scale))

    def _mean(self):
        return self._filled(self.loc)

    def _stddev(self):
        return self._filled(self.scale)

    _mode = _mean


class Uniform(ScalarDistribution):
    """Uniform distributions over the numbers from `low` up to and without `high`.

    Args:
      low, high: bounds, which broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"
    ):
        super().__init__(dict(locals()), {"low": low, "high": high})

    low = _parameter("low", "The lower bounds.")
    high = _parameter("high", "The upper bounds.")

    def range(self, name="range"):
        """high - low."""
        return gen_ops.sub(self.high, self.low, name=name)

    def _sample_n(self, n, seed=None):
        drawn = random_uniform(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x):
        inside = gen_ops.logical_and(gen_ops.greater_equal(x, self.low), gen_ops.less(x, self.high))
        level = 1.0 / (self.range() + zeros_like(x))
        return where(inside, level, zeros_like(level))

    def _cdf(self, x):
        share = (x - self.low) / self.range()
        return gen_ops.minimum(gen_ops.maximum(share, 0.0), 1.0)

    def _quantile(self, p):
        return self.low + p * self.range()

    def _entropy(self):
        return gen_ops.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return gen_ops.square(self.range()) / 12.0


class Laplace(ScalarDistribution):
    """Laplace distributions.

    Args:
      loc: medians. scale: positive; how fast the density falls. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Laplace"):
        super().__init__(dict(locals()), {"loc": loc, "scale": scale}, ["scale"])

    loc = _parameter("loc", "The medians.")
    scale = _parameter("scale", "How fast the densities fall.")

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        # Without -1, whose logarithm is infinite.
        least = np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        drawn = random_uniform(self._drawn_shape(n), least, 1.0, self.dtype, seed)
        return self._from_uniform(drawn)

    def _from_uniform(self, u):
        return self.loc - self.scale * gen_ops.sign(u) * gen_ops.log1p(-gen_ops.abs(u))

    def _log_prob(self, x):
        return -gen_ops.abs(self._z(x)) - (math.log(2.0) + gen_ops.log(self.scale))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 - 0.5 * gen_ops.sign(z) * gen_ops.expm1(-gen_ops.abs(z))

    def _quantile(self, p):
        return self._from_uniform(2.0 * p - 1.0)

    def _entropy(self):
        return self._filled(math.log(2.0) + 1 + gen_ops.log(self.scale))

    def _mean(self):
        return self._filled(self.loc)

    def _stddev(self):
        return self._filled(math.sqrt(2.0) * self.scale)

    _mode = _mean


class Gamma(ScalarDistribution):
    """Gamma distributions: density proportional to x^(concentration - 1) exp(-x rate).

    Args:
      concentration, rate: positive; they broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"
    ):
        values = {"concentration": concentration, "rate": rate}
        parameters = {key: value for key, value in locals().items() if key != "values"}
        super().__init__(parameters, values, list(values))

    concentration = _parameter("concentration", "The exponents, plus 1.")
    rate = _parameter("rate", "How fast the densities fall.")

    def _sample_n(self, n, seed=None):
        return random_gamma(expand_dims(n, 0), self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x):
        a, b = self.concentration, self.rate
        return gen_ops.xlogy(a - 1.0, x) - b * x - (gen_ops.lgamma(a) - a * gen_ops.log(b))

    def _cdf(self, x):
        x = x + self._filled(0)
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
        nothing = gen_ops.fill(gen_ops.shape(mode), convert(float("nan"), mode.dtype))
        return where(gen_ops.greater(self.concentration + zeros_like(mode), 1.0), mode, nothing)


class Exponential(Gamma):
    """Exponential distributions: how long it takes to something that happens `rate` times a unit of time.

    Args:
      rate: positive.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        values = {"rate": rate}
        parameters = {key: value for key, value in locals().items() if key != "values"}
        ScalarDistribution.__init__(self, parameters, values, ["rate"])

    @property
    def concentration(self):
        """1."""
        return gen_ops.ones_like(self.rate)

    def _sample_n(self, n, seed=None):
        # Without 0, whose logarithm is infinite.
        tiny = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        drawn = random_uniform(self._drawn_shape(n), tiny, 1.0, self.dtype, seed)
        return -gen_ops.log(drawn) / self.rate

    def _quantile(self, p):
        return -gen_ops.log1p(-p) / self.rate

    def _mode(self):
        return zeros_like(self.rate)


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
        values = {"concentration1": concentration1, "concentration0": concentration0}
        parameters = {key: value for key, value in locals().items() if key != "values"}
        super().__init__(parameters, values, list(values))

    concentration1 = _parameter("concentration1", "What pulls events to 1.")
    concentration0 = _parameter("concentration0", "What pulls events to 0.")

    @property
    def total_concentration(self):
        """The sum of both."""
        return self.concentration1 + self.concentration0

    def _sample_n(self, n, seed=None):
        a, b = self._filled(self.concentration1), self._filled(self.concentration0)
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
        x = x + self._filled(0)
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
            gen_ops.greater(self._filled(a), 1.0), gen_ops.greater(self._filled(b), 1.0)
        )
        nothing = gen_ops.fill(gen_ops.shape(mode), convert(float("nan"), mode.dtype))
        return where(is_one, mode, nothing)


class StudentT(ScalarDistribution):
    """Student's t distributions, moved and scaled.

    Args:
      df: positive degrees of freedom. loc: medians. scale: positive. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        values = {"df": df, "loc": loc, "scale": scale}
        parameters = {key: value for key, value in locals().items() if key != "values"}
        super().__init__(parameters, values, ["df", "scale"], reparameterized=False)

    df = _parameter("df", "The degrees of freedom.")
    loc = _parameter("loc", "The medians.")
    scale = _parameter("scale", "What the standard distribution is multiplied by.")

    def _sample_n(self, n, seed=None):
        normal = random_normal(self._drawn_shape(n), 0.0, 1.0, self.dtype, seed)
        df = self._filled(self.df)
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
        z = (x - self.loc) / self.scale + self._filled(0)
        df = self.df + zeros_like(z)
        tail = 0.5 * gen_ops.betainc(0.5 * df, 0.5 + zeros_like(z), df / (z * z + df))
        return where(gen_ops.less(z, 0.0), tail, 1.0 - tail)

    def _entropy(self):
        half, after = 0.5 * self.df, 0.5 * (self.df + 1.0)
        moved = after * (gen_ops.digamma(after) - gen_ops.digamma(half))
        return self._filled(moved + self._log_norm())

    def _where_df_above(self, limit, value, otherwise):
        is_above = gen_ops.greater(self._filled(self.df), limit)
        return where(is_above, self._filled(value), self._filled(otherwise))

    def _mean(self):
        return self._where_df_above(1.0, self.loc, float("nan"))

    def _variance(self):
        spread = gen_ops.square(self.scale) * self.df / (self.df - 2.0)
        infinite = self._where_df_above(1.0, float("inf"), float("nan"))
        return self._where_df_above(2.0, spread, infinite)

    def _mode(self):
        return self._filled(self.loc)
