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
from millrace._state.scaled_initializers import Identity as identity
from millrace._state.scaled_initializers import Orthogonal as orthogonal
from millrace._state.scaled_initializers import UniformUnitScaling as uniform_unit_scaling
from millrace._state.scaled_initializers import (
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from millrace._state.tables import tables_initializer
from millrace._state.variable_groups import global_variables_initializer as global_variables
from millrace._state.variable_groups import local_variables_initializer as local_variables
from millrace._state.variable_groups import variables_initializer as variables
