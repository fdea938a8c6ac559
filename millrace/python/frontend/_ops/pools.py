"""Poolings: the largest or the average of windows over images and lines."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import expand_dims, squeeze
from millrace._ops.convolutions import as_one, four_of, paddings
from millrace._ops.layers import one_of
from millrace._ops.volumes import avg_pool3d, max_pool3d
from millrace._values import dtypes

__all__ = [
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool_with_argmax",
    "pool",
]


def _pooled(op, value, ksize, strides, padding, data_format, name):
    data_format = data_format or "NHWC"
    return op(
        value,
        ksize=four_of(ksize, data_format, "ksize"),
        strides=four_of(strides, data_format, "strides"),
        data_format=data_format,
        name=name,
        **paddings(padding, data_format),
    )


def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """The largest of each window.

    Args:
      value: images, a Tensor of 4 axes; `input` is the newer name.
      ksize, strides: the size of windows and how far one is from the next: a number, two for height
        and width, or four for all axes.
      padding: "SAME", "VALID", or a list of [before, after] for each axis.
      data_format: "NHWC" or "NCHW".
      name: a name for the node.

    Raises:
      ValueError: if no window fits.
    """
    value = one_of("input", input, "value", value)
    with name_scope(name, "MaxPool", [value]) as scope:
        return _pooled(
            gen_ops.max_pool,
            convert(value, name="value"),
            ksize,
            strides,
            padding,
            data_format,
            scope,
        )


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """max_pool under its newer name."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """The average of what the images have of each window; arguments as for max_pool."""
    value = one_of("input", input, "value", value)
    with name_scope(name, "AvgPool", [value]) as scope:
        return _pooled(
            gen_ops.avg_pool,
            convert(value, name="value"),
            ksize,
            strides,
            padding,
            data_format,
            scope,
        )


def avg_pool2d(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """avg_pool under its newer name."""
    return avg_pool(value, ksize, strides, padding, data_format, name or "AvgPool2D", input)


def _along_lines(pooling, input, ksize, strides, padding, data_format, name, default_name):
    first = data_format is not None and data_format.startswith("NC")
    layout, axis = ("NCHW", 2) if first else ("NHWC", 1)
    with name_scope(name, default_name, [input]):
        made = pooling(
            expand_dims(input, axis),
            four_of([1, as_one(ksize, "ksize")], layout, "ksize"),
            four_of([1, as_one(strides, "strides")], layout, "strides"),
            padding,
            layout,
        )
        return squeeze(made, [axis])


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The largest of each window along lines of shape [batch, width, channels], or "NCW"."""
    return _along_lines(max_pool, input, ksize, strides, padding, data_format, name, "MaxPool1d")


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The average of each window along lines of shape [batch, width, channels], or "NCW"."""
    return _along_lines(avg_pool, input, ksize, strides, padding, data_format, name, "AvgPool1D")


def max_pool_with_argmax(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    Targmax=None,
    name=None,
    output_dtype=None,
    include_batch_in_index=False,
):
    """The largest of each window, and where it is.

    Args:
      input: images, a Tensor of shape [batch, height, width, channels].
      ksize, strides, padding: as for max_pool; padding is a word.
      data_format: must be "NHWC".
      Targmax: int32 or int64 (so if None); output_dtype is the newer name.
      name: a name for the nodes.
      include_batch_in_index: whether elements are counted in the batch, and not in their image.

    Returns:
      (output, argmax): argmax is the number of an element, (row * width + column) * channels +
      channel.

    Raises:
      ValueError: if the format is another, or no window fits.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    dtype = one_of("output_dtype", output_dtype, "Targmax", Targmax)
    return gen_ops.max_pool_with_argmax(
        input,
        ksize=four_of(ksize, data_format, "ksize"),
        strides=four_of(strides, data_format, "strides"),
        padding=padding,
        Targmax=dtypes.int64 if dtype is None else dtype,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def pool(
    input,
    window_shape,
    pooling_type,
    padding,
    dilation_rate=None,
    strides=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """The largest or the average of each window, over volumes, images or along lines.

    Args:
      input: a Tensor of 3 to 5 axes.
      window_shape, strides: a list with a number for each spatial axis; strides are 1 if None.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate: must be 1.
      name: the name scope.
      data_format: "NWC", "NCW", "NHWC", "NCHW", "NDHWC" or "NCDHW"; None for channels in the last
        axis.

    Raises:
      ValueError: if the rank or the type is another. NotImplementedError: for dilated windows.
    """
    rate = one_of("dilations", dilations, "dilation_rate", dilation_rate)
    if rate is not None and any(each != 1 for each in ([rate] if isinstance(rate, int) else rate)):
        raise NotImplementedError("pool has no dilated windows: leave dilation_rate out")
    kinds = {"MAX": (max_pool1d, max_pool, max_pool3d), "AVG": (avg_pool1d, avg_pool, avg_pool3d)}
    if pooling_type not in kinds:
        raise ValueError(f"pooling_type must be MAX or AVG, not {pooling_type!r}")
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]):
        input = convert(input, name="input")
        if input.shape.ndims not in (3, 4, 5):
            raise ValueError(
                "pool needs an input of 3 to 5 axes (lines, images or volumes), not of shape "
                f"{input.shape}"
            )
        pooling = kinds[pooling_type][input.shape.ndims - 3]
        default_format = ["NWC", "NHWC", "NDHWC"][input.shape.ndims - 3]
        return pooling(input, window_shape, strides, padding, data_format or default_format)
