"""Distributions of positive numbers, and of shares: Gamma, Exponential, Beta, Dirichlet."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
)
from millrace._distributions.divergence import RegisterKL
from millrace._distributions.parameters import defined, floats, positive
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import expand_dims, ones_like, zeros_like
from millrace._ops.random_values import random_gamma, random_uniform
from millrace._ops.reductions import reduce_all, reduce_sum
from millrace._ops.statistics import lbeta


class Gamma(Distribution):
    """The gamma distribution: the sum of waits, of `concentration` of them.

    Args:
      concentration: positive.
      rate: how many there are in a unit of time, positive; of the same float type, and both broadcast.
      validate_args: True to check parameters when it runs.
      allow_nan_stats: False to fail where the mode is not defined (concentration below 1).
      name: what its nodes' names begin with.
    """

    def __init__(
        self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"
    ):
        parameters = {"concentration": concentration, "rate": rate, "name": name}
        with name_scope(name, values=[concentration, rate]) as scope:
            made = floats(concentration=concentration, rate=rate)
            self.concentration, self.rate = positive(validate_args, *made)
        super().__init__(
            self.rate.dtype.base_dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.concentration, self.rate],
            scope,
        )

    def _parts(self):
        return [self.rate, self.concentration]

    def _sample_n(self, n, seed):
        return random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x):
        norm = gen_ops.lgamma(self.concentration) - self.concentration * gen_ops.log(self.rate)
        return gen_ops.xlogy(self.concentration - 1.0, x) - self.rate * x - norm

    def _cdf(self, x):
        x = self.rate * x
        whole = self.concentration + zeros_like(x)
        return gen_ops.igamma(whole, x + zeros_like(whole))

    def _entropy(self):
        c = self.concentration
        own = c + gen_ops.lgamma(c) + (1.0 - c) * gen_ops.digamma(c)
        return own - gen_ops.log(self.rate)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / gen_ops.square(self.rate)

    def _stddev(self):
        return gen_ops.sqrt(self.concentration) / self.rate

    def _mode(self):
        mode = (self.concentration - 1.0) / self.rate
        is_there = gen_ops.greater(self.whole(self.concentration), 1.0)
        return defined(is_there, mode, self, "mode not defined when any concentration <= 1")


@RegisterKL(Gamma, Gamma)
def _between_gammas(a, b, name=None):
    with name_scope(name, "kl_gamma_gamma"):
        return (
            (a.concentration - b.concentration) * gen_ops.digamma(a.concentration)
            + gen_ops.lgamma(b.concentration)
            - gen_ops.lgamma(a.concentration)
            + b.concentration * gen_ops.log(a.rate)
            - b.concentration * gen_ops.log(b.rate)
            + a.concentration * (b.rate / a.rate - 1.0)
        )


class Exponential(Gamma):
    """Waits for what happens `rate` times in a unit of time: Gamma with a concentration of 1.

    Args:
      rate: positive.
      validate_args, allow_nan_stats, name: as for Gamma.
    """

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        with name_scope(name, values=[rate]) as scope:
            (rate_of_it,) = floats(rate=rate)
            super().__init__(
                ones_like(rate_of_it), rate_of_it, validate_args, allow_nan_stats, scope
            )
        self.reparameterization_type = FULLY_REPARAMETERIZED
        self.parameters = {
            "rate": rate,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }

    def _sample_n(self, n, seed):
        # Above 0, whose logarithm would be infinite.
        least = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        drawn = random_uniform(self.shape_of_draws(n), least, 1.0, self.dtype, seed)
        return -gen_ops.log(drawn) / self.rate

    def _log_prob(self, x):
        return gen_ops.log(self.rate) - self.rate * x

    def _cdf(self, x):
        return -gen_ops.expm1(-self.rate * x)


class Beta(Distribution):
    """The distribution of a share.

    Args:
      concentration1, concentration0: how often it was taken, and was not, and one more; positive.
      validate_args: True to check parameters when it runs.
      allow_nan_stats: False to fail where the mode is not defined (one of them up to 1).
      name: what its nodes' names begin with.
    """

    def __init__(
        self,
        concentration1=None,
        concentration0=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Beta",
    ):
        parameters = {
            "concentration1": concentration1,
            "concentration0": concentration0,
            "name": name,
        }
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            made = floats(concentration1=concentration1, concentration0=concentration0)
            self.concentration1, self.concentration0 = positive(validate_args, *made)
            self.total_concentration = self.concentration1 + self.concentration0
        super().__init__(
            self.total_concentration.dtype.base_dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.concentration1, self.concentration0, self.total_concentration],
            scope,
        )

    def _parts(self):
        return [self.total_concentration]

    def _lbeta(self):
        sides = gen_ops.lgamma(self.concentration1) + gen_ops.lgamma(self.concentration0)
        return sides - gen_ops.lgamma(self.total_concentration)

    def _sample_n(self, n, seed):
        taken, left = (
            random_gamma([n], self.whole(each), dtype=self.dtype, seed=own)
            for each, own in (
                (self.concentration1 * ones_like(self.concentration0), seed),
                (self.concentration0 * ones_like(self.concentration1), _another(seed)),
            )
        )
        return taken / (taken + left)

    def _log_prob(self, x):
        left = (self.concentration0 - 1.0) * gen_ops.log1p(-x)
        return gen_ops.xlogy(self.concentration1 - 1.0, x) + left - self._lbeta()

    def _cdf(self, x):
        none = zeros_like(self.total_concentration) + zeros_like(x)
        return gen_ops.betainc(self.concentration1 + none, self.concentration0 + none, x + none)

    def _entropy(self):
        sides = (
            (each - 1.0) * gen_ops.digamma(each)
            for each in (self.concentration1, self.concentration0)
        )
        both = (self.total_concentration - 2.0) * gen_ops.digamma(self.total_concentration)
        return self._lbeta() - sum(sides) + both

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        share = self._mean()
        return share * (1.0 - share) / (1.0 + self.total_concentration)

    def _mode(self):
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        is_there = gen_ops.logical_and(
            gen_ops.greater(self.concentration1, 1.0), gen_ops.greater(self.concentration0, 1.0)
        )
        return defined(is_there, mode, self, "mode undefined when a concentration <= 1")


@RegisterKL(Beta, Beta)
def _between_betas(a, b, name=None):
    with name_scope(name, "kl_beta_beta"):
        apart = (
            (own - other) * gen_ops.digamma(own)
            for own, other in (
                (a.concentration1, b.concentration1),
                (a.concentration0, b.concentration0),
            )
        )
        both = (a.total_concentration - b.total_concentration) * gen_ops.digamma(
            a.total_concentration
        )
        norms = sum(
            sign * gen_ops.lgamma(each)
            for d, sign in ((b, 1.0), (a, -1.0))
            for each in (d.concentration1, d.concentration0)
        )
        totals = gen_ops.lgamma(a.total_concentration) - gen_ops.lgamma(b.total_concentration)
        return norms + totals + sum(apart) - both


class Dirichlet(Distribution):
    """The distribution of shares that make up a whole.

    Args:
      concentration: [..., shares], positive.
      validate_args: True to check parameters when it runs.
      allow_nan_stats: False to fail where the mode is not defined (a concentration up to 1).
      name: what its nodes' names begin with.
    """

    _event_rank = 1

    def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name="Dirichlet"):
        parameters = {"concentration": concentration, "name": name}
        with name_scope(name, values=[concentration]) as scope:
            (self.concentration,) = positive(validate_args, *floats(c=concentration))
            self.total_concentration = reduce_sum(self.concentration, -1)
        super().__init__(
            self.concentration.dtype.base_dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.concentration, self.total_concentration],
            scope,
        )

    def _parts(self):
        return [self.concentration]

    def _sample_n(self, n, seed):
        drawn = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x):
        parts = reduce_sum(gen_ops.xlogy(self.concentration - 1.0, x), -1)
        return parts - lbeta(self.concentration)

    def _entropy(self):
        count = gen_ops.cast(gen_ops.shape(self.concentration)[-1], DstT=self.dtype)
        both = (self.total_concentration - count) * gen_ops.digamma(self.total_concentration)
        sides = (self.concentration - 1.0) * gen_ops.digamma(self.concentration)
        return lbeta(self.concentration) + both - reduce_sum(sides, -1)

    def _mean(self):
        return self.concentration / expand_dims(self.total_concentration, -1)

    def _variance(self):
        share = self._mean()
        return share * (1.0 - share) / (1.0 + expand_dims(self.total_concentration, -1))

    def _mode(self):
        count = gen_ops.cast(gen_ops.shape(self.concentration)[-1], DstT=self.dtype)
        mode = (self.concentration - 1.0) / expand_dims(self.total_concentration - count, -1)
        is_there = reduce_all(gen_ops.greater(self.concentration, 1.0), -1, keepdims=True)
        everywhere = gen_ops.logical_and(is_there, gen_ops.equal(mode, mode))
        return defined(everywhere, mode, self, "mode undefined when any concentration <= 1")


@RegisterKL(Dirichlet, Dirichlet)
def _between_dirichlets(a, b, name=None):
    with name_scope(name, "kl_dirichlet_dirichlet"):
        shares = gen_ops.digamma(a.concentration)
        shares = shares - expand_dims(gen_ops.digamma(a.total_concentration), -1)
        apart = reduce_sum((a.concentration - b.concentration) * shares, -1)
        return apart - lbeta(a.concentration) + lbeta(b.concentration)


def _another(seed):
    return None if seed is None else seed + 1
