"""Distributions of what bijectors make of what other distributions draw."""

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.elementwise import Identity
from millrace._distributions.distribution import Distribution
from millrace._distributions.shapes import joined
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import fill, reshape, transpose, zeros
from millrace._ops.reductions import reduce_logsumexp, reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class TransformedDistribution(Distribution):
    """What a bijector makes of what a distribution draws.

    Args:
      distribution: a Distribution.
      bijector: a Bijector; the identity if None.
      batch_shape: the shape of the batch, a vector of known sizes, if that of the distribution is []; or None.
      event_shape: the shape of events before the bijector, a vector of known sizes, if that of the distribution is
        []; or None.
      validate_args, name: as for Distribution; the name is that of both if None.

    Raises:
      ValueError: if shapes are given for a distribution that has some, or are no vectors of known, positive sizes.
    """

    def __init__(
        self,
        distribution,
        bijector=None,
        batch_shape=None,
        event_shape=None,
        validate_args=False,
        name=None,
    ):
        parameters = dict(locals())
        self._inner, self._bijector = distribution, bijector or Identity()
        own = "" if bijector is None else bijector.name.rstrip("/")
        name = name or own + distribution.name.rstrip("/").rpartition("/")[2]
        with name_scope(name) as scope:
            self._batch = self._given(batch_shape, distribution.batch_shape, "batch_shape")
            self._event = self._given(event_shape, distribution.event_shape, "event_shape")
        # Events of several draws of a distribution with a batch stand before it until they are turned.
        rank = distribution.batch_shape.ndims
        if self._event and not self._batch and rank is None:
            raise ValueError(
                "event_shape is given, but the rank of the distribution's batch is not known"
            )
        self._is_turned = bool(self._event and not self._batch and rank)
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            name=scope,
        )

    @staticmethod
    def _given(sizes, base, what):
        if sizes is None:
            return []
        known = constant_value(convert(sizes, dtypes.int32, what))
        if known is None or known.ndim != 1 or (known <= 0).any():
            raise ValueError(f"{what} must be a vector of known, positive sizes, not {sizes}")
        if known.size and base.ndims != 0:
            raise ValueError(f"base distribution not scalar: {what} is {known}, but it has {base}")
        return known.tolist()

    distribution = property(lambda self: self._inner)
    bijector = property(lambda self: self._bijector)

    def _inner_event_shape(self):
        return TensorShape(self._event) if self._event else self._inner.event_shape

    def _batch_shape(self):
        return TensorShape(self._batch) if self._batch else self._inner.batch_shape

    def _batch_shape_tensor(self):
        return (
            convert(self._batch, dtypes.int32) if self._batch else self._inner.batch_shape_tensor()
        )

    def _event_shape(self):
        return self._bijector.forward_event_shape(self._inner_event_shape())

    def _event_shape_tensor(self):
        sizes = (
            convert(self._event, dtypes.int32) if self._event else self._inner.event_shape_tensor()
        )
        return self._bijector.forward_event_shape_tensor(sizes)

    def _turned(self, x, back=False):
        """The axes of events from before all others to behind them; or back."""
        if not self._is_turned:
            return x
        rank = gen_ops.rank(x)
        first = rank - len(self._event) if back else len(self._event)
        order = joined(gen_ops.range(first, rank, 1), gen_ops.range(0, first, 1))
        return transpose(x, order)

    def sample(self, sample_shape=(), seed=None, name="sample", **conditions):
        """Events that are drawn: of shape sample_shape + batch_shape + event_shape; see Distribution.sample."""
        with self._scope(name):
            shape = reshape(convert(sample_shape, dtypes.int32), [-1])
            known = constant_value(convert(sample_shape, dtypes.int32))
            parts = [self._event, shape] if self._is_turned else [shape, self._batch, self._event]
            drawn = self._turned(self._inner.sample(joined(*parts), seed))
            made = self._bijector.forward(drawn, **conditions)
            if known is not None:
                whole = TensorShape(known.reshape(-1).tolist()).concatenate(self.batch_shape)
                made.set_shape(whole.concatenate(self.event_shape))
            return made

    def _axes(self):
        count = self.event_shape.ndims
        if count is None:
            raise ValueError(f"{self.name}: the rank of events must be known")
        return count

    def _inner_log_prob(self, x):
        log = self._inner.log_prob(self._turned(x, back=True))
        if not self._event:
            return log
        count = len(self._event)
        return reduce_sum(log, list(range(count) if self._is_turned else range(-count, 0)))

    def _log_prob(self, y, **conditions):
        stretch = self._bijector.inverse_log_det_jacobian(y, self._axes(), **conditions)
        x = self._bijector.inverse(y, **conditions)
        if self._bijector.is_injective:
            return self._inner_log_prob(x) + stretch
        each = [self._inner_log_prob(part) + own for part, own in zip(x, stretch)]
        return reduce_logsumexp(gen_ops.pack(each), 0)

    def _one(self, what):
        if self._event or not self._bijector.is_injective:
            raise NotImplementedError(
                f"{what} is not implemented for {self.name}: of several draws, or several fibers"
            )
        return self._bijector

    def _cdf(self, y):
        return self._inner.cdf(self._one("cdf").inverse(y))

    def _log_cdf(self, y):
        return self._inner.log_cdf(self._one("log_cdf").inverse(y))

    def _survival_function(self, y):
        return self._inner.survival_function(self._one("survival_function").inverse(y))

    def _log_survival_function(self, y):
        return self._inner.log_survival_function(self._one("log_survival_function").inverse(y))

    def _quantile(self, p):
        return self._one("quantile").forward(self._inner.quantile(p))

    def _entropy(self):
        if not self._bijector.is_constant_jacobian or not self._bijector.is_injective:
            raise NotImplementedError(f"entropy is not implemented: {self.name}")
        entropy = self._inner.entropy()
        for size in self._event:
            entropy = entropy * cast(size, self.dtype)
        if self._batch:
            entropy = fill(convert(self._batch, dtypes.int32), entropy)
        somewhere = zeros(joined(self.batch_shape_tensor(), self.event_shape_tensor()), self.dtype)
        return entropy - self._bijector.inverse_log_det_jacobian(somewhere, self._axes())
