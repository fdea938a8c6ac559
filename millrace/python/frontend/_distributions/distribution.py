"""Distribution: what all distributions of chance have in common."""

import contextlib
import functools

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.divergence import kl_divergence
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, reshape, shape, zeros_like
from millrace._ops.broadcasting import broadcast_dynamic_shape, broadcast_static_shape
from millrace._ops.reductions import reduce_prod
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class ReparameterizationType:
    """Whether gradients go through samples to the parameters; there are two."""

    def __init__(self, rep_type):
        self._rep_type = rep_type

    def __repr__(self):
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """A batch of distributions of one kind: of numbers, or of events of several numbers each.

    A subclass defines `_parts`, `_sample_n` and those of `_log_prob`, `_prob`, `_cdf`, `_mean` and
    so on that it has; public methods open name scopes, convert arguments and combine these.

    Args:
      dtype: the type of its events.
      reparameterization_type: whether gradients go through samples.
      validate_args: whether parameters are checked when it runs.
      allow_nan_stats: whether a statistic that is not defined is nan; an error otherwise.
      parameters: {name: value} of what it was made with.
      graph_parents: the Tensors that it reads.
      name: what its nodes' names begin with.
    """

    def __init__(
        self,
        dtype,
        reparameterization_type,
        validate_args,
        allow_nan_stats,
        parameters=None,
        graph_parents=None,
        name=None,
    ):
        self.dtype = dtypes.as_dtype(dtype)
        self.reparameterization_type = reparameterization_type
        self.validate_args = validate_args
        self.allow_nan_stats = allow_nan_stats
        self.parameters = dict(
            parameters or {}, validate_args=validate_args, allow_nan_stats=allow_nan_stats
        )
        self._graph_parents = list(graph_parents or [])
        self.name = name or type(self).__name__ + "/"

    def copy(self, **override_parameters_kwargs):
        """One of the same kind with some other parameters."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    def __repr__(self):
        return (
            f"<tf.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )

    # ---- Shapes ----------------------------------------------------------------------------------

    _event_rank = 0  # how many of the parameters' last axes are those of an event

    def _parts(self):
        """The parameters, whose shapes, but for the event's axes, broadcast to that of the batch."""
        raise NotImplementedError

    def _event_sizes(self):
        """The sizes of an event as the first parameter has them."""
        part = self._parts()[0]
        return part.shape[part.shape.ndims - self._event_rank :]

    @property
    def batch_shape(self):
        """The TensorShape of the batch."""
        shapes = [each.shape for each in self._parts()]
        if any(each.ndims is None for each in shapes):
            return TensorShape(None)
        shapes = [each[: each.ndims - self._event_rank] for each in shapes]
        return functools.reduce(broadcast_static_shape, shapes)

    @property
    def event_shape(self):
        """The TensorShape of an event."""
        return self._event_sizes() if self._event_rank else TensorShape([])

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """The shape of the batch, an int32 vector."""
        with self._scope(name):
            known = self.batch_shape
            if known.is_fully_defined():
                return convert(known.as_list(), dtypes.int32)
            shapes = [shape(each) for each in self._parts()]
            if self._event_rank:
                shapes = [each[: -self._event_rank] for each in shapes]
            return functools.reduce(broadcast_dynamic_shape, shapes)

    def event_shape_tensor(self, name="event_shape_tensor"):
        """The shape of an event, an int32 vector."""
        with self._scope(name):
            if not self._event_rank:
                return convert([], dtypes.int32)
            return shape(self._parts()[0])[-self._event_rank :]

    def is_scalar_event(self, name="is_scalar_event"):
        """Whether an event is one number: a bool scalar."""
        with self._scope(name):
            return convert(self._event_rank == 0)

    def is_scalar_batch(self, name="is_scalar_batch"):
        """Whether it is a batch of one: a bool scalar."""
        with self._scope(name):
            return gen_ops.equal(gen_ops.size(self.batch_shape_tensor()), 0)

    def whole(self, value):
        """A value made of some parameters, in the shape of all."""
        for each in self._parts():
            value = value + zeros_like(each)
        return value

    def shape_of_draws(self, n):
        """[n] + batch_shape + event_shape."""
        return concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)

    @contextlib.contextmanager
    def _scope(self, name, values=()):
        with name_scope(self.name), name_scope(name, values=list(values)) as scope:
            yield scope

    # ---- Draws -----------------------------------------------------------------------------------

    def _sample_n(self, n, seed):
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Draws.

        Args:
          sample_shape: the shape of the draws: a number, a list or an integer vector.
          seed: a seed.
          name: the name scope.

        Returns:
          a Tensor of shape sample_shape + batch_shape + event_shape.
        """
        with self._scope(name, [sample_shape]):
            sizes = convert(sample_shape, dtypes.int32, "sample_shape")
            known = constant_value(sizes)
            sizes = reshape(sizes, [-1])
            known = None if known is None else np.reshape(known, [-1])
            count = reduce_prod(sizes) if known is None else int(np.prod(known))
            drawn = self._sample_n(count, seed)
            made = reshape(drawn, concat([sizes, shape(drawn)[1:]], 0))
            lead = TensorShape(None if known is None else [int(size) for size in known])
            made.set_shape(lead.concatenate(self.batch_shape).concatenate(self.event_shape))
            return made

    # ---- Likelihoods -----------------------------------------------------------------------------

    def _has(self, method):
        return getattr(type(self), method, None) is not None

    def _either(self, name, own, other, change, value):
        """What the method `own` gives for a value, or a change of what `other` gives."""
        with self._scope(name, [value]):
            value = convert(value, self.dtype if self.dtype.is_floating else None, "value")
            if self._has(own):
                return getattr(self, own)(value)
            if self._has(other):
                return change(getattr(self, other)(value))
            raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    def log_prob(self, value, name="log_prob"):
        """The logarithm of how likely values are: of shape sample_shape(value) + batch_shape."""
        return self._either(name, "_log_prob", "_prob", gen_ops.log, value)

    def prob(self, value, name="prob"):
        """How likely values are: their probability, or the density there."""
        return self._either(name, "_prob", "_log_prob", gen_ops.exp, value)

    def log_cdf(self, value, name="log_cdf"):
        """The logarithm of the probability of events up to values."""
        return self._either(name, "_log_cdf", "_cdf", gen_ops.log, value)

    def cdf(self, value, name="cdf"):
        """The probability of events up to values."""
        return self._either(name, "_cdf", "_log_cdf", gen_ops.exp, value)

    def survival_function(self, value, name="survival_function"):
        """The probability of events above values."""
        return self._either(name, "_survival", "_cdf", lambda p: 1.0 - p, value)

    def log_survival_function(self, value, name="log_survival_function"):
        """The logarithm of the probability of events above values."""
        return self._either(name, "_log_survival", "_cdf", lambda p: gen_ops.log1p(-p), value)

    def quantile(self, value, name="quantile"):
        """Up to where the probability is `value`."""
        return self._either(name, "_quantile", "_none", None, value)

    # ---- Statistics ------------------------------------------------------------------------------

    def _statistic(self, name, own, other=None, change=None):
        with self._scope(name):
            if self._has(own):
                return getattr(self, own)()
            if other is not None and self._has(other):
                return change(getattr(self, other)())
            raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    def entropy(self, name="entropy"):
        """Shannon's entropy, in nats."""
        return self._statistic(name, "_entropy")

    def mean(self, name="mean"):
        """The mean."""
        return self._statistic(name, "_mean")

    def mode(self, name="mode"):
        """The likeliest event."""
        return self._statistic(name, "_mode")

    def variance(self, name="variance"):
        """The variance; of events of several numbers, of each by itself."""
        return self._statistic(name, "_variance", "_stddev", gen_ops.square)

    def stddev(self, name="stddev"):
        """The square root of the variance."""
        return self._statistic(name, "_stddev", "_variance", gen_ops.sqrt)

    def covariance(self, name="covariance"):
        """The covariance of the numbers of an event."""
        return self._statistic(name, "_covariance")

    def kl_divergence(self, other, name="kl_divergence"):
        """How far another distribution is from this one: the mean of log(this / other), here."""
        with self._scope(name):
            return kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other, name="cross_entropy"):
        """The mean of -log(other), here."""
        with self._scope(name):
            return self._entropy() + kl_divergence(
                self, other, allow_nan_stats=self.allow_nan_stats
            )
