"""tf.initializers: what variables begin with."""

from millrace._state.initializers import constant_initializer as constant
from millrace._state.initializers import glorot_normal_initializer as glorot_normal
from millrace._state.initializers import glorot_uniform_initializer as glorot_uniform
from millrace._state.initializers import ones_initializer as ones
from millrace._state.initializers import random_normal_initializer as random_normal
from millrace._state.initializers import random_uniform_initializer as random_uniform
from millrace._state.initializers import truncated_normal_initializer as truncated_normal
from millrace._state.initializers import variance_scaling_initializer as variance_scaling
from millrace._state.initializers import zeros_initializer as zeros
