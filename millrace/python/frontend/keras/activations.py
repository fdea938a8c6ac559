"""tf.keras.activations: functions of each element, by name."""

from millrace._keras.activations import (
    elu,
    exponential,
    get,
    hard_sigmoid,
    linear,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    softsign,
    tanh,
)
