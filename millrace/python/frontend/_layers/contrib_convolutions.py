"""tf.contrib.layers' convolutions and poolings: under its names of variables, with its defaults."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._layers.arg_scopes import add_arg_scope
from millrace._layers.contrib_layers import collect_variables, collected, finished
from millrace._layers.convolutions import Conv1D, Conv2D, Conv2DTranspose, Conv3D, sizes_of
from millrace._layers.pools import AveragePooling2D, MaxPooling2D
from millrace._layers.separable import SeparableConv2D
from millrace._ops.depthwise import depthwise_conv2d
from millrace._ops.layers import bias_add
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.scaled_initializers import xavier_initializer

_VARIABLES = {
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}


def renamed(layer):
    """A class of layers with tf.contrib's names of variables."""

    class Renamed(layer):
        def add_weight(self, name, shape, **kwargs):
            return super().add_weight(_VARIABLES[name], shape, **kwargs)

    return Renamed


_OF_RANK = {3: renamed(Conv1D), 4: renamed(Conv2D), 5: renamed(Conv3D)}
_SeparableConv2D = renamed(SeparableConv2D)


def words_of(data_format):
    """tf.layers' word for the letters of a format."""
    if data_format in (None, "NHWC", "NWC", "NDHWC"):
        return "channels_last"
    if data_format in ("NCHW", "NCW", "NCDHW"):
        return "channels_first"
    raise ValueError("data_format has to be either NCHW or NHWC.")


@add_arg_scope
def convolution(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=None,
    rate=1,
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
    conv_dims=None,
):
    """activation_fn(filters moved over volumes, images or along lines + biases), or of what normalizer_fn makes.

    Args:
      inputs: volumes, images or lines, a Tensor of 5 to 3 axes.
      num_outputs: the number of filters.
      kernel_size, stride, rate: a number, or one per spatial axis.
      padding: "SAME" or "VALID".
      data_format: "NDHWC", "NCDHW", "NHWC", "NCHW", "NWC" or "NCW"; None for channels in the last axis.
      conv_dims: the number of spatial axes that inputs must have; None for any.
      scope: the variable scope; "Conv" by default. Variables are `weights` and `biases`.
      Others: as for fully_connected.

    Raises:
      ValueError: if the rank, the format or a size is none of these.
    """
    with variable_scope(scope, "Conv", [inputs], reuse=reuse) as inner:
        inputs = convert(inputs)
        rank = inputs.shape.ndims
        if rank not in _OF_RANK or conv_dims is not None and conv_dims + 2 != rank:
            wanted = f"{conv_dims + 2}" if conv_dims is not None else "3 to 5"
            raise ValueError(
                f"Convolution expects input with rank {wanted}, got {rank}: {inputs.shape}"
            )
        layer = _OF_RANK[rank](
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=words_of(data_format),
            dilation_rate=rate,
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
        outputs = layer(inputs)
        collect_variables({"weights": layer.kernel, "biases": layer.bias}, variables_collections)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


@add_arg_scope
def convolution2d(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=None,
    rate=1,
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
    """`convolution` over images."""
    return convolution(
        inputs,
        num_outputs,
        kernel_size,
        stride,
        padding,
        data_format,
        rate,
        activation_fn,
        normalizer_fn,
        normalizer_params,
        weights_initializer,
        weights_regularizer,
        biases_initializer,
        biases_regularizer,
        reuse,
        variables_collections,
        outputs_collections,
        trainable,
        scope,
        conv_dims=2,
    )


def transposed(layer, default_scope, data_format, name):
    """The arg_scope function `name` that makes such a layer, whose class this is, of tf.layers' own."""
    kind = renamed(layer)

    def convolved(
        inputs,
        num_outputs,
        kernel_size,
        stride=1,
        padding="SAME",
        data_format=data_format,
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
        with variable_scope(scope, default_scope, [inputs], reuse=reuse) as inner:
            layer = kind(
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
            collect_variables(
                {"weights": layer.kernel, "biases": layer.bias}, variables_collections
            )
            return finished(
                outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
            )

    convolved.__name__ = convolved.__qualname__ = name
    convolved.__doc__ = f"""The gradient of a convolution as a layer of its own.

    Args and errors: as for convolution; scope "{default_scope}" by default.
    """
    return add_arg_scope(convolved)


convolution2d_transpose = transposed(
    Conv2DTranspose, "Conv2d_transpose", "NHWC", "convolution2d_transpose"
)


def _depthwise(inputs, kernel, multiplier, strides, padding, data_format, rate, variables):
    """(outputs, {"depthwise_weights": their variable}) of filters for each channel alone."""
    axis = 1 if words_of(data_format) == "channels_first" else 3
    channels = inputs.shape.as_list()[axis] if inputs.shape.ndims == 4 else None
    if channels is None:
        raise ValueError(
            "separable_conv2d needs images with a known number of channels, got inputs of shape "
            f"{inputs.shape}"
        )
    weights = get_variable(
        "depthwise_weights", [*kernel, channels, multiplier], inputs.dtype.base_dtype, **variables
    )
    four = [1, *strides, 1] if axis == 3 else [1, 1, *strides]
    made = depthwise_conv2d(inputs, weights, four, padding, list(rate), data_format=data_format)
    return made, {"depthwise_weights": weights}


@add_arg_scope
def separable_convolution2d(
    inputs,
    num_outputs,
    kernel_size,
    depth_multiplier=1,
    stride=1,
    padding="SAME",
    data_format="NHWC",
    rate=1,
    activation_fn=gen_ops.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=xavier_initializer(),
    pointwise_initializer=None,
    weights_regularizer=None,
    biases_initializer=zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """A depthwise convolution, then one of 1 x 1; scope "SeparableConv2d" by default.

    Args: as for convolution, and
      num_outputs: of the second; None for the first alone.
      depth_multiplier: the number of outputs that the first makes of each channel.
      pointwise_initializer: of the second; weights_initializer if None.

    Raises:
      ValueError: if the rank, the format or a size is none of these, or there is no known number of channels.
    """
    with variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse) as inner:
        if num_outputs is None:
            variables = {
                "initializer": weights_initializer,
                "regularizer": weights_regularizer,
                "trainable": trainable,
            }
            outputs, made = _depthwise(
                convert(inputs),
                sizes_of(kernel_size, 2, "kernel_size"),
                depth_multiplier,
                sizes_of(stride, 2, "stride"),
                padding,
                data_format,
                sizes_of(rate, 2, "rate"),
                variables,
            )
            if normalizer_fn is None and biases_initializer is not None:
                channels = outputs.shape.as_list()[1 if data_format.startswith("NC") else -1]
                made["biases"] = get_variable(
                    "biases",
                    [channels],
                    outputs.dtype,
                    initializer=biases_initializer,
                    regularizer=biases_regularizer,
                    trainable=trainable,
                )
                outputs = bias_add(outputs, made["biases"], data_format=data_format)
            collect_variables(made, variables_collections)
            return finished(
                outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
            )
        layer = _SeparableConv2D(
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=words_of(data_format),
            dilation_rate=rate,
            depth_multiplier=depth_multiplier,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer,
            bias_initializer=biases_initializer,
            depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=inner.name,
            _scope=inner,
            _reuse=reuse,
        )
        outputs = layer(convert(inputs))
        made = {
            "depthwise_weights": layer.depthwise_kernel,
            "pointwise_weights": layer.pointwise_kernel,
            "biases": layer.bias,
        }
        collect_variables(made, variables_collections)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections
        )


def pooling(layer, default_scope, data_format, name, doc):
    """The arg_scope function `name` of poolings by such a layer."""

    def pooled(
        inputs,
        kernel_size,
        stride=2,
        padding="VALID",
        data_format=data_format,
        outputs_collections=None,
        scope=None,
    ):
        with name_scope(scope, default_scope, [inputs]) as inner:
            made = layer(kernel_size, stride, padding, words_of(data_format))(convert(inputs))
            return collected(made, outputs_collections, inner)

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = doc
    return add_arg_scope(pooled)


max_pool2d = pooling(
    MaxPooling2D,
    "MaxPool2D",
    "NHWC",
    "max_pool2d",
    "The largest of each window over images; sizes are a number, or two for height and width.",
)
avg_pool2d = pooling(
    AveragePooling2D,
    "AvgPool2D",
    "NHWC",
    "avg_pool2d",
    "The average of each window over images; arguments as for max_pool2d.",
)
