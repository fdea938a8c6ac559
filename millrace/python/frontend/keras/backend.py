"""tf.keras.backend: settings, the session of models, functions of Tensors by Keras's names."""

from millrace._keras.activations import elu, hard_sigmoid, relu, sigmoid, softmax, softplus, tanh
from millrace._keras.backend import (
    dot,
    dtype,
    int_shape,
    max,
    mean,
    ndim,
    sqrt,
    sum,
)
from millrace._keras.losses import (
    binary_crossentropy,
    categorical_crossentropy,
    sparse_categorical_crossentropy,
)
from millrace._keras.sessions import (
    batch_get_value,
    batch_set_value,
    clear_session,
    get_session,
    get_value,
    learning_phase,
    set_learning_phase,
    set_session,
    set_value,
)
from millrace._keras.settings import epsilon, floatx, set_epsilon, set_floatx
from millrace._ops.arithmetic import argmax, argmin, cast
from millrace._ops.arrays import expand_dims, reshape, shape, squeeze, stop_gradient
from millrace._ops.clipping import clip_by_value as clip
from millrace._ops.ctc import ctc_batch_cost, ctc_decode, ctc_label_dense_to_sparse
from millrace._ops.gradients import gradients
from millrace._gen import abs, exp, log, maximum, minimum, square
