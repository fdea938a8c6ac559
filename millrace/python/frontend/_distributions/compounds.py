"""Distributions by draws of others that a few points stand for, and these points."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.matrices import SoftmaxCentered
from millrace._distributions.categories import Categorical
from millrace._distributions.counted import Poisson
from millrace._distributions.distribution import NOT_REPARAMETERIZED, Distribution
from millrace._distributions.scalars import Normal
from millrace._distributions.shapes import dtype_of, joined
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import expand_dims, matrix_transpose, one_hot, zeros_like
from millrace._ops.layers import softmax
from millrace._ops.reductions import reduce_logsumexp, reduce_sum


def _both(loc, scale):
    kind = dtype_of([loc, scale])
    loc = convert(loc, kind, "loc")
    return loc, convert(scale, loc.dtype.base_dtype, "scale")


def _hermite(size, dtype):
    """The points of quadrature over normal numbers, times the root of 1/2, and their shares."""
    points, shares = np.polynomial.hermite.hermgauss(int(size))
    return convert(points, dtype), convert(shares / np.abs(shares).sum(), dtype)


def _middles(loc, scale, size, change):
    """Points between changed quantiles of normal numbers, in an axis more, and their equal shares."""
    edges = convert(np.linspace(0.0, 1.0, int(size) + 3)[1:-1], loc.dtype.base_dtype)
    normal = Normal(expand_dims(loc, -1), expand_dims(scale, -1))
    quantiles = change(normal.quantile(edges))
    shares = gen_ops.fill([int(size)], convert(1.0 / int(size), loc.dtype.base_dtype))
    return (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0, shares


def quadrature_scheme_lognormal_gauss_hermite(
    loc, scale, quadrature_size, validate_args=False, name=None
):
    """Points that stand for a log-normal distribution, by Gauss and Hermite.

    Args:
      loc, scale: of the normal one, Tensors of the shape of the batch, which broadcast.
      quadrature_size: how many points.
      validate_args: accepted.
      name: the name scope.

    Returns:
      (points, of shape [..., quadrature_size], and their probabilities, of shape [quadrature_size]).
    """
    with name_scope(name, "quadrature_scheme_lognormal_gauss_hermite", [loc, scale]):
        loc, scale = _both(loc, scale)
        points, shares = _hermite(quadrature_size, loc.dtype)
        spread = math.sqrt(2.0) * expand_dims(scale, -1) * points
        return gen_ops.exp(expand_dims(loc, -1) + spread), shares


def quadrature_scheme_lognormal_quantiles(
    loc, scale, quadrature_size, validate_args=False, name=None
):
    """Points between quantiles of a log-normal distribution, all as likely.

    Args and returns: as for quadrature_scheme_lognormal_gauss_hermite.
    """
    with name_scope(name, "quadrature_scheme_lognormal_quantiles", [loc, scale]):
        return _middles(*_both(loc, scale), quadrature_size, gen_ops.exp)


def quadrature_scheme_softmaxnormal_gauss_hermite(
    normal_loc, normal_scale, quadrature_size, validate_args=False, name=None
):
    """Points that stand for shares of classes, softmaxes of normal vectors with a 0, by Gauss and Hermite.

    Args:
      normal_loc, normal_scale: of the normal vectors, Tensors of shape [..., classes - 1].
      quadrature_size, validate_args, name: as for quadrature_scheme_lognormal_gauss_hermite.

    Returns:
      (points, of shape [..., classes, quadrature_size], and their probabilities, of shape [quadrature_size]).
    """
    with name_scope(name, "vector_diffeomixture_quadrature_gauss_hermite", [normal_loc]):
        loc, scale = _both(normal_loc, normal_scale)
        points, shares = _hermite(quadrature_size, loc.dtype)
        normal = expand_dims(loc, -1) + math.sqrt(2.0) * expand_dims(scale, -1) * points
        first = zeros_like(normal[..., :1, :])
        return softmax(-gen_ops.concat_v2([first, normal], -2), axis=-2), shares


def quadrature_scheme_softmaxnormal_quantiles(
    normal_loc, normal_scale, quadrature_size, validate_args=False, name=None
):
    """Points between quantiles of shares of classes, all as likely.

    Args and returns: as for quadrature_scheme_softmaxnormal_gauss_hermite, but for the 0, which stands last.
    """

    def shares_of(normal):
        return matrix_transpose(SoftmaxCentered().forward(matrix_transpose(normal)))

    with name_scope(name, "softmax_normal_grid_and_probs", [normal_loc, normal_scale]):
        return _middles(*_both(normal_loc, normal_scale), quadrature_size, shares_of)


class PoissonLogNormalQuadratureCompound(Distribution):
    """How often something happens that does so a log-normal number of times on average, of which few points are taken.

    Args:
      loc, scale: of the normal numbers, Tensors of the shape of the batch.
      quadrature_size: how many points.
      quadrature_fn: a function of (loc, scale, quadrature_size, validate_args) that gives points and probabilities.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self,
        loc,
        scale,
        quadrature_size=8,
        quadrature_fn=quadrature_scheme_lognormal_quantiles,
        validate_args=False,
        allow_nan_stats=True,
        name="PoissonLogNormalQuadratureCompound",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._loc, self._scale = _both(loc, scale)
            self._points, shares = quadrature_fn(
                self._loc, self._scale, quadrature_size, validate_args
            )
        self._which = Categorical(probs=shares)
        self._each, self._count = Poisson(self._points), int(quadrature_size)
        super().__init__(
            self._points.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            name=scope,
        )

    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._scale)
    quadrature_size = property(lambda self: self._count)
    mixture_distribution = property(lambda self: self._which, doc="What decides for a point.")
    distribution = property(lambda self: self._each, doc="The Poissons of all points.")

    def _batch_shape(self):
        return self._points.shape[:-1]

    def _batch_shape_tensor(self):
        return gen_ops.shape(self._points)[:-1]

    def _event_shape(self):
        return []

    def _sample_n(self, n, seed=None):
        shape = joined(expand_dims(n, 0), self.batch_shape_tensor())
        which = one_hot(self._which.sample(shape, seed), self._count, dtype=self.dtype)
        rates = reduce_sum(which * self._points, -1)
        return Poisson(rates).sample(seed=None if seed is None else seed + 1)

    def _log_prob(self, x):
        logs = self._each.log_prob(expand_dims(x, -1))
        return reduce_logsumexp(logs + gen_ops.log(self._which.probs), -1)

    def _mean(self):
        return reduce_sum(self._points * self._which.probs, -1)

    def _variance(self):
        apart = gen_ops.square(self._points - expand_dims(self._mean(), -1))
        return self._mean() + reduce_sum(apart * self._which.probs, -1)
