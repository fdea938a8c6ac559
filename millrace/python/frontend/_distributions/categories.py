"""Distributions of what is counted: yes or no, one of several classes, shares of classes."""

from millrace import _gen as gen_ops
from millrace._distributions.distribution import NOT_REPARAMETERIZED, Distribution
from millrace._distributions.scalars import ScalarDistribution, where_defined
from millrace._distributions.shapes import as_vector, broadcast, joined
from millrace._flow.checks import assert_positive
from millrace._flow.functional import map_fn
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.arithmetic import argmax, cast
from millrace._ops.arrays import expand_dims, one_hot, reshape, transpose, zeros_like
from millrace._ops.cross_entropies import sigmoid_cross_entropy_with_logits
from millrace._ops.layers import log_softmax, softmax
from millrace._ops.matrices import matrix_set_diag
from millrace._ops.random_values import multinomial, random_gamma, random_uniform
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes


def logits_and_probs(logits, probs, several):
    """Both, of the one that is given. ValueError unless exactly one is."""
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if logits is not None:
        logits = convert(logits, name="logits")
        return logits, (softmax if several else gen_ops.sigmoid)(logits)
    probs = convert(probs, name="probs")
    log = gen_ops.log(probs)
    return (log if several else log - gen_ops.log1p(-probs)), probs


class Bernoulli(ScalarDistribution):
    """1 with a probability, else 0.

    Args:
      logits: log odds of 1; or
      probs: probabilities of 1.
      dtype: of events.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=dtypes.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="Bernoulli",
    ):
        parameters = dict(locals())
        self._logits, self._probs = logits_and_probs(logits, probs, several=False)
        super().__init__(parameters, {"logits": self._logits}, (), False, dtype)

    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _sample_n(self, n, seed=None):
        drawn = random_uniform(self.drawn_shape(n), dtype=self.probs.dtype, seed=seed)
        return cast(gen_ops.less(drawn, self.probs), self.dtype)

    def _log_prob(self, event):
        event = cast(event, self.logits.dtype)
        whole = zeros_like(event) + zeros_like(self.logits)
        return -sigmoid_cross_entropy_with_logits(labels=event + whole, logits=self.logits + whole)

    def _entropy(self):
        return gen_ops.softplus(self.logits) - self.logits * self.probs

    def _mean(self):
        return gen_ops.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _mode(self):
        return cast(gen_ops.greater(self.probs, 0.5), self.dtype)


class OfClasses(Distribution):
    """A distribution with a parameter of shape batch_shape + [classes].

    Args:
      parameters: what the constructor was called with.
      by_class: that parameter.
      dtype: of events.
      scope: its name scope.
      reparameterization: whether samples have a gradient by the parameter.
    """

    def __init__(self, parameters, by_class, dtype, scope, reparameterization=NOT_REPARAMETERIZED):
        self._by_class = by_class
        super().__init__(
            dtype,
            reparameterization,
            parameters["validate_args"],
            parameters["allow_nan_stats"],
            parameters,
            name=scope,
        )

    def _batch_shape(self):
        return self._by_class.shape[:-1]

    def _batch_shape_tensor(self):
        return gen_ops.shape(self._by_class)[:-1]

    def _event_shape(self):
        return self._by_class.shape[-1:]

    def _event_shape_tensor(self):
        return gen_ops.shape(self._by_class)[-1:]

    @property
    def event_size(self):
        """The number of classes, an int32 scalar."""
        return as_vector(self._by_class.shape[-1:], lambda: gen_ops.shape(self._by_class)[-1:])[0]

    def _drawn_classes(self, n, seed):
        """int64 classes of shape [n] + batch_shape, by logits."""
        logits = reshape(self._by_class, joined([-1], expand_dims(self.event_size, 0)))
        drawn = transpose(multinomial(logits, n, seed))
        return reshape(drawn, joined(expand_dims(n, 0), self.batch_shape_tensor()))


class Categorical(OfClasses):
    """One of several classes, by its number.

    Args:
      logits: unscaled log probabilities, a Tensor of shape [..., classes]; or
      probs: probabilities of that shape.
      dtype: of events.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=dtypes.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="Categorical",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, several=True)
        super().__init__(parameters, self._logits, dtype, scope)
        count_more(7)  # an identity of the parameter, and the number of classes

    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _event_shape(self):
        return []

    def _sample_n(self, n, seed=None):
        count_more(-10)  # TensorFlow draws from the logits as they are
        drawn = cast(self._drawn_classes(n, seed), self.dtype)
        count_more(-5)
        return drawn

    def _log_prob(self, k):
        k = cast(k, dtypes.int64)
        chosen = one_hot(k, self.event_size, dtype=self.logits.dtype)
        # Not 0 times an infinite logarithm: a class of probability 0 is no chosen one.
        return reduce_sum(gen_ops.mul_no_nan(log_softmax(self.logits), chosen), -1)

    def _prob(self, k):
        return gen_ops.exp(self._log_prob(k))

    def _cdf(self, k):
        # Of the classes below k: without k itself, as in TensorFlow.
        classes = gen_ops.range(0, self.event_size, 1)
        is_below = gen_ops.less(classes, expand_dims(cast(k, dtypes.int32), -1))
        return reduce_sum(cast(is_below, self.probs.dtype) * self.probs, -1)

    def _entropy(self):
        logs = log_softmax(self.logits)
        return -reduce_sum(gen_ops.mul_no_nan(logs, self.probs), -1)

    def _mode(self):
        return cast(argmax(self.logits, -1), self.dtype)


class OneHotCategorical(Categorical):
    """One of several classes, as a vector with a 1 at its place.

    Args and errors: as for Categorical.
    """

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=dtypes.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="OneHotCategorical",
    ):
        super().__init__(logits, probs, dtype, validate_args, allow_nan_stats, name)

    _event_shape = OfClasses._event_shape

    def _sample_n(self, n, seed=None):
        return one_hot(self._drawn_classes(n, seed), self.event_size, dtype=self.dtype)

    def _log_prob(self, x):
        x = cast(x, self.logits.dtype)
        return reduce_sum(gen_ops.mul_no_nan(log_softmax(self.logits), x), -1)

    _cdf = None

    def _mean(self):
        return gen_ops.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _mode(self):
        return one_hot(argmax(self.logits, -1), self.event_size, dtype=self.dtype)


class Multinomial(OfClasses):
    """How often each class occurs among so many draws.

    Args:
      total_count: the number of draws, of the shape of the batch or one that broadcasts to it; samples
        need the same one everywhere.
      logits, probs: as for Categorical.
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
        name="Multinomial",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, several=True)
            self._total_count = cast(total_count, self._logits.dtype)
        super().__init__(parameters, self._logits, self._logits.dtype, scope)

    total_count = property(lambda self: self._total_count)
    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _batch_shape(self):
        return broadcast(self._logits.shape[:-1], self._total_count.shape)

    def _batch_shape_tensor(self):
        return gen_ops.broadcast_args(
            gen_ops.shape(self._logits)[:-1], gen_ops.shape(self._total_count)
        )

    def _sample_n(self, n, seed=None):
        whole = joined(self.batch_shape_tensor(), expand_dims(self.event_size, 0))
        rows = reshape(
            self.logits + gen_ops.fill(whole, convert(0, self.dtype)), joined([-1], whole[-1:])
        )
        totals = self._total_count + gen_ops.fill(whole[:-1], convert(0, self.dtype))

        def counted(given):
            row, total = given
            drawn = multinomial(expand_dims(row, 0), n * cast(total, dtypes.int32), seed)
            codes = one_hot(reshape(drawn, [n, -1]), self.event_size, dtype=self.dtype)
            return reduce_sum(codes, 1)

        made = map_fn(counted, (rows, reshape(totals, [-1])), dtype=self.dtype)
        return reshape(transpose(made, [1, 0, 2]), joined(expand_dims(n, 0), whole))

    def _log_prob(self, counts):
        logs = gen_ops.mul_no_nan(log_softmax(self.logits) + zeros_like(counts), counts)
        ways = gen_ops.lgamma(1.0 + self._total_count)
        return reduce_sum(logs, -1) + ways - reduce_sum(gen_ops.lgamma(1.0 + counts), -1)

    def _mean(self):
        return expand_dims(self._total_count, -1) * self.probs

    def _variance(self):
        return expand_dims(self._total_count, -1) * self.probs * (1.0 - self.probs)

    def _covariance(self):
        mean = self._mean()
        outer = expand_dims(mean, -1) * expand_dims(self.probs, -2)
        return matrix_set_diag(-outer, self._variance())


class Dirichlet(OfClasses):
    """Shares of classes, which sum to 1: density proportional to the product of x^(concentration - 1).

    Args:
      concentration: positive, a Tensor of shape [..., classes].
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name="Dirichlet"):
        parameters = dict(locals())
        with name_scope(name) as scope:
            held = convert(concentration, name="concentration")
            with control_dependencies([assert_positive(held)] if validate_args else []):
                held = gen_ops.identity(held)
        super().__init__(parameters, held, held.dtype, scope)

    @property
    def concentration(self):
        """The parameter."""
        return self._by_class

    @property
    def total_concentration(self):
        """Its sum over the classes."""
        return reduce_sum(self._by_class, -1)

    def _sample_n(self, n, seed=None):
        drawn = random_gamma(expand_dims(n, 0), self._by_class, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_beta(self):
        each = reduce_sum(gen_ops.lgamma(self._by_class), -1)
        return each - gen_ops.lgamma(self.total_concentration)

    def _log_prob(self, x):
        return reduce_sum(gen_ops.xlogy(self._by_class - 1.0, x), -1) - self._log_beta()

    def _entropy(self):
        total = self.total_concentration
        classes = cast(self.event_size, self.dtype)
        each = reduce_sum((self._by_class - 1.0) * gen_ops.digamma(self._by_class), -1)
        return self._log_beta() + (total - classes) * gen_ops.digamma(total) - each

    def _mean(self):
        return self._by_class / expand_dims(self.total_concentration, -1)

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / expand_dims(1.0 + self.total_concentration, -1)

    def _covariance(self):
        mean = self._mean()
        spread = mean / expand_dims(1.0 + self.total_concentration, -1)
        return matrix_set_diag(-expand_dims(spread, -1) * expand_dims(mean, -2), self._variance())

    def _mode(self):
        total = expand_dims(self.total_concentration, -1) - cast(self.event_size, self.dtype)
        mode = (self._by_class - 1.0) / total
        return where_defined(gen_ops.greater(self._by_class, 1.0), mode)
