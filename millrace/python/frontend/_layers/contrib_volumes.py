"""tf.contrib.layers' convolutions and poolings along lines and over volumes, and of planes by one filter."""

import inspect

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_convolutions import convolution, convolution2d, renamed, words_of
from millrace._layers.contrib_layers import collect_variables, collected, finished
from millrace._layers.convolutions import Conv3DTranspose, sizes_of
from millrace._layers.pools import AveragePooling3D, MaxPooling3D
from millrace._ops.arrays import tile
from millrace._ops.depthwise import depthwise_conv2d
from millrace._ops.layers import bias_add
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.scaled_initializers import xavier_initializer

_Conv3DTranspose = renamed(Conv3DTranspose)


def _of_dims(dims, name, doc):
    """`convolution` with so many spatial axes, an arg_scope function of its own."""

    def over(*args, **kwargs):
        bound = parameters.bind(*args, **kwargs)
        return convolution(*bound.args, **bound.kwargs, conv_dims=dims)

    parameters = inspect.signature(inspect.unwrap(convolution2d))
    over.__signature__ = parameters
    over.__name__ = over.__qualname__ = name
    over.__doc__ = doc
    return add_arg_scope(over)


convolution1d = _of_dims(1, "convolution1d", "`convolution` along lines: arguments as there.")
convolution3d = _of_dims(3, "convolution3d", "`convolution` over volumes: arguments as there.")


@add_arg_scope
def convolution3d_transpose(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format="NDHWC",
    activation_fn=gen_ops.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """The gradient of a convolution over volumes as a layer of its own.

    Args and errors: as for convolution; scope "Conv3d_transpose" by default.
    """
    with variable_scope(scope, "Conv3d_transpose", [inputs], reuse=reuse) as inner:
        layer = _Conv3DTranspose(
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=words_of(data_format),
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=inner.name,
            _scope=inner,
            _reuse=reuse,
        )
        outputs = layer(convert(inputs))
        collect_variables({"weights": layer.kernel, "biases": layer.bias}, variables_collections)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


@add_arg_scope
def convolution2d_in_plane(
    inputs,
    kernel_size,
    stride=1,
    padding="SAME",
    activation_fn=gen_ops.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """One filter moved over each channel of images alone: a blur, say, or a slope.

    Args:
      inputs: images, a Tensor of shape [batch, height, width, channels].
      kernel_size, stride: a number, or one per spatial axis.
      scope: the variable scope; "ConvInPlane" by default. Variables are `weights`, of shape
        [height, width, 1, 1], and `biases`, one per channel.
      Others: as for convolution.

    Raises:
      ValueError: if the number of channels is not known.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse):
        inputs = convert(inputs)
        dtype = inputs.dtype.base_dtype
        channels = inputs.shape.as_list()[3] if inputs.shape.ndims == 4 else None
        if channels is None:
            raise ValueError(
                "convolution2d_in_plane needs images with a known number of channels in axis 3, got "
                f"inputs of shape {inputs.shape}"
            )
        weights = get_variable(
            "weights",
            [*sizes_of(kernel_size, 2, "kernel_size"), 1, 1],
            dtype,
            initializer=weights_initializer,
            regularizer=weights_regularizer,
            trainable=trainable,
        )
        strides = [1, *sizes_of(stride, 2, "stride"), 1]
        outputs = depthwise_conv2d(inputs, tile(weights, [1, 1, channels, 1]), strides, padding)
        biases = None
        if normalizer_fn is None and biases_initializer is not None:
            biases = get_variable(
                "biases",
                [channels],
                dtype,
                initializer=biases_initializer,
                regularizer=biases_regularizer,
                trainable=trainable,
            )
            outputs = bias_add(outputs, biases)
        collect_variables({"weights": weights, "biases": biases}, variables_collections)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


def _pooling(layer, default_scope, inputs, sizes, outputs_collections, scope):
    kernel_size, stride, padding, data_format = sizes
    with name_scope(scope, default_scope, [inputs]) as inner:
        made = layer(kernel_size, stride, padding, words_of(data_format))(convert(inputs))
        return collected(made, outputs_collections, inner)


@add_arg_scope
def max_pool3d(
    inputs,
    kernel_size,
    stride=2,
    padding="VALID",
    data_format="NDHWC",
    outputs_collections=None,
    scope=None,
):
    """The largest of each window over volumes; sizes are a number, or three."""
    sizes = kernel_size, stride, padding, data_format
    return _pooling(MaxPooling3D, "MaxPool3D", inputs, sizes, outputs_collections, scope)


@add_arg_scope
def avg_pool3d(
    inputs,
    kernel_size,
    stride=2,
    padding="VALID",
    data_format="NDHWC",
    outputs_collections=None,
    scope=None,
):
    """The average of each window over volumes; arguments as for max_pool3d."""
    sizes = kernel_size, stride, padding, data_format
    return _pooling(AveragePooling3D, "AvgPool3D", inputs, sizes, outputs_collections, scope)
