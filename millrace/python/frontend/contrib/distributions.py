"""tf.contrib.distributions: those of tf.distributions, and more."""

from millrace.distributions import *
from millrace._distributions.categories import OneHotCategorical
from millrace._distributions.counted import Deterministic, Geometric, Logistic, Poisson
from millrace._distributions.mixtures import Mixture, MixtureSameFamily
from millrace._distributions.relaxed import (
    ExpRelaxedOneHotCategorical,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from millrace._distributions.vectors import (
    Independent,
    MultivariateNormalDiag,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
