"""tf.keras.activations: functions of each element, by name."""

from millrace._keras.activations import (
    deserialize,
    elu,
    exponential,
    get,
    hard_sigmoid,
    linear,
    relu,
    selu,
    serialize,
    sigmoid,
    softmax,
    softplus,
    softsign,
    tanh,
)
