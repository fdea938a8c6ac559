"""tf.distributions: what chance draws, how likely values are, and how far two distributions are apart."""

from millrace._distributions.bells import Laplace, Normal, StudentT, Uniform
from millrace._distributions.choices import Bernoulli, Categorical
from millrace._distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from millrace._distributions.divergence import RegisterKL, kl_divergence
from millrace._distributions.positives import Beta, Dirichlet, Exponential, Gamma
