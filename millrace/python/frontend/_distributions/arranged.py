"""Distributions of another one's draws, in other batches, rounded up, or one element after another."""

import random

from millrace import _gen as gen_ops
from millrace._distributions.distribution import NOT_REPARAMETERIZED, Distribution
from millrace._distributions.shapes import joined
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import reshape, where, zeros_like
from millrace._ops.random_values import get_seed
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class BatchReshape(Distribution):
    """A distribution with its batch in another shape.

    Args:
      distribution: a Distribution whose ranks are known.
      batch_shape: an integer vector of known length; one size may be -1, for what is left.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if ranks are not known, several sizes are -1, or both are known to hold other numbers.
    """

    def __init__(
        self, distribution, batch_shape, validate_args=False, allow_nan_stats=True, name=None
    ):
        parameters = dict(locals())
        self._inner = distribution
        name = name or "BatchReshape" + distribution.name.rstrip("/").rpartition("/")[2]
        with name_scope(name) as scope:
            given = convert(batch_shape, dtypes.int32, "batch_shape")
            known = constant_value(given)
            if given.shape.ndims != 1 or given.shape[0].value is None:
                raise ValueError(f"batch_shape must be a vector of known length, not {given}")
            if None in (distribution.batch_shape.ndims, distribution.event_shape.ndims):
                raise ValueError(f"BatchReshape: the ranks of {distribution} must be known")
            self._rank, self._sizes = given.shape[0].value, given
            self._known = TensorShape([None] * self._rank)
            if known is not None:
                self._known = self._filled(known.tolist(), distribution.batch_shape.num_elements())
                if self._known.is_fully_defined():
                    self._sizes = convert(self._known.as_list(), dtypes.int32)
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            name=scope,
        )

    @staticmethod
    def _filled(sizes, whole):
        rest = 1
        for size in sizes:
            rest *= size if size != -1 else 1
        if sizes.count(-1) > 1:
            raise ValueError(
                f"At most one element of batch_shape may be -1, not several of {sizes}"
            )
        if whole is not None and (rest == 0 or whole % rest or (-1 not in sizes and whole != rest)):
            raise ValueError(
                f"batch_shape {sizes} does not hold the {whole} distributions of the batch"
            )
        left = None if whole is None else whole // rest
        return TensorShape([left if size == -1 else size for size in sizes])

    distribution = property(lambda self: self._inner)

    def _batch_shape(self):
        return self._known

    def _batch_shape_tensor(self):
        whole = gen_ops.prod(self._inner.batch_shape_tensor(), [0])
        rest = gen_ops.maximum(gen_ops.prod(gen_ops.abs(self._sizes), [0]), 1)
        return where(
            gen_ops.less(self._sizes, 0), gen_ops.fill([self._rank], whole // rest), self._sizes
        )

    def _event_shape(self):
        return self._inner.event_shape

    def _event_shape_tensor(self):
        return self._inner.event_shape_tensor()

    def _outer(self, x, before, after):
        """x, of `before` axes, then the distribution's batch, then `after`: that batch in our shape."""
        sizes = gen_ops.shape(x)
        rank = self._inner.batch_shape.ndims
        made = reshape(x, joined(sizes[:before], self.batch_shape_tensor(), sizes[before + rank :]))
        known = x.shape.ndims is not None
        if known:
            ends = x.shape[before + rank :]
            made.set_shape(x.shape[:before].concatenate(self.batch_shape).concatenate(ends))
        return made

    def _sample_n(self, n, seed=None):
        return self._outer(self._inner.sample(n, seed), 1, self._inner.event_shape.ndims)

    def _of_value(self, function, x):
        """A function of a value of our shape, by that of the distribution."""
        events = self._inner.event_shape.ndims
        x = convert(x)
        if x.shape.ndims is None or x.shape.ndims < self._rank + events:
            raise ValueError(
                f"{self.name}: values must have the batch's axes and an event's, of {self.batch_shape} and "
                f"{self.event_shape}; they are of shape {x.shape}"
            )
        before = x.shape.ndims - self._rank - events
        sizes = gen_ops.shape(x)
        parts = sizes[:before], self._inner.batch_shape_tensor(), sizes[before + self._rank :]
        return self._outer(function(reshape(x, joined(*parts))), before, 0)

    def _log_prob(self, x):
        return self._of_value(self._inner.log_prob, x)

    def _cdf(self, x):
        return self._of_value(self._inner.cdf, x)

    def _log_cdf(self, x):
        return self._of_value(self._inner.log_cdf, x)

    def _entropy(self):
        return self._outer(self._inner.entropy(), 0, 0)

    def _mean(self):
        return self._outer(self._inner.mean(), 0, 0)

    def _variance(self):
        return self._outer(self._inner.variance(), 0, 0)

    def _stddev(self):
        return self._outer(self._inner.stddev(), 0, 0)

    def _covariance(self):
        return self._outer(self._inner.covariance(), 0, 0)

    def _mode(self):
        return self._outer(self._inner.mode(), 0, 0)


class QuantizedDistribution(Distribution):
    """What a distribution draws, rounded up, and no less than `low` and no more than `high`.

    Args:
      distribution: a Distribution of single numbers, with a cdf.
      low, high: whole numbers, or Tensors that broadcast; None for no bound.
      validate_args, name: as for Distribution.
    """

    def __init__(
        self,
        distribution,
        low=None,
        high=None,
        validate_args=False,
        name="QuantizedDistribution",
    ):
        parameters = dict(locals())
        self._inner, kind = distribution, distribution.dtype
        with name_scope(name) as scope:
            self._low = None if low is None else gen_ops.ceil(convert(low, kind, "low"))
            self._high = None if high is None else gen_ops.floor(convert(high, kind, "high"))
        super().__init__(
            kind,
            NOT_REPARAMETERIZED,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            name=scope,
        )

    distribution = property(lambda self: self._inner)
    low = property(lambda self: self._low)
    high = property(lambda self: self._high)

    def _batch_shape(self):
        return self._inner.batch_shape

    def _batch_shape_tensor(self):
        return self._inner.batch_shape_tensor()

    def _event_shape(self):
        return self._inner.event_shape

    def _event_shape_tensor(self):
        return self._inner.event_shape_tensor()

    def _sample_n(self, n, seed=None):
        drawn = gen_ops.ceil(self._inner.sample(n, seed))
        drawn = drawn if self._low is None else gen_ops.maximum(drawn, self._low)
        return drawn if self._high is None else gen_ops.minimum(drawn, self._high)

    def _bounded(self, j, below, above, inner):
        """inner, but `below` it where j is less than low, and `above` where it is high or more."""
        if self._low is not None:
            inner = where(
                gen_ops.less(j + zeros_like(inner), self._low), zeros_like(inner) + below, inner
            )
        if self._high is not None:
            is_above = gen_ops.greater_equal(j + zeros_like(inner), self._high)
            inner = where(is_above, zeros_like(inner) + above, inner)
        return inner

    def _cdf(self, y):
        j = gen_ops.floor(y)
        return self._bounded(j, 0.0, 1.0, self._inner.cdf(j))

    def _log_cdf(self, y):
        j = gen_ops.floor(y)
        return self._bounded(j, -float("inf"), 0.0, self._inner.log_cdf(j))

    def _survival_function(self, y):
        j = gen_ops.floor(y)
        return self._bounded(j, 1.0, 0.0, self._inner.survival_function(j))

    def _log_survival_function(self, y):
        j = gen_ops.floor(y)
        return self._bounded(j, 0.0, -float("inf"), self._inner.log_survival_function(j))

    def _log_prob(self, y):
        # Of two differences that are the same, the one of smaller numbers, which has kept more digits.
        below, above = self._log_cdf(y), self._log_survival_function(y)
        is_right = gen_ops.less(above, below)
        more = where(is_right, self._log_survival_function(y - 1.0), below)
        less = where(is_right, above, self._log_cdf(y - 1.0))
        is_outside = gen_ops.equal(more, -float("inf"))
        ratio = where(is_outside, zeros_like(more) - 1.0, less - more)
        return more + gen_ops.log(-gen_ops.expm1(ratio))


class Autoregressive(Distribution):
    """Vectors whose elements each depend on those before: by a distribution for each vector.

    Args:
      distribution_fn: a function of a vector that gives a Distribution, whose draws' elements each depend on
        earlier elements of the vector alone.
      sample0: what drawing begins with; if None, the function is called with nothing.
      num_steps: how often the function is called to draw: as many times as there are elements, if None.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if num_steps is below 1, or must be given.
    """

    def __init__(
        self,
        distribution_fn,
        sample0=None,
        num_steps=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Autoregressive",
    ):
        parameters = dict(locals())
        self._function, self._sample0 = distribution_fn, sample0
        with name_scope(name) as scope:
            first = distribution_fn() if sample0 is None else distribution_fn(sample0)
            steps = first.event_shape.num_elements() if num_steps is None else num_steps
            known = None if steps is None else constant_value(convert(steps))
            if known is None or known < 1:
                raise ValueError(f"num_steps must be a known number of at least 1, not {steps}")
            self._first, self._steps = first, int(known)
        super().__init__(
            first.dtype,
            first.reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            name=scope,
        )

    distribution_fn = property(lambda self: self._function)
    distribution0 = property(lambda self: self._first)
    sample0 = property(lambda self: self._sample0)
    num_steps = property(lambda self: self._steps)

    def _batch_shape(self):
        return self._first.batch_shape

    def _batch_shape_tensor(self):
        return self._first.batch_shape_tensor()

    def _event_shape(self):
        return self._first.event_shape

    def _event_shape_tensor(self):
        return self._first.event_shape_tensor()

    def _sample_n(self, n, seed=None):
        # All steps must draw the same noise: each makes one more element what the ones before say.
        if seed is None:
            seed = get_seed(None)[1] or random.SystemRandom().randrange(1, 2**31)
        drawn = self._first.sample(n, seed)
        for _ in range(self._steps):
            drawn = self._function(drawn).sample(seed=seed)
        return drawn

    def _log_prob(self, value):
        return self._function(value).log_prob(value)
