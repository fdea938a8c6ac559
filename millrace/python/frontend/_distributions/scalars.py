"""Distributions of single numbers of any size: normal, uniform, gamma and their kin."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
)
from millrace._distributions.shapes import broadcast, broadcast_tensors, dtype_of, joined
from millrace._flow.checks import assert_positive
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.arrays import expand_dims, where, zeros_like
from millrace._ops.random_values import random_normal, random_uniform
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
            parameters,
            name=scope,
        )

    @staticmethod
    def _converted(values):
        """Tensors of one type: that of the first value which has one, else float32."""
        kind = dtype_of(values.values()) or dtypes.float32
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

    def drawn_shape(self, n):
        """The shape of n samples, an int32 vector."""
        return joined(expand_dims(n, 0), self.batch_shape_tensor())

    def filled(self, value):
        """A Tensor, or a number, in the shape of the batch."""
        return convert(value, self.dtype) + gen_ops.fill(
            self.batch_shape_tensor(), convert(0, self.dtype)
        )


def parameter(key, doc):
    """A property that is a parameter."""
    return property(lambda self: self._held[key], doc=doc)


def drawn_above_0(shape, dtype, seed):
    """Numbers between 0 and 1, without 0, whose logarithm is infinite."""
    return random_uniform(shape, float(np.finfo(dtype.as_numpy_dtype).tiny), 1.0, dtype, seed)


def where_defined(is_defined, values):
    """The values; what is no number where they are not defined."""
    return where(
        is_defined, values, gen_ops.fill(gen_ops.shape(values), convert(float("nan"), values.dtype))
    )


def _log_share_of_normal(z):
    """The logarithm of the share of standard normal numbers below z, also far out, where the share itself is 0."""
    far = convert(-20.0 if z.dtype == dtypes.float64 else -10.0, z.dtype)
    zero = convert(0, z.dtype)
    # Each of the three is worked out where it holds, so that no other spoils its slope.
    low = gen_ops.minimum(z, far)
    inverse = gen_ops.reciprocal(gen_ops.square(low))
    series = zeros_like(low)
    for factor in (9.0, 7.0, 5.0, 3.0, 1.0):
        series = -factor * inverse * (1.0 + series)
    outside = -0.5 * gen_ops.square(low) - gen_ops.log(-low) - _LOG_ROOT_2PI
    outside = outside + gen_ops.log1p(series)
    middle = gen_ops.minimum(gen_ops.maximum(z, far), zero)
    inside = gen_ops.log(0.5 * gen_ops.erfc(middle * -math.sqrt(0.5)))
    above = gen_ops.log1p(-0.5 * gen_ops.erfc(gen_ops.maximum(z, zero) * math.sqrt(0.5)))
    below = where(gen_ops.less(z, far), outside, inside)
    return where(gen_ops.greater(z, zero), above, below)


class Normal(ScalarDistribution):
    """Normal distributions.

    Args:
      loc: means. scale: positive standard deviations. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        super().__init__(dict(locals()), {"loc": loc, "scale": scale}, ["scale"])
        count_more(2)  # an identity of each parameter

    loc = parameter("loc", "The means.")
    scale = parameter("scale", "The standard deviations.")

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        return (
            random_normal(self.drawn_shape(n), 0.0, 1.0, self.dtype, seed) * self.scale + self.loc
        )

    def _log_prob(self, x):
        return -0.5 * gen_ops.square(self._z(x)) - (_LOG_ROOT_2PI + gen_ops.log(self.scale))

    def _cdf(self, x):
        return 0.5 * gen_ops.erfc(self._z(x) * -math.sqrt(0.5))

    def _log_cdf(self, x):
        return _log_share_of_normal(self._z(x))

    def _survival_function(self, x):
        return 0.5 * gen_ops.erfc(self._z(x) * math.sqrt(0.5))

    def _log_survival_function(self, x):
        return _log_share_of_normal(-self._z(x))

    def _quantile(self, p):
        return gen_ops.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        return self.filled(0.5 + _LOG_ROOT_2PI + gen_ops.log(self.scale))

    def _mean(self):
        return self.filled(self.loc)

    def _stddev(self):
        return self.filled(self.scale)

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
        count_more(2)  # an identity of each parameter

    low = parameter("low", "The lower bounds.")
    high = parameter("high", "The upper bounds.")

    def range(self, name="range"):
        """high - low."""
        return gen_ops.sub(self.high, self.low, name=name)

    def _sample_n(self, n, seed=None):
        drawn = random_uniform(self.drawn_shape(n), dtype=self.dtype, seed=seed)
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

    loc = parameter("loc", "The medians.")
    scale = parameter("scale", "How fast the densities fall.")

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        # Without -1, whose logarithm is infinite.
        least = np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        drawn = random_uniform(self.drawn_shape(n), least, 1.0, self.dtype, seed)
        return self._from_uniform(drawn)

    def _from_uniform(self, u):
        return self.loc - self.scale * gen_ops.sign(u) * gen_ops.log1p(-gen_ops.abs(u))

    def _log_prob(self, x):
        return -gen_ops.abs(self._z(x)) - (math.log(2.0) + gen_ops.log(self.scale))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 - 0.5 * gen_ops.sign(z) * gen_ops.expm1(-gen_ops.abs(z))

    @staticmethod
    def _log_share(z):
        above = gen_ops.log1p(-0.5 * gen_ops.exp(-gen_ops.abs(z)))
        return where(gen_ops.less(z, 0.0), z - math.log(2.0), above)

    def _log_cdf(self, x):
        return self._log_share(self._z(x))

    def _log_survival_function(self, x):
        return self._log_share(-self._z(x))

    def _quantile(self, p):
        return self._from_uniform(2.0 * p - 1.0)

    def _entropy(self):
        return self.filled(math.log(2.0) + 1 + gen_ops.log(self.scale))

    def _mean(self):
        return self.filled(self.loc)

    def _stddev(self):
        return self.filled(math.sqrt(2.0) * self.scale)

    _mode = _mean
