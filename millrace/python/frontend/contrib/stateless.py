"""tf.contrib.stateless: random values that two seeds decide."""

from millrace._ops.stateless_values import (
    stateless_multinomial,
    stateless_random_normal,
    stateless_random_uniform,
    stateless_truncated_normal,
)
