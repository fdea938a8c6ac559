"""tf.keras.initializers: what variables begin with, with Keras's names."""

from millrace._keras.named import deserialize_initializer as deserialize
from millrace._keras.named import initializer as get
from millrace._keras.named import serialize_initializer as serialize
from millrace._state.initializers import Constant, Initializer, Ones, VarianceScaling, Zeros
from millrace._state.initializers import glorot_normal_initializer as glorot_normal
from millrace._state.initializers import glorot_uniform_initializer as glorot_uniform
from millrace._state.keras_initializers import RandomNormal, RandomUniform, TruncatedNormal
from millrace._state.scaled_initializers import (
    Identity,
    Orthogonal,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)

constant = Constant
identity = Identity
normal = random_normal = RandomNormal
ones = one = Ones
orthogonal = Orthogonal
truncated_normal = TruncatedNormal
uniform = random_uniform = RandomUniform
zeros = zero = Zeros
