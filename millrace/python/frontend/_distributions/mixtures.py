"""Mixtures: a Categorical decides which of several distributions draws."""

from millrace import _gen as gen_ops
from millrace._distributions.distribution import NOT_REPARAMETERIZED, Distribution
from millrace._distributions.shapes import joined
from millrace._ops.arrays import expand_dims, one_hot, reshape, stack
from millrace._ops.layers import log_softmax
from millrace._ops.reductions import reduce_logsumexp, reduce_sum


class _Mixed(Distribution):
    """What both kinds have in common: components side by side in one axis, right after the batch.

    Args:
      which: the Categorical, of the batch's shape.
      first: a Distribution whose events are like the mixture's.
      parameters: what the constructor was called with.
    """

    def __init__(self, which, first, parameters):
        self._which, self._first = which, first
        ranks = which.batch_shape.ndims, first.batch_shape.ndims, first.event_shape.ndims
        if None in ranks:
            raise ValueError("The ranks of the mixture's batch and of its events must be known")
        super().__init__(
            first.dtype,
            NOT_REPARAMETERIZED,
            parameters["validate_args"],
            parameters["allow_nan_stats"],
            parameters,
            name=parameters["name"],
        )

    def _batch_shape(self):
        return self._which.batch_shape

    def _batch_shape_tensor(self):
        return self._which.batch_shape_tensor()

    def _event_shape(self):
        return self._first.event_shape

    def _event_shape_tensor(self):
        return self._first.event_shape_tensor()

    def _chosen(self, values, weights):
        """The sum over components of values, of shape [..., components, *event], by their weights."""
        events = self._first.event_shape.ndims
        sizes = gen_ops.shape(weights)
        ones = gen_ops.ones_like(gen_ops.shape(values)[gen_ops.rank(values) - events :])
        spread = reshape(weights, gen_ops.concat_v2([sizes, ones], 0))
        return reduce_sum(values * spread, -1 - events)

    def _sample_n(self, n, seed=None):
        drawn = self._drawn(n, seed)
        second = None if seed is None else seed + 1
        # One Categorical for a whole batch draws for each of it by itself.
        shared = self.batch_shape.ndims - self._which.batch_shape.ndims
        shape = joined(expand_dims(n, 0), self.batch_shape_tensor()[:shared])
        which = one_hot(self._which.sample(shape, second), self._which.event_size, dtype=self.dtype)
        return self._chosen(drawn, which)

    def _log_prob(self, x):
        return reduce_logsumexp(self._logs(x) + log_softmax(self._which.logits), -1)

    def _mean(self):
        return self._chosen(self._means(), self._which.probs)

    def _variance(self):
        means, variances = self._means(), self._variances()
        squares = self._chosen(gen_ops.square(means) + variances, self._which.probs)
        return squares - gen_ops.square(self._mean())


class Mixture(_Mixed):
    """A mixture of several distributions.

    Args:
      cat: the Categorical that decides.
      components: a list of Distributions of one type, batch and event shape, one for each class.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      TypeError: if these are something else. ValueError: for another number of components than classes, or
        other types or shapes.
    """

    def __init__(
        self,
        cat,
        components,
        validate_args=False,
        allow_nan_stats=True,
        use_static_graph=False,
        name="Mixture",
    ):
        parameters = dict(locals())
        if not hasattr(cat, "logits") or not hasattr(cat, "event_size"):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not all(isinstance(each, Distribution) for each in components):
            raise TypeError(f"all components must be Distributions, but saw: {components}")
        kinds = {each.dtype for each in components}
        if len(kinds) > 1:
            raise TypeError(
                f"All components must have the same dtype, but saw: {sorted(map(str, kinds))}"
            )
        classes = cat.logits.shape.as_list()[-1]
        if classes is not None and classes != len(components):
            raise ValueError(
                f"cat has {classes} classes, but there are {len(components)} components"
            )
        for each in components:
            if not each.batch_shape.is_compatible_with(cat.batch_shape):
                raise ValueError(
                    f"cat has a batch of shape {cat.batch_shape}, but that of a component is "
                    f"{each.batch_shape}"
                )
        self._components = list(components)
        super().__init__(cat, components[0], parameters)

    cat = property(lambda self: self._which)
    components = property(lambda self: self._components)

    def _stacked(self, values):
        return stack(values, axis=-1 - self._first.event_shape.ndims)

    def _drawn(self, n, seed):
        seeds = [None if seed is None else seed + 2 + i for i in range(len(self._components))]
        return self._stacked([each.sample(n, own) for each, own in zip(self._components, seeds)])

    def _logs(self, x):
        return stack([each.log_prob(x) for each in self._components], axis=-1)

    def _means(self):
        return self._stacked([each.mean() for each in self._components])

    def _variances(self):
        return self._stacked([each.variance() for each in self._components])


class MixtureSameFamily(_Mixed):
    """A mixture of distributions that are one, with an axis more in its batch: the last one.

    Args:
      mixture_distribution: the Categorical that decides, with a batch of shape [...] or [].
      components_distribution: a Distribution with a batch of shape [..., classes].
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if their batches are of other shapes.
    """

    def __init__(
        self,
        mixture_distribution,
        components_distribution,
        validate_args=False,
        allow_nan_stats=True,
        name="MixtureSameFamily",
    ):
        parameters = dict(locals())
        own, other = mixture_distribution.batch_shape, components_distribution.batch_shape
        classes = mixture_distribution.logits.shape[-1:]
        if not other.is_compatible_with((own if own.ndims else other[:-1]).concatenate(classes)):
            raise ValueError(
                f"mixture_distribution has {classes} classes and a batch of shape {own}, but that of "
                f"components_distribution is {other}"
            )
        super().__init__(mixture_distribution, components_distribution, parameters)

    mixture_distribution = property(lambda self: self._which)
    components_distribution = property(lambda self: self._first)

    def _batch_shape(self):
        return self._first.batch_shape[:-1]

    def _batch_shape_tensor(self):
        return self._first.batch_shape_tensor()[:-1]

    def _drawn(self, n, seed):
        return self._first.sample(n, seed)

    def _logs(self, x):
        return self._first.log_prob(expand_dims(x, -1 - self._first.event_shape.ndims))

    def _means(self):
        return self._first.mean()

    def _variances(self):
        return self._first.variance()
