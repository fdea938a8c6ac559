"""kl_divergence: how far distributions are apart, by functions that are registered for pairs of kinds."""

import inspect

from millrace import _gen as gen_ops
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arrays import identity
from millrace._ops.reductions import reduce_any

_registered = {}  # (class, class) -> function


class RegisterKL:
    """A decorator for the function that tells the divergence of two kinds of distributions.

        @tf.distributions.RegisterKL(tf.distributions.Normal, MyDistribution)
        def _kl(a, b, name=None):
            ...

    Args:
      dist_cls_a, dist_cls_b: the classes; the function is for those that are derived from them, too.

    Raises (when it decorates):
      TypeError: if it is given no function; ValueError: if there is one for the pair.
    """

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn):
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _registered:
            first, second = (kind.__name__ for kind in self._key)
            raise ValueError(f"KL({first} || {second}) has already been registered")
        _registered[self._key] = kl_fn
        return kl_fn


def _found(kind_a, kind_b):
    """The function for the nearest classes above both."""
    pairs = [
        (i + j, _registered[a, b])
        for i, a in enumerate(inspect.getmro(kind_a))
        for j, b in enumerate(inspect.getmro(kind_b))
        if (a, b) in _registered
    ]
    return min(pairs, key=lambda pair: pair[0])[1] if pairs else None


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """The mean, drawn from the first distribution, of log(first / second).

    Args:
      distribution_a, distribution_b: Distributions.
      allow_nan_stats: False to fail with InvalidArgumentError where it is nan.
      name: the name scope.

    Returns:
      a Tensor of the shape of their batches, broadcast.

    Raises:
      NotImplementedError: if no function is registered for the two kinds.
    """
    function = _found(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        made = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return made
        names = f"{distribution_a.name} || {distribution_b.name}"
        told = [f"KL calculation between {names} returned NaN values. Values:", made]
        check = gen_ops.assert_(gen_ops.logical_not(reduce_any(gen_ops.is_nan(made))), told)
        with control_dependencies([check]):
            return identity(made, name="checked_kl")
