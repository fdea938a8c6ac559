"""Convolutions and poolings over volumes, under TensorFlow's names."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.layers import one_of

__all__ = [
    "avg_pool3d",
    "conv3d",
    "conv3d_transpose",
    "max_pool3d",
]


def five_of(value, data_format, name):
    """A number for each axis of volumes: from one, one per spatial axis, or all five.

    Raises:
      ValueError: for other counts.
    """
    values = [1] if value is None else [value] if isinstance(value, int) else list(value)
    if len(values) == 5:
        return values
    if len(values) not in (1, 3):
        raise ValueError(f"{name} should be of length 1, 3 or 5 but was {len(values)}")
    spatial = values * 3 if len(values) == 1 else values
    return [1, 1, *spatial] if data_format.startswith("NC") else [1, *spatial, 1]


def _windows(strides, padding, data_format, dilations):
    data_format = data_format or "NDHWC"
    return {
        "strides": five_of(strides, data_format, "strides"),
        "padding": padding,
        "data_format": data_format,
        "dilations": five_of(dilations, data_format, "dilations"),
    }


def conv3d(
    input,
    filter=None,
    strides=None,
    padding=None,
    data_format="NDHWC",
    dilations=(1, 1, 1, 1, 1),
    name=None,
    filters=None,
):
    """Moves filters over volumes and sums the products.

    Args:
      input: a Tensor of shape [batch, depth, height, width, channels], or with channels in axis 1 if
        data_format is "NCDHW".
      filter: a Tensor of shape [depth, height, width, channels, outputs]; or `filters`.
      strides, dilations: a number, three for depth, height and width, or five for all axes.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: a name for the node.

    Raises:
      ValueError: if sizes do not fit each other.
    """
    filters = one_of("filters", filters, "filter", filter)
    return gen_ops.conv3d(
        input, filters, name=name, **_windows(strides, padding, data_format, dilations)
    )


def conv3d_transpose(
    value,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NDHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """The gradient of a conv3d as a layer of its own, which makes volumes larger.

    Args:
      value: volumes, a Tensor of 5 axes; `input` is the newer name.
      filter: a Tensor of shape [depth, height, width, outputs, channels of value]; or `filters`.
      output_shape: the shape of the result, five numbers or a Tensor.
      strides, padding, data_format, dilations: of the conv3d whose gradient it is.
      name: a name for the node.

    Raises:
      ValueError: if sizes do not fit each other.
    """
    value = one_of("input", input, "value", value)
    filters = one_of("filters", filters, "filter", filter)
    with name_scope(name, "conv3d_transpose", [value, filters, output_shape]) as scope:
        return gen_ops.conv3d_backprop_input_v2(
            convert(output_shape, name="output_shape"),
            filters,
            value,
            name=scope,
            **_windows(strides, padding, data_format, dilations),
        )


def _pooled(op, input, ksize, strides, padding, data_format, name):
    data_format = data_format or "NDHWC"
    return op(
        convert(input, name="input"),
        ksize=five_of(ksize, data_format, "ksize"),
        strides=five_of(strides, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The largest of each window over volumes.

    Args:
      input: a Tensor of 5 axes.
      ksize, strides: the size of windows and how far one is from the next: a number, three for
        depth, height and width, or five for all axes.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: a name for the node.

    Raises:
      ValueError: if no window fits.
    """
    with name_scope(name, "MaxPool3D", [input]) as scope:
        return _pooled(gen_ops.max_pool3d, input, ksize, strides, padding, data_format, scope)


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The average of what volumes have of each window; arguments as for max_pool3d."""
    with name_scope(name, "AvgPool3D", [input]) as scope:
        return _pooled(gen_ops.avg_pool3d, input, ksize, strides, padding, data_format, scope)
