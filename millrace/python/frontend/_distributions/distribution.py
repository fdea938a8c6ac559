"""Distribution: what all distributions have, and which pairs of them have a known divergence."""

import contextlib
import inspect

from millrace import _gen as gen_ops
from millrace._distributions.shapes import as_vector, joined
from millrace._flow.control_flow import Assert
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.arrays import reshape
from millrace._ops.reductions import reduce_any, reduce_prod
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class ReparameterizationType:
    """Whether samples of a distribution have a gradient by its parameters.

    Args:
      rep_type: a name of this kind.
    """

    def __init__(self, rep_type):
        self._name = rep_type

    def __repr__(self):
        return f"<Reparameterization Type: {self._name}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """The base of distributions.

    A distribution holds many at once, its batch: of shape `batch_shape`, by its parameters. Each draws
    events of shape `event_shape`. Classes that derive from it define `_batch_shape`, `_event_shape` (and,
    for shapes that are not known beforehand, these with `_tensor` at the end), `_sample_n(n, seed)` and
    what they have of `_log_prob`, `_prob`, `_log_cdf`, `_cdf`, `_log_survival_function`, `_survival_function`,
    `_entropy`, `_mean`, `_variance`, `_stddev`, `_covariance`, `_mode` and `_quantile`.

    Args:
      dtype: of events.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: whether parameters are checked in each step.
      allow_nan_stats: whether a mean, variance or mode that is not defined is no number; else it fails.
      parameters: what it was made with, by name.
      graph_parents: accepted.
      name: the name scope of its nodes.
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
        self._dtype = dtypes.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._parameters = parameters or {}
        name = name or type(self).__name__
        with name_scope(name) as scope:
            self._name = name if name.endswith("/") else scope

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    reparameterization_type = property(lambda self: self._reparameterization_type)
    validate_args = property(lambda self: self._validate_args)
    allow_nan_stats = property(lambda self: self._allow_nan_stats)

    @property
    def parameters(self):
        """What it was made with, a dictionary."""
        # Constructors give all their locals, among them a class's own cell if they call super().
        own = ("self", "__class__")
        return {key: value for key, value in self._parameters.items() if key not in own}

    def copy(self, **override_parameters_kwargs):
        """Another one with some parameters of its own."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    def __repr__(self):
        return (
            f"<millrace.distributions.{type(self).__name__} '{self._name}' "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} dtype={self.dtype.name}>"
        )

    # ---- Shapes ----------------------------------------------------------------------------------

    @property
    def batch_shape(self):
        """The TensorShape of the batch, as far as it is known."""
        return TensorShape(self._batch_shape())

    @property
    def event_shape(self):
        """The TensorShape of one event, as far as it is known."""
        return TensorShape(self._event_shape())

    def _batch_shape(self):
        return None

    def _event_shape(self):
        return None

    def _batch_shape_tensor(self):
        raise NotImplementedError(f"batch_shape_tensor is not implemented: {type(self).__name__}")

    def _event_shape_tensor(self):
        raise NotImplementedError(f"event_shape_tensor is not implemented: {type(self).__name__}")

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """The shape of the batch, an int32 vector."""
        with self._scope(name):
            return as_vector(self.batch_shape, self._batch_shape_tensor)

    def event_shape_tensor(self, name="event_shape_tensor"):
        """The shape of one event, an int32 vector."""
        with self._scope(name):
            return as_vector(self.event_shape, self._event_shape_tensor)

    def is_scalar_event(self, name="is_scalar_event"):
        """Whether event_shape is []: a bool, or a bool Tensor if it is not known."""
        return self._is_scalar(self.event_shape, self.event_shape_tensor, name)

    def is_scalar_batch(self, name="is_scalar_batch"):
        """Whether batch_shape is []: a bool, or a bool Tensor if it is not known."""
        return self._is_scalar(self.batch_shape, self.batch_shape_tensor, name)

    def _is_scalar(self, shape, tensor, name):
        with self._scope(name):
            known = shape.ndims is not None
            return convert(shape.ndims == 0 if known else gen_ops.equal(gen_ops.size(tensor()), 0))

    # ---- Values ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _scope(self, name):
        with name_scope(self._name), name_scope(name):
            yield

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Events that are drawn: of shape sample_shape + batch_shape + event_shape.

        Args:
          sample_shape: a list of sizes, a size, or an integer Tensor.
          seed: a seed for what is drawn.
          name: the name scope.
        """
        with self._scope(name):
            shape = convert(sample_shape, dtypes.int32)
            known = constant_value(shape)
            vector = reshape(shape, [-1])
            if known is not None:
                count_more(-5 if known.ndim else -4)  # TensorFlow needs no nodes for a known shape
            drawn = self._sample_n(reduce_prod(vector), seed)
            made = reshape(drawn, joined(vector, gen_ops.shape(drawn)[1:]))
            if known is not None:
                rest = self.batch_shape.concatenate(self.event_shape)
                made.set_shape(TensorShape(list(known.reshape(-1))).concatenate(rest))
            return made

    def _called(self, hook, name, value=None, **kwargs):
        """What a class that derives from it has in this hook. NotImplementedError if it has nothing."""
        method = getattr(self, hook, None)
        if method is None:
            raise NotImplementedError(
                f"{hook.removeprefix('_')} is not implemented: {type(self).__name__}"
            )
        with self._scope(name):
            if value is None:
                return method(**kwargs)
            return method(convert(value, self._value_dtype(value)), **kwargs)

    def _statistic(self, hook, name):
        """What a hook gives; unless statistics may be no numbers, a step in which one is none fails."""
        made = self._called(hook, name)
        if self._allow_nan_stats or not made.dtype.is_floating:
            return made
        with self._scope(name):
            is_defined = gen_ops.logical_not(reduce_any(gen_ops.is_nan(made)))
            with control_dependencies(
                [Assert(is_defined, [f"{name} of {self._name} is not defined for all parameters"])]
            ):
                return gen_ops.identity(made)

    def _value_dtype(self, value):
        return None if hasattr(value, "dtype") else self.dtype

    def _has(self, hook):
        return getattr(self, hook, None) is not None

    def log_prob(self, value, name="log_prob"):
        """The logarithm of the density, or of the probability for discrete events, at `value`.

        Args:
          value: a Tensor that broadcasts with batch_shape + event_shape.

        Returns:
          a Tensor of the shape to which both broadcast, without event_shape.

        Raises:
          NotImplementedError: if this distribution does not know it.
        """
        if not self._has("_log_prob") and self._has("_prob"):
            return gen_ops.log(self._called("_prob", name, value))
        return self._called("_log_prob", name, value)

    def prob(self, value, name="prob"):
        """The density, or the probability for discrete events, at `value`; see log_prob."""
        if self._has("_prob"):
            return self._called("_prob", name, value)
        return gen_ops.exp(self._called("_log_prob", name, value))

    def log_cdf(self, value, name="log_cdf"):
        """The logarithm of the probability of an event up to `value`; see log_prob."""
        if self._has("_log_cdf"):
            return self._called("_log_cdf", name, value)
        return gen_ops.log(self._called("_cdf", name, value))

    def cdf(self, value, name="cdf"):
        """The probability of an event up to `value`; see log_prob."""
        if not self._has("_cdf") and self._has("_log_cdf"):
            return gen_ops.exp(self._called("_log_cdf", name, value))
        return self._called("_cdf", name, value)

    def survival_function(self, value, name="survival_function"):
        """The probability of an event above `value`; see log_prob."""
        if self._has("_survival_function"):
            return self._called("_survival_function", name, value)
        if self._has("_log_survival_function"):
            return gen_ops.exp(self._called("_log_survival_function", name, value))
        return 1.0 - self.cdf(value, name)

    def log_survival_function(self, value, name="log_survival_function"):
        """The logarithm of the probability of an event above `value`; see log_prob."""
        if self._has("_log_survival_function"):
            return self._called("_log_survival_function", name, value)
        if self._has("_survival_function"):
            return gen_ops.log(self._called("_survival_function", name, value))
        return gen_ops.log1p(-self.cdf(value, name))

    def quantile(self, value, name="quantile"):
        """The event up to which the probability is `value`, between 0 and 1; see log_prob."""
        return self._called("_quantile", name, value)

    def entropy(self, name="entropy"):
        """The entropy in nats, of shape batch_shape. NotImplementedError if it is not known."""
        return self._called("_entropy", name)

    def mean(self, name="mean"):
        """The mean, of shape batch_shape + event_shape. NotImplementedError if it is not known."""
        return self._statistic("_mean", name)

    def variance(self, name="variance"):
        """The variance of each element of an event, of shape batch_shape + event_shape."""
        if not self._has("_variance") and self._has("_stddev"):
            return gen_ops.square(self._statistic("_stddev", name))
        return self._statistic("_variance", name)

    def stddev(self, name="stddev"):
        """The root of the variance."""
        if self._has("_stddev"):
            return self._statistic("_stddev", name)
        return gen_ops.sqrt(self._statistic("_variance", name))

    def covariance(self, name="covariance"):
        """The covariance of the elements of an event, of shape batch_shape + event_shape * 2."""
        return self._called("_covariance", name)

    def mode(self, name="mode"):
        """The likeliest event, of shape batch_shape + event_shape. NotImplementedError if not known."""
        return self._statistic("_mode", name)

    def cross_entropy(self, other, name="cross_entropy"):
        """The entropy plus the divergence from `other`."""
        with self._scope(name):
            return self.entropy() + kl_divergence(self, other)

    def kl_divergence(self, other, name="kl_divergence"):
        """kl_divergence of this one and `other`."""
        return kl_divergence(self, other, self.allow_nan_stats, name)


# Functions (of two distributions, name=) by their classes: programs may add theirs by RegisterKL.
_divergences = {}


def _ancestors(cls):
    return inspect.getmro(cls)


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """The expected log_prob of the first less that of the second, of events of the first.

    Args:
      distribution_a, distribution_b: two Distributions.
      allow_nan_stats: False to fail in the step where the result is no number.
      name: the name scope.

    Returns:
      a Tensor of the shape to which both batches broadcast.

    Raises:
      NotImplementedError: if no function was registered for them.
    """
    found = None
    for first in _ancestors(type(distribution_a)):
        for second in _ancestors(type(distribution_b)):
            found = found or _divergences.get((first, second))
    if found is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope(name, "KullbackLeibler"):
        made = found(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return made
        return gen_ops.check_numerics(made, "KL calculation between two distributions")


def cross_entropy(ref, other, allow_nan_stats=True, name=None):
    """The entropy of `ref` plus its divergence from `other`."""
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats)


class RegisterKL:
    """Decorates a function of two distributions and `name=` that is their kl_divergence.

    Args:
      dist_cls_a, dist_cls_b: their classes; those that derive from them count too.

    Raises:
      ValueError: if there is one for them.
    """

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn):
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            first, second = (cls.__name__ for cls in self._key)
            raise ValueError(f"KL({first} || {second}) has already been registered")
        _divergences[self._key] = kl_fn
        return kl_fn
