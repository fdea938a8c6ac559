"""tf.keras.backend: settings, the session of models, functions of Tensors by Keras's names."""

from millrace._flow.functional import foldl, foldr, map_fn
from millrace._gen import (
    abs,
    cos,
    exp,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    maximum,
    minimum,
    pow,
    sign,
    sin,
    square,
)
from millrace._graph.default_graph import name_scope
from millrace._keras.activations import (
    elu,
    hard_sigmoid,
    relu,
    sigmoid,
    softmax,
    softplus,
    softsign,
    tanh,
)
from millrace._keras.backend import (
    all,
    any,
    arange,
    batch_dot,
    batch_flatten,
    batch_normalization,
    cast_to_floatx,
    concatenate,
    dot,
    dropout,
    dtype,
    flatten,
    in_test_phase,
    in_train_phase,
    int_shape,
    is_sparse,
    l2_normalize,
    max,
    mean,
    min,
    ndim,
    normalize_batch_in_training,
    one_hot,
    permute_dimensions,
    print_tensor,
    prod,
    repeat,
    repeat_elements,
    sqrt,
    std,
    sum,
    switch,
    tile,
    to_dense,
    transpose,
    var,
)
from millrace._keras.backend_images import (
    bias_add,
    conv1d,
    conv2d,
    conv2d_transpose,
    conv3d,
    depthwise_conv2d,
    pool2d,
    pool3d,
    resize_images,
    resize_volumes,
    separable_conv2d,
    spatial_2d_padding,
    spatial_3d_padding,
    temporal_padding,
)
from millrace._keras.backend_values import (
    backend,
    constant,
    count_params,
    eye,
    function,
    get_uid,
    learning_phase_scope,
    moving_average_update,
    ones,
    ones_like,
    placeholder,
    random_binomial,
    random_normal,
    random_normal_variable,
    random_uniform,
    random_uniform_variable,
    reset_uids,
    truncated_normal,
    update,
    update_add,
    update_sub,
    variable,
    zeros,
    zeros_like,
)
from millrace._keras.local_layers import local_conv1d, local_conv2d
from millrace._keras.loops import rnn
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
from millrace._keras.settings import (
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
)
from millrace._ops.arithmetic import argmax, argmin, cast, cumsum, equal, not_equal, round
from millrace._ops.arrays import (
    expand_dims,
    gather,
    reshape,
    reverse,
    shape,
    squeeze,
    stack,
    stop_gradient,
)
from millrace._ops.clipping import clip_by_value as clip
from millrace._ops.ctc import ctc_batch_cost, ctc_decode, ctc_label_dense_to_sparse
from millrace._ops.gradients import gradients
from millrace._ops.layers import in_top_k
from millrace._ops.rearranging import cumprod

eval = get_value
