"""Distributions of how often, how long until, and of what is certain; and the logistic one."""

import math

from millrace import _gen as gen_ops
from millrace._distributions.categories import logits_and_probs
from millrace._distributions.scalars import ScalarDistribution, drawn_above_0, parameter
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, zeros_like
from millrace._ops.random_values import random_poisson


class Logistic(ScalarDistribution):
    """Logistic distributions: their cdf is a sigmoid.

    Args:
      loc: medians. scale: positive. They broadcast.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Logistic"):
        super().__init__(dict(locals()), {"loc": loc, "scale": scale}, ["scale"])

    loc = parameter("loc", "The medians.")
    scale = parameter("scale", "How wide the distributions are.")

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        u = drawn_above_0(self.drawn_shape(n), self.dtype, seed)
        return self._quantile(u)

    def _quantile(self, p):
        return self.loc + self.scale * (gen_ops.log(p) - gen_ops.log1p(-p))

    def _log_prob(self, x):
        z = self._z(x)
        return -z - 2.0 * gen_ops.softplus(-z) - gen_ops.log(self.scale)

    def _cdf(self, x):
        return gen_ops.sigmoid(self._z(x))

    def _log_cdf(self, x):
        return -gen_ops.softplus(-self._z(x))

    def _survival_function(self, x):
        return gen_ops.sigmoid(-self._z(x))

    def _log_survival_function(self, x):
        return -gen_ops.softplus(self._z(x))

    def _entropy(self):
        return self.filled(2.0 + gen_ops.log(self.scale))

    def _mean(self):
        return self.filled(self.loc)

    def _stddev(self):
        return self.filled(self.scale * (math.pi / math.sqrt(3.0)))

    _mode = _mean


class Poisson(ScalarDistribution):
    """How often something happens that does so `rate` times on average.

    Args:
      rate: positive; or
      log_rate: its logarithm.
      interpolate_nondiscrete: accepted: log_prob of what is no whole number is that of the formula.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of rate and log_rate is given.
    """

    def __init__(
        self,
        rate=None,
        log_rate=None,
        interpolate_nondiscrete=True,
        validate_args=False,
        allow_nan_stats=True,
        name="Poisson",
    ):
        parameters = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        if rate is not None:
            super().__init__(parameters, {"rate": rate}, ["rate"], False)
        else:
            super().__init__(parameters, {"log_rate": log_rate}, (), False)

    @property
    def rate(self):
        """The average."""
        held = self._held
        return held["rate"] if "rate" in held else gen_ops.exp(held["log_rate"])

    @property
    def log_rate(self):
        """Its logarithm."""
        held = self._held
        return held["log_rate"] if "log_rate" in held else gen_ops.log(held["rate"])

    def _sample_n(self, n, seed=None):
        return random_poisson(self.rate, expand_dims(n, 0), dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        return x * self.log_rate - gen_ops.lgamma(1.0 + x) - self.rate

    def _cdf(self, x):
        x = gen_ops.floor(x) + self.filled(0)
        return gen_ops.igammac(1.0 + x, self.rate + zeros_like(x))

    def _mean(self):
        return gen_ops.identity(self.rate)

    _variance = _mean

    def _mode(self):
        return gen_ops.floor(self.rate)


class Geometric(ScalarDistribution):
    """How many trials fail before the first that succeeds.

    Args:
      logits: log odds of a success; or
      probs: its probability.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Geometric"
    ):
        parameters = dict(locals())
        self._logits, self._probs = logits_and_probs(logits, probs, several=False)
        super().__init__(parameters, {"logits": self._logits}, (), False)

    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _sample_n(self, n, seed=None):
        u = drawn_above_0(self.drawn_shape(n), self.dtype, seed)
        return gen_ops.floor(gen_ops.log(u) / gen_ops.log1p(-self.probs))

    def _log_prob(self, x):
        return gen_ops.xlog1py(x, -self.probs) + gen_ops.log(self.probs)

    def _cdf(self, x):
        trials = gen_ops.maximum(1.0 + gen_ops.floor(x), 0.0)
        return -gen_ops.expm1(trials * gen_ops.log1p(-self.probs))

    def _entropy(self):
        p = self.probs
        return -(gen_ops.log(p) + (1.0 - p) / p * gen_ops.log1p(-p))

    def _mean(self):
        return gen_ops.exp(-self.logits)

    def _variance(self):
        return self._mean() / self.probs

    def _mode(self):
        return zeros_like(self.logits)


class Deterministic(ScalarDistribution):
    """What is certain.

    Args:
      loc: the values.
      atol, rtol: by how much other values may differ to be the same: |x - loc| <= atol + rtol * |loc|.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self,
        loc,
        atol=None,
        rtol=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Deterministic",
    ):
        parameters = dict(locals())
        super().__init__(parameters, {"loc": loc})
        self._atol, self._rtol = (convert(each or 0, self.dtype) for each in (atol, rtol))

    loc = parameter("loc", "The values.")

    def _slack(self):
        return self._atol + self._rtol * gen_ops.abs(self.loc)

    def _sample_n(self, n, seed=None):
        return gen_ops.broadcast_to(self.loc, self.drawn_shape(n))

    def _prob(self, x):
        return cast(gen_ops.less_equal(gen_ops.abs(x - self.loc), self._slack()), self.dtype)

    def _cdf(self, x):
        return cast(gen_ops.greater_equal(x, self.loc - self._slack()), self.dtype)

    def _entropy(self):
        return zeros_like(self.loc)

    def _mean(self):
        return gen_ops.identity(self.loc)

    def _variance(self):
        return zeros_like(self.loc)

    _mode = _mean
