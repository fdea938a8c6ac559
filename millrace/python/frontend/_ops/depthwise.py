"""Convolutions of each channel alone, under TensorFlow's names."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.convolutions import conv2d, windows
from millrace._ops.layers import one_of

__all__ = [
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "separable_conv2d",
]


def depthwise_conv2d_native(
    input, filter, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None
):
    """Convolves each channel with filters of its own.

    Args:
      input: images, a Tensor of 4 axes.
      filter: a Tensor of shape [height, width, channels, outputs of each channel].
      strides, padding, data_format, dilations, name: as for conv2d.
    """
    return gen_ops.depthwise_conv2d_native(
        input, filter, name=name, **windows(strides, padding, data_format, dilations)
    )


def depthwise_conv2d_native_backprop_input(
    input_sizes,
    filter,
    out_backprop,
    strides,
    padding,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
):
    """The gradient of depthwise_conv2d_native by its input, whose shape is input_sizes."""
    return gen_ops.depthwise_conv2d_native_backprop_input(
        input_sizes,
        filter,
        out_backprop,
        name=name,
        **windows(strides, padding, data_format, dilations),
    )


def depthwise_conv2d_native_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
):
    """The gradient of depthwise_conv2d_native by its filter, whose shape is filter_sizes."""
    return gen_ops.depthwise_conv2d_native_backprop_filter(
        input,
        filter_sizes,
        out_backprop,
        name=name,
        **windows(strides, padding, data_format, dilations),
    )


def depthwise_conv2d(
    input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None
):
    """depthwise_conv2d_native, with `rate` (or dilations) as one number or two for height and width."""
    rate = one_of("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        count_more(2)  # the filter's shape and the rate as constants
        return depthwise_conv2d_native(
            convert(input, name="tensor_in"),
            convert(filter, name="filter_in"),
            strides,
            padding,
            data_format=data_format or "NHWC",
            dilations=rate,
            name=scope,
        )


def separable_conv2d(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    rate=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """A depthwise convolution, then one of 1 x 1 that mixes channels.

    Args:
      input: images, a Tensor of 4 axes.
      depthwise_filter: [height, width, channels, outputs of each channel].
      pointwise_filter: [1, 1, channels * outputs of each channel, outputs].
      strides, padding, data_format, rate: as for depthwise_conv2d.
      name: the name scope.

    Raises:
      ValueError: if the pointwise filter is not 1 x 1, or sizes do not fit each other.
    """
    rate = one_of("dilations", dilations, "rate", rate)
    data_format = data_format or "NHWC"
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        pointwise = convert(pointwise_filter, name="pointwise_filter")
        if not pointwise.shape[:2].is_compatible_with([1, 1]):
            raise ValueError(
                f"pointwise_filter must have shape [1, 1, ...], not {pointwise.shape.as_list()}"
            )
        count_more(2)  # the filter's shape and the rate as constants
        depthwise = depthwise_conv2d_native(
            input,
            depthwise_filter,
            strides,
            padding,
            data_format=data_format,
            dilations=rate,
            name="depthwise",
        )
        return conv2d(depthwise, pointwise, 1, "VALID", data_format=data_format, name=scope)
