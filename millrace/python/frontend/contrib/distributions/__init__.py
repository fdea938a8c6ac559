"""tf.contrib.distributions: those of tf.distributions, and more."""

from millrace.distributions import *
from millrace._distributions.arranged import (
    Autoregressive,
    BatchReshape,
    QuantizedDistribution,
)
from millrace._distributions.bijectors.elementwise import softplus_inverse
from millrace._distributions.categories import OneHotCategorical
from millrace._distributions.changed import (
    BetaWithSoftplusConcentration,
    Chi2WithAbsDf,
    ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate,
    InverseGammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale,
    MultivariateNormalDiagWithSoftplusScale,
    NormalWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale,
)
from millrace._distributions.compounds import (
    PoissonLogNormalQuadratureCompound,
    quadrature_scheme_lognormal_gauss_hermite,
    quadrature_scheme_lognormal_quantiles,
    quadrature_scheme_softmaxnormal_gauss_hermite,
    quadrature_scheme_softmaxnormal_quantiles,
)
from millrace._distributions.counted import Deterministic, Geometric, Logistic, Poisson
from millrace._distributions.estimates import (
    SeedStream,
    assign_log_moving_mean_exp,
    assign_moving_mean_variance,
    auto_correlation,
    moving_mean_variance,
    normal_conjugates_known_scale_posterior,
    normal_conjugates_known_scale_predictive,
    percentile,
    reduce_weighted_logsumexp,
)
from millrace._distributions.mixtures import Mixture, MixtureSameFamily
from millrace._distributions.relaxed import (
    ExpRelaxedOneHotCategorical,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from millrace._distributions.scaled_vectors import (
    MultivariateNormalDiagPlusLowRank,
    SinhArcsinh,
    VectorDeterministic,
    VectorExponentialDiag,
    VectorLaplaceDiag,
    VectorSinhArcsinhDiag,
)
from millrace._distributions.tails import Cauchy, Chi2, HalfNormal, InverseGamma, Kumaraswamy
from millrace._distributions.transformed import TransformedDistribution
from millrace._distributions.trials import Binomial, NegativeBinomial
from millrace._distributions.triangles import (
    fill_triangular,
    fill_triangular_inverse,
    matrix_diag_transform,
    tridiag,
)
from millrace._distributions.vectors import (
    Independent,
    MultivariateNormalDiag,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from millrace._distributions.wishart import WishartCholesky, WishartFull
from millrace.contrib.distributions import bijectors
