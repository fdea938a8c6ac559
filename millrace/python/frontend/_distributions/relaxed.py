"""Distributions near those of classes whose samples have gradients (arXiv 1611.00712)."""

from millrace import _gen as gen_ops
from millrace._distributions.categories import OfClasses, logits_and_probs
from millrace._distributions.distribution import FULLY_REPARAMETERIZED
from millrace._distributions.scalars import ScalarDistribution, drawn_above_0, parameter
from millrace._distributions.shapes import joined
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims
from millrace._ops.layers import log_softmax
from millrace._ops.reductions import reduce_sum


class RelaxedBernoulli(ScalarDistribution):
    """Numbers between 0 and 1, the nearer to these the lower the temperature is.

    Args:
      temperature: positive.
      logits: log odds of 1; or
      probs: probabilities of 1.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="RelaxedBernoulli",
    ):
        parameters = dict(locals())
        self._logits, self._probs = logits_and_probs(logits, probs, several=False)
        values = {"logits": self._logits, "temperature": temperature}
        super().__init__(parameters, values, ["temperature"])

    temperature = parameter("temperature", "How far samples are from 0 and 1.")
    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _sample_n(self, n, seed=None):
        u = drawn_above_0(self.drawn_shape(n), self.dtype, seed)
        noise = gen_ops.log(u) - gen_ops.log1p(-u)
        return gen_ops.sigmoid((self.logits + noise) / self.temperature)

    def _log_prob(self, x):
        log, other = gen_ops.log(x), gen_ops.log1p(-x)
        z = self.temperature * (log - other) - self.logits
        density = gen_ops.log(self.temperature) - z - 2.0 * gen_ops.softplus(-z)
        return density - log - other


class ExpRelaxedOneHotCategorical(OfClasses):
    """The logarithms of what RelaxedOneHotCategorical draws.

    Args and errors: as there.
    """

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        dtype=None,
        validate_args=False,
        allow_nan_stats=True,
        name="ExpRelaxedOneHotCategorical",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, several=True)
            self._temperature = convert(temperature, self._logits.dtype)
        super().__init__(parameters, self._logits, self._logits.dtype, scope, FULLY_REPARAMETERIZED)

    temperature = property(lambda self: self._temperature)
    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _by(self):
        """The temperature, for each class."""
        return (
            expand_dims(self._temperature, -1)
            if self._temperature.shape.ndims
            else (self._temperature)
        )

    def _sample_n(self, n, seed=None):
        shape = joined(
            expand_dims(n, 0), self.batch_shape_tensor(), expand_dims(self.event_size, 0)
        )
        noise = -gen_ops.log(-gen_ops.log(drawn_above_0(shape, self.dtype, seed)))
        return log_softmax((self._logits + noise) / self._by())

    def _log_prob(self, y):
        classes = cast(self.event_size, self.dtype)
        norm = gen_ops.lgamma(classes) + (classes - 1.0) * gen_ops.log(self._temperature)
        return reduce_sum(log_softmax(self._logits - y * self._by()), -1) + norm


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """Shares of classes that sum to 1, the nearer to one class the lower the temperature is.

    Args:
      temperature: positive: a number, or of the shape of the batch.
      logits: unscaled log probabilities, a Tensor of shape [..., classes]; or
      probs: probabilities of that shape.
      dtype: accepted; that of logits counts.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: unless exactly one of logits and probs is given.
    """

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        dtype=None,
        validate_args=False,
        allow_nan_stats=True,
        name="RelaxedOneHotCategorical",
    ):
        super().__init__(temperature, logits, probs, dtype, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return gen_ops.exp(super()._sample_n(n, seed))

    def _log_prob(self, x):
        logs = gen_ops.log(x)
        return super()._log_prob(logs) - reduce_sum(logs, -1)
