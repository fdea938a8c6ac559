"""The divergences between distributions of a kind that have a closed form; loading this registers them."""

from millrace import _gen as gen_ops
from millrace._distributions.categories import Bernoulli, Categorical, Dirichlet, OneHotCategorical
from millrace._distributions.distribution import RegisterKL
from millrace._distributions.gammas import Beta, Gamma
from millrace._distributions.scalars import Laplace, Normal, Uniform
from millrace._distributions.scaled_vectors import MultivariateNormalDiagPlusLowRank
from millrace._distributions.vectors import (
    Independent,
    MultivariateNormalDiag,
    MultivariateNormalTriL,
)
from millrace._graph.conversion import convert
from millrace._ops.arrays import expand_dims, where, zeros_like
from millrace._ops.layers import log_softmax
from millrace._ops.matrices import matrix_diag
from millrace._ops.reductions import reduce_sum


@RegisterKL(Normal, Normal)
def _normals(a, b, name=None):
    ratio = gen_ops.square(a.scale / b.scale)
    moved = gen_ops.square((a.loc - b.loc) / b.scale)
    return 0.5 * (moved + ratio - 1.0 - gen_ops.log(ratio))


@RegisterKL(Laplace, Laplace)
def _laplaces(a, b, name=None):
    apart, ratio = gen_ops.abs(a.loc - b.loc), a.scale / b.scale
    return apart / b.scale + ratio * gen_ops.exp(-apart / a.scale) - 1.0 - gen_ops.log(ratio)


@RegisterKL(Uniform, Uniform)
def _uniforms(a, b, name=None):
    is_within = gen_ops.logical_and(
        gen_ops.less_equal(b.low, a.low), gen_ops.less_equal(a.high, b.high)
    )
    made = gen_ops.log(b.range() / a.range())
    infinite = gen_ops.fill(gen_ops.shape(made), convert(float("inf"), made.dtype))
    return where(is_within, made, infinite)


@RegisterKL(Gamma, Gamma)
def _gammas(a, b, name=None):
    p, q = a.concentration, b.concentration
    return (
        (p - q) * gen_ops.digamma(p)
        + gen_ops.lgamma(q)
        - gen_ops.lgamma(p)
        + q * gen_ops.log(a.rate / b.rate)
        + p * (b.rate / a.rate - 1.0)
    )


@RegisterKL(Beta, Beta)
def _betas(a, b, name=None):
    def log_beta(d):
        return (
            gen_ops.lgamma(d.concentration1)
            + gen_ops.lgamma(d.concentration0)
            - gen_ops.lgamma(d.total_concentration)
        )

    moved1 = (a.concentration1 - b.concentration1) * gen_ops.digamma(a.concentration1)
    moved0 = (a.concentration0 - b.concentration0) * gen_ops.digamma(a.concentration0)
    total = (b.total_concentration - a.total_concentration) * gen_ops.digamma(a.total_concentration)
    return log_beta(b) - log_beta(a) + moved1 + moved0 + total


@RegisterKL(Bernoulli, Bernoulli)
def _bernoullis(a, b, name=None):
    softplus = gen_ops.softplus
    off = a.probs * (softplus(-b.logits) - softplus(-a.logits))
    return off + (1.0 - a.probs) * (softplus(b.logits) - softplus(a.logits))


@RegisterKL(OneHotCategorical, OneHotCategorical)
@RegisterKL(Categorical, Categorical)
def _categoricals(a, b, name=None):
    difference = log_softmax(a.logits) - log_softmax(b.logits)
    return reduce_sum(gen_ops.mul_no_nan(difference, a.probs + zeros_like(difference)), -1)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlets(a, b, name=None):
    p, q = a.concentration, b.concentration
    centred = gen_ops.digamma(p) - expand_dims(gen_ops.digamma(a.total_concentration), -1)
    return (
        gen_ops.lgamma(a.total_concentration)
        - reduce_sum(gen_ops.lgamma(p), -1)
        - gen_ops.lgamma(b.total_concentration)
        + reduce_sum(gen_ops.lgamma(q), -1)
        + reduce_sum((p - q) * centred, -1)
    )


def _triangle(distribution):
    if isinstance(distribution, MultivariateNormalTriL):
        return distribution.scale_tril
    if isinstance(distribution, MultivariateNormalDiagPlusLowRank):
        return gen_ops.cholesky(distribution.covariance())
    return matrix_diag(distribution.scale_diag)


def _gaussians(a, b, name=None):
    of_a, of_b = _triangle(a), _triangle(b)
    # The triangle of b must have the batch of both, and so must what it is solved for.
    apart = expand_dims(b.loc - a.loc, -1)
    whole = zeros_like(of_a) + zeros_like(of_b) + zeros_like(apart)
    of_b = of_b + whole
    ratio = gen_ops.matrix_triangular_solve(of_b, of_a + whole)
    moved = gen_ops.matrix_triangular_solve(of_b, apart + zeros_like(whole[..., :1]))

    def log_det(triangle):
        diagonal = gen_ops.matrix_diag_part(triangle)
        return reduce_sum(gen_ops.log(gen_ops.abs(diagonal)), -1)

    size = gen_ops.cast(gen_ops.shape(whole)[-1], DstT=a.dtype)
    squares = reduce_sum(gen_ops.square(ratio), [-2, -1]) + reduce_sum(
        gen_ops.square(moved), [-2, -1]
    )
    return log_det(of_b) - log_det(of_a) + 0.5 * (squares - size)


_KINDS = MultivariateNormalDiag, MultivariateNormalTriL, MultivariateNormalDiagPlusLowRank
for _first in _KINDS:
    for _second in _KINDS:
        RegisterKL(_first, _second)(_gaussians)


@RegisterKL(Independent, Independent)
def _independents(a, b, name=None):
    return a.divergence(b, name)
