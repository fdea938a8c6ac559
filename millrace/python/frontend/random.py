"""tf.random: values that differ from step to step."""

from millrace._ops.random_values import random_normal as normal
from millrace._ops.random_values import random_shuffle as shuffle
from millrace._ops.random_values import random_uniform as uniform
from millrace._ops.random_values import set_random_seed, truncated_normal
