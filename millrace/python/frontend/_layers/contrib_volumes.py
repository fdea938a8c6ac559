"""tf.contrib.layers' convolutions and poolings along lines and over volumes, and of planes by one filter."""

import inspect

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_convolutions import convolution, convolution2d, pooling, transposed
from millrace._layers.contrib_layers import collect_variables, finished
from millrace._layers.convolutions import Conv3DTranspose, sizes_of
from millrace._layers.pools import AveragePooling3D, MaxPooling3D
from millrace._ops.arrays import tile
from millrace._ops.depthwise import depthwise_conv2d
from millrace._ops.layers import bias_add
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.scaled_initializers import xavier_initializer


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


convolution3d_transpose = transposed(
    Conv3DTranspose, "Conv3d_transpose", "NDHWC", "convolution3d_transpose"
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


max_pool3d = pooling(
    MaxPooling3D,
    "MaxPool3D",
    "NDHWC",
    "max_pool3d",
    "The largest of each window over volumes; sizes are a number, or three.",
)
avg_pool3d = pooling(
    AveragePooling3D,
    "AvgPool3D",
    "NDHWC",
    "avg_pool3d",
    "The average of each window over volumes; arguments as for max_pool3d.",
)
