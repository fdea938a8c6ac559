"""tf.random: values that differ from step to step."""

from millrace._ops.candidates import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from millrace._ops.random_values import get_seed, multinomial
from millrace._ops.random_values import random_gamma as gamma
from millrace._ops.random_values import random_normal as normal
from millrace._ops.random_values import random_poisson as poisson
from millrace._ops.random_values import random_shuffle as shuffle
from millrace._ops.random_values import random_uniform as uniform
from millrace._ops.random_values import set_random_seed, truncated_normal
from millrace._ops.stateless_values import categorical, stateless_categorical, stateless_multinomial
from millrace._ops.stateless_values import stateless_random_binomial as stateless_binomial
from millrace._ops.stateless_values import stateless_random_gamma as stateless_gamma
from millrace._ops.stateless_values import (
    stateless_random_normal as stateless_normal,
)
from millrace._ops.stateless_values import stateless_random_poisson as stateless_poisson
from millrace._ops.stateless_values import (
    stateless_random_uniform as stateless_uniform,
)
from millrace._ops.stateless_values import stateless_truncated_normal
from millrace._state.generators import Generator, create_rng_state
from millrace.random import experimental
