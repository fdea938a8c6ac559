"""Convolutions over images and lines, and their gradients, under TensorFlow's names."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more, nodes_of_rate
from millrace._ops.arrays import concat, expand_dims, reverse, squeeze
from millrace._ops.layers import one_of
from millrace._ops.volumes import conv3d

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "convolution",
    "dilation2d",
    "erosion2d",
]


def four_of(value, data_format, name):
    """A number for each axis of images: from one, one per spatial axis, or all four.

    Raises:
      ValueError: for other counts.
    """
    values = [1] if value is None else [value] if isinstance(value, int) else list(value)
    if len(values) == 4:
        return values
    if len(values) not in (1, 2):
        raise ValueError(f"{name} should be of length 1, 2 or 4 but was {len(values)}")
    spatial = values * 2 if len(values) == 1 else values
    if data_format is not None and data_format.startswith("NC"):
        return [1, 1, *spatial]
    return [1, *spatial, 1]


def paddings(padding, data_format=None):
    """The attributes padding and explicit_paddings of a padding: a word, or [before, after] per axis.

    Raises:
      ValueError: if it is neither; if it pads the batch or the channels.
    """
    if isinstance(padding, str):
        word = padding.upper()
        if word == "EXPLICIT":
            raise ValueError(
                '"EXPLICIT" is not a valid value for the padding: give a list of pairs'
            )
        return {"padding": word}
    if not isinstance(padding, (list, tuple)):
        raise ValueError(f"padding must be SAME, VALID or a list of pairs, not {padding!r}")
    pairs = [list(pair) for pair in padding]
    if len(pairs) != 4 or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"an explicit padding has a pair for each of 4 axes, not {padding!r}")
    channels = 1 if data_format is not None and data_format.startswith("NC") else 3
    if any(pairs[0]) or any(pairs[channels]):
        raise ValueError(
            "Nonzero explicit padding in the batch or depth dimensions is not supported"
        )
    flat = [number for pair in pairs for number in pair]
    # What comes to nothing is said as TensorFlow says it.
    return {"padding": "EXPLICIT", "explicit_paddings": flat} if any(flat) else {"padding": "VALID"}


def windows(strides, padding, data_format, dilations):
    """The attributes that say how filters move, from what a caller gives."""
    data_format = data_format or "NHWC"
    return {
        "strides": four_of(strides, data_format, "strides"),
        "dilations": four_of(dilations, data_format, "dilations"),
        "data_format": data_format,
        **paddings(padding, data_format),
    }


def conv2d(
    input,
    filter=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
    filters=None,
):
    """Moves filters over images and sums the products.

    Args:
      input: a Tensor of shape [batch, height, width, channels], or with channels in axis 1 if
        data_format is "NCHW".
      filter: a Tensor of shape [height, width, channels, outputs].
      strides, dilations: a number, two for height and width, or four for all axes.
      padding: "SAME", "VALID", or a list of [before, after] for each axis.
      use_cudnn_on_gpu: accepted; not used.
      data_format: "NHWC" or "NCHW".
      name: a name for the node.
      filters: the newer name of filter.

    Returns:
      A Tensor of the type of input: images with the filters' outputs as channels.

    Raises:
      ValueError: if sizes do not fit each other.
    """
    return gen_ops.conv2d(
        input,
        one_of("filters", filters, "filter", filter),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        name=name,
        **windows(strides, padding, data_format, dilations),
    )


def conv2d_backprop_input(
    input_sizes,
    filter=None,
    out_backprop=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
    filters=None,
):
    """The gradient of conv2d by its input, whose shape is input_sizes; arguments as there."""
    return gen_ops.conv2d_backprop_input(
        input_sizes,
        one_of("filters", filters, "filter", filter),
        out_backprop,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        name=name,
        **windows(strides, padding, data_format, dilations),
    )


def conv2d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
):
    """The gradient of conv2d by its filter, whose shape is filter_sizes; arguments as there."""
    return gen_ops.conv2d_backprop_filter(
        input,
        filter_sizes,
        out_backprop,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        name=name,
        **windows(strides, padding, data_format, dilations),
    )


def conv2d_transpose(
    value=None,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """The gradient of a conv2d as a layer of its own, which makes images larger.

    Args:
      value: images, a Tensor of 4 axes; `input` is the newer name.
      filter: a Tensor of shape [height, width, outputs, channels of value]; or `filters`.
      output_shape: the shape of the result, four numbers or a Tensor.
      strides, padding, data_format, dilations: of the conv2d whose gradient it is.
      name: a name for the node.

    Raises:
      ValueError: if sizes do not fit each other.
    """
    value = one_of("input", input, "value", value)
    filters = one_of("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filters, output_shape]) as scope:
        return conv2d_backprop_input(
            convert(output_shape, name="output_shape"),
            filters,
            value,
            strides=strides,
            padding=padding,
            data_format=data_format or "NHWC",
            dilations=dilations,
            name=scope,
        )


def atrous_conv2d(value, filters, rate, padding, name=None):
    """conv2d with filters whose elements are `rate` pixels apart."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """conv2d_transpose with filters whose elements are `rate` pixels apart."""
    return conv2d_transpose(
        value,
        filters,
        output_shape,
        strides=1,
        padding=padding,
        dilations=rate,
        name=name or "atrous_conv2d_transpose",
    )


def _flat_format(data_format):
    """The format of lines as that of images of one row."""
    if data_format in (None, "NWC", "NHWC"):
        return "NHWC", 1
    if data_format in ("NCW", "NCHW"):
        return "NCHW", 2
    raise ValueError(f'data_format must be "NWC" or "NCW", not {data_format!r}')


def as_one(value, name):
    """The number for the only spatial axis: from itself, a list of it, or one per axis of lines."""
    if value is None or isinstance(value, int):
        return value or 1
    values = list(value)
    if len(values) == 3:
        return max(values)
    if len(values) != 1:
        raise ValueError(f"{name} should be of length 1 or 3 but was {len(values)}")
    return values[0]


def conv1d(
    value=None,
    filters=None,
    stride=None,
    padding=None,
    use_cudnn_on_gpu=None,
    data_format=None,
    name=None,
    input=None,
    dilations=None,
):
    """Moves filters along lines.

    Args:
      value: a Tensor of shape [batch, width, channels] ("NWC"), or [batch, channels, width] ("NCW").
      filters: a Tensor of shape [width, channels, outputs].
      stride, dilations: numbers.
      padding: "SAME" or "VALID".
      use_cudnn_on_gpu: accepted; not used.
      data_format: "NWC" (so if None) or "NCW".
      name: the name scope.
      input: the newer name of value.
    """
    value = one_of("input", input, "value", value)
    layout, axis = _flat_format(data_format)
    with name_scope(name, "conv1d", [value, filters]):
        made = conv2d(
            expand_dims(value, axis),
            expand_dims(filters, 0),
            four_of([1, as_one(stride, "stride")], layout, "stride"),
            padding,
            data_format=layout,
            dilations=four_of([1, as_one(dilations, "dilations")], layout, "dilations"),
        )
        return squeeze(made, [axis])


def conv1d_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NWC",
    dilations=None,
    name=None,
):
    """The gradient of a conv1d as a layer of its own; filters are [width, outputs, channels]."""
    layout, axis = _flat_format(data_format)
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]):
        sizes = convert(output_shape, name="output_shape")
        made = conv2d_transpose(
            expand_dims(input, axis),
            expand_dims(filters, 0),
            concat([sizes[:axis], [1], sizes[axis:]], 0),
            strides=four_of([1, as_one(strides, "strides")], layout, "strides"),
            padding=padding,
            data_format=layout,
            dilations=four_of([1, as_one(dilations, "dilations")], layout, "dilations"),
        )
        return squeeze(made, [axis])


def convolution(
    input,
    filter=None,
    padding=None,
    strides=None,
    dilation_rate=None,
    name=None,
    data_format=None,
    filters=None,
    dilations=None,
):
    """Moves filters over volumes, images or along lines: conv3d, conv2d or conv1d by the rank of its
    input.

    Args:
      input: a Tensor of 3 to 5 axes.
      filter: [..., channels, outputs]; `filters` is the newer name.
      padding: as for conv2d.
      strides, dilation_rate: a list with a number for each spatial axis, or one number for all.
      name: a name for the node.
      data_format: "NWC", "NCW", "NHWC", "NCHW", "NDHWC" or "NCDHW"; None for channels in the last
        axis.
      dilations: the newer name of dilation_rate.

    Raises:
      ValueError: if input is of another or unknown rank, or sizes do not fit each other.
    """
    filters = one_of("filters", filters, "filter", filter)
    rate = one_of("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, "convolution", [input, filters]) as scope:
        input, filters = convert(input, name="input"), convert(filters, name="filter")
        rank = input.shape.ndims if input.shape.ndims is not None else filters.shape.ndims
        if rate is not None:
            count_more(nodes_of_rate(rate, input, str(data_format), padding))
        if rank == 4:
            return conv2d(
                input,
                filters,
                strides,
                padding,
                data_format=data_format or "NHWC",
                dilations=rate,
                name=scope,
            )
        if rank == 3:
            return conv1d(
                input, filters, strides, padding, None, data_format, scope, dilations=rate
            )
        if rank == 5:
            return conv3d(
                input, filters, strides, padding, data_format or "NDHWC", rate, name=scope
            )
        raise ValueError(
            "convolution needs an input of 3 to 5 axes (lines, images or volumes), not of shape "
            f"{input.shape}"
        )


def dilation2d(
    input,
    filter=None,
    strides=None,
    rates=None,
    padding=None,
    name=None,
    filters=None,
    dilations=None,
):
    """The largest of input + filter in each window: a dilation of grey images.

    Args:
      input: images, a Tensor of 4 axes, with channels in the last.
      filter: a Tensor of shape [height, width, channels]; `filters` is the newer name.
      strides, rates: four numbers each; `dilations` is the newer name of rates.
      padding: "SAME" or "VALID".
      name: a name for the node.
    """
    return gen_ops.dilation2d(
        input,
        one_of("filters", filters, "filter", filter),
        strides=strides,
        rates=one_of("dilations", dilations, "rates", rates),
        padding=padding,
        name=name,
    )


def erosion2d(value, kernel, strides, rates, padding, name=None):
    """The smallest of value - kernel in each window; arguments as for dilation2d."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        dilated = dilation2d(-convert(value), reverse(kernel, [0, 1]), strides, rates, padding)
        return gen_ops.neg(dilated, name=scope)
