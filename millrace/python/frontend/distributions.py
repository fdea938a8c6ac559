"""tf.distributions: distributions to draw from and to measure by, and their divergences."""

from millrace._distributions import divergences as _divergences
from millrace._distributions.categories import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Multinomial,
)
from millrace._distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    ReparameterizationType,
    kl_divergence,
)
from millrace._distributions.gammas import Beta, Exponential, Gamma, StudentT
from millrace._distributions.scalars import Laplace, Normal, Uniform
from millrace._distributions.trials import DirichletMultinomial
