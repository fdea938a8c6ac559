"""tf.contrib.slim: the layers and regularizers of tf.contrib.layers, and argument scopes."""

from millrace._layers.arg_scopes import add_arg_scope, arg_scope, arg_scoped_arguments
from millrace._layers.contrib_convolutions import (
    avg_pool2d,
    convolution,
    convolution2d,
    convolution2d_transpose,
    max_pool2d,
    separable_convolution2d,
)
from millrace._layers.contrib_layers import batch_norm, dropout, flatten, fully_connected
from millrace._layers.regularizers import l1_l2_regularizer, l1_regularizer, l2_regularizer
from millrace._state.found_variables import (
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    local_variable,
)
from millrace._train.global_steps import (
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from millrace.contrib import layers
from millrace.contrib.slim import model_analyzer, utils

conv2d = convolution2d
conv2d_transpose = convolution2d_transpose
separable_conv2d = separable_convolution2d
