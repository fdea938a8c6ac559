"""tf.contrib.distributions: those of tf.distributions, and more."""

from millrace.distributions import *
from millrace._distributions.categories import OneHotCategorical
from millrace._distributions.vectors import (
    Independent,
    MultivariateNormalDiag,
    MultivariateNormalTriL,
)
