"""Distributions of what is or is not, and of one out of several classes: Bernoulli, Categorical."""

from millrace import _gen as gen_ops
from millrace._distributions.distribution import NOT_REPARAMETERIZED, Distribution
from millrace._distributions.divergence import RegisterKL
from millrace._distributions.parameters import log_shares, logits_and_probs
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import argmax, cast
from millrace._ops.arrays import (
    broadcast_to,
    concat,
    expand_dims,
    reshape,
    shape,
    transpose,
    zeros_like,
)
from millrace._ops.broadcasting import broadcast_dynamic_shape
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from millrace._ops.random_values import multinomial, random_uniform
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Bernoulli(Distribution):
    """1 or 0.

    Args:
      logits: the logarithms of the odds of a 1; or
      probs: the probabilities of a 1.
      dtype: the type of events.
      validate_args: True to check that probabilities are in [0, 1] when it runs.
      allow_nan_stats: accepted: all statistics are defined.
      name: what its nodes' names begin with.

    Raises:
      ValueError: unless one of logits and probs is given.
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
        parameters = {"logits": logits, "probs": probs, "dtype": dtype, "name": name}
        with name_scope(name) as scope:
            self.logits, self.probs = logits_and_probs(logits, probs, False, validate_args)
        super().__init__(
            dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.logits, self.probs],
            scope,
        )

    def _parts(self):
        return [self.logits]

    def _sample_n(self, n, seed):
        drawn = random_uniform(self.shape_of_draws(n), dtype=self.probs.dtype, seed=seed)
        return cast(gen_ops.less(drawn, self.probs), self.dtype)

    def _log_prob(self, event):
        event = cast(event, self.logits.dtype)
        labels, logits = event + zeros_like(self.logits), self.logits + zeros_like(event)
        return -sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _entropy(self):
        missing = self.logits * (gen_ops.sigmoid(self.logits) - 1.0)
        return gen_ops.softplus(-self.logits) - missing

    def _mean(self):
        return gen_ops.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _mode(self):
        return cast(gen_ops.greater(self.probs, 0.5), self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _between_bernoullis(a, b, name=None):
    with name_scope(name, "kl_bernoulli_bernoulli"):
        taken = gen_ops.softplus(-b.logits) - gen_ops.softplus(-a.logits)
        left = gen_ops.softplus(b.logits) - gen_ops.softplus(a.logits)
        return gen_ops.sigmoid(a.logits) * taken + gen_ops.sigmoid(-a.logits) * left


class Categorical(Distribution):
    """The number of one of several classes.

    Args:
      logits: [..., classes], the logarithms of the probabilities, but for a number added; or
      probs: [..., classes], the probabilities.
      dtype: the type of events.
      validate_args: True to check that probabilities are in [0, 1] when it runs.
      allow_nan_stats: accepted: all statistics are defined.
      name: what its nodes' names begin with.

    Raises:
      ValueError: unless one of logits and probs is given.
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
        parameters = {"logits": logits, "probs": probs, "dtype": dtype, "name": name}
        with name_scope(name) as scope:
            self.logits, self.probs = logits_and_probs(logits, probs, True, validate_args)
        super().__init__(
            dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.logits, self.probs],
            scope,
        )

    def _parts(self):
        return [self.logits]

    @property
    def event_size(self):
        """How many classes there are, an int32 scalar."""
        return shape(self.logits)[-1]

    # An event is a number, and its classes are no axis of it.
    @property
    def batch_shape(self):
        known = self.logits.shape
        return TensorShape(None) if known.ndims is None else known[:-1]

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """The shape of the batch, an int32 vector."""
        return shape(self.logits)[:-1]

    def _sample_n(self, n, seed):
        rows = reshape(self.logits, gen_ops.pack([-1, self.event_size]))
        kind = dtypes.int64 if self.dtype == dtypes.int64 else dtypes.int32
        drawn = transpose(multinomial(rows, n, seed=seed, output_dtype=kind))
        return cast(reshape(drawn, concat([[n], self.batch_shape_tensor()], 0)), self.dtype)

    def _log_prob(self, event):
        logits, labels = self.logits, convert(event)
        labels = labels if labels.dtype.is_integer else cast(labels, dtypes.int32)
        if (
            not labels.shape.is_fully_defined()
            or labels.shape.as_list() != self.batch_shape.as_list()
        ):
            sizes = broadcast_dynamic_shape(shape(labels), self.batch_shape_tensor())
            labels = broadcast_to(labels, sizes)
            logits = broadcast_to(logits, concat([sizes, shape(logits)[-1:]], 0))
        return -sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _cdf(self, event):
        event = convert(event)
        places = cast(gen_ops.range(0, self.event_size, 1), event.dtype)
        # As TensorFlow has it, without the event itself.
        is_below = gen_ops.less(places, expand_dims(event, -1))
        return reduce_sum(self.probs * cast(is_below, self.probs.dtype), -1)

    def _entropy(self):
        return -reduce_sum(gen_ops.xlogy(self.probs, gen_ops.exp(log_shares(self.logits))), -1)

    def _mode(self):
        return cast(argmax(self.logits, -1), self.dtype)


@RegisterKL(Categorical, Categorical)
def _between_categoricals(a, b, name=None):
    with name_scope(name, "kl_categorical_categorical"):
        own = log_shares(a.logits)
        return reduce_sum(gen_ops.exp(own) * (own - log_shares(b.logits)), -1)
