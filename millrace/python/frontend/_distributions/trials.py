"""Distributions of how often something happens in trials, and of how many trials it takes."""

from millrace import _gen as gen_ops
from millrace._distributions.categories import Dirichlet, Multinomial, OfClasses, logits_and_probs
from millrace._distributions.scalars import ScalarDistribution, parameter
from millrace._distributions.shapes import broadcast, joined
from millrace._flow.checks import assert_positive
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import broadcast_to, expand_dims, ones_like, where, zeros_like
from millrace._ops.matrices import matrix_set_diag
from millrace._ops.random_values import random_gamma, random_poisson
from millrace._ops.reductions import reduce_sum
from millrace._ops.shaped import log_sigmoid
from millrace._ops.statistics import lbeta


class _Trials(ScalarDistribution):
    """Trials, each of which may be a success.

    Args:
      parameters: what the constructor was called with.
      positive: the names of parameters that must be positive.
    """

    def __init__(self, parameters, positive):
        given = parameters["logits"], parameters["probs"]
        self._logits, self._probs = logits_and_probs(*given, several=False)
        total = cast(parameters["total_count"], self._logits.dtype)
        values = {"logits": self._logits, "total_count": total}
        super().__init__(parameters, values, positive, False)

    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)


class Binomial(_Trials):
    """How often something happens in total_count trials.

    Args:
      total_count: the numbers of trials, which broadcast.
      logits: log odds of a success; or
      probs: its probability.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Binomial",
    ):
        super().__init__(dict(locals()), ())

    total_count = parameter("total_count", "The numbers of trials.")

    def _sample_n(self, n, seed=None):
        both = gen_ops.pack([self.filled(self.probs), self.filled(1.0 - self.probs)], axis=-1)
        return Multinomial(self.total_count, probs=both).sample(n, seed)[..., 0]

    def _log_prob(self, counts):
        others = self.total_count - counts
        chances = gen_ops.xlogy(counts, self.probs) + gen_ops.xlog1py(others, -self.probs)
        ways = gen_ops.lgamma(1.0 + counts) + gen_ops.lgamma(1.0 + others)
        return chances + gen_ops.lgamma(1.0 + self.total_count) - ways

    def _cdf(self, counts):
        counts = gen_ops.floor(counts) + self.filled(0)
        left = self.total_count - counts
        one = ones_like(counts)
        # Beyond the ends, which are none to the integral, all is certain.
        inside = gen_ops.logical_and(gen_ops.greater_equal(counts, 0.0), gen_ops.greater(left, 0.0))
        below = gen_ops.betainc(
            where(inside, left, one), where(inside, 1.0 + counts, one), one - self.probs
        )
        return where(inside, below, cast(gen_ops.greater_equal(counts, 0.0), self.dtype))

    def _mean(self):
        return self.total_count * self.probs

    def _variance(self):
        return self._mean() * (1.0 - self.probs)

    def _mode(self):
        return gen_ops.floor((1.0 + self.total_count) * self.probs)


class NegativeBinomial(_Trials):
    """How often something happens before the total_count-th time that it does not.

    Args:
      total_count: positive numbers of failures, which broadcast.
      logits: log odds of a success; or
      probs: its probability.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="NegativeBinomial",
    ):
        super().__init__(dict(locals()), ["total_count"])

    total_count = parameter("total_count", "The numbers of failures.")

    def _sample_n(self, n, seed=None):
        total, rate = self.filled(self.total_count), self.filled(gen_ops.exp(-self.logits))
        rates = random_gamma(expand_dims(n, 0), total, rate, self.dtype, seed)
        second = None if seed is None else seed + 1
        return random_poisson(rates, [], dtype=self.dtype, seed=second)

    def _log_prob(self, x):
        total = self.total_count
        chances = total * log_sigmoid(-self.logits) + x * log_sigmoid(self.logits)
        ways = gen_ops.lgamma(1.0 + x) + gen_ops.lgamma(total)
        return chances + gen_ops.lgamma(total + x) - ways

    def _cdf(self, x):
        x = gen_ops.floor(x) + self.filled(0)
        is_counted = gen_ops.greater_equal(x, 0.0)
        at = where(is_counted, 1.0 + x, ones_like(x))
        zero = zeros_like(x)
        below = gen_ops.betainc(self.total_count + zero, at, gen_ops.sigmoid(-self.logits) + zero)
        return where(is_counted, below, zero)

    def _mean(self):
        return self.total_count * gen_ops.exp(self.logits)

    def _variance(self):
        return self._mean() / gen_ops.sigmoid(-self.logits)

    def _mode(self):
        mode = gen_ops.floor((self.total_count - 1.0) * gen_ops.exp(self.logits))
        return gen_ops.maximum(mode, 0.0)


class DirichletMultinomial(OfClasses):
    """How often each class occurs among so many draws, by shares that a Dirichlet draws first.

    Args:
      total_count: the number of draws, of the shape of the batch or one that broadcasts to it; samples need
        the same one everywhere.
      concentration: positive, a Tensor of shape [..., classes].
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self,
        total_count,
        concentration,
        validate_args=False,
        allow_nan_stats=True,
        name="DirichletMultinomial",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            held = convert(concentration, name="concentration")
            with control_dependencies([assert_positive(held)] if validate_args else []):
                held = gen_ops.identity(held)
            self._total_count = cast(total_count, held.dtype)
        super().__init__(parameters, held, held.dtype, scope)

    total_count = property(lambda self: self._total_count)
    concentration = property(lambda self: self._by_class, doc="The parameter of the Dirichlet.")

    @property
    def total_concentration(self):
        """Its sum over the classes."""
        return reduce_sum(self._by_class, -1)

    def _batch_shape(self):
        return broadcast(self._by_class.shape[:-1], self._total_count.shape)

    def _batch_shape_tensor(self):
        return gen_ops.broadcast_args(
            gen_ops.shape(self._by_class)[:-1], gen_ops.shape(self._total_count)
        )

    def _sample_n(self, n, seed=None):
        whole = joined(self.batch_shape_tensor(), expand_dims(self.event_size, 0))
        shares = Dirichlet(broadcast_to(self._by_class, whole)).sample(n, seed)
        second = None if seed is None else seed + 1
        return Multinomial(self._total_count, probs=shares).sample(seed=second)

    def _log_prob(self, counts):
        ways = gen_ops.lgamma(1.0 + self._total_count)
        ways = ways - reduce_sum(gen_ops.lgamma(1.0 + counts), -1)
        return lbeta(self._by_class + counts) - lbeta(self._by_class) + ways

    def _shares(self):
        return self._by_class / expand_dims(self.total_concentration, -1)

    def _mean(self):
        return expand_dims(self._total_count, -1) * self._shares()

    def _spread(self):
        """By how much variances are larger than one draw's."""
        total, all_classes = self._total_count, self.total_concentration
        return expand_dims(total * (total + all_classes) / (1.0 + all_classes), -1)

    def _variance(self):
        shares = self._shares()
        return self._spread() * shares * (1.0 - shares)

    def _covariance(self):
        shares = self._shares()
        outer = expand_dims(self._spread() * shares, -1) * expand_dims(shares, -2)
        return matrix_set_diag(-outer, self._variance())
