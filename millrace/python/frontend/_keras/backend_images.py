"""Functions of tf.keras.backend for lines, images and volumes."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._keras.settings import format_or_default
from millrace._layers.convolutions import format_of, op_format, padding_of, sizes_of
from millrace._ops.arrays import pad, stack, transpose
from millrace._ops.arrays import shape as shape_of
from millrace._ops.broadcasting import repeat
from millrace._ops.convolutions import conv2d_transpose as nn_conv2d_transpose
from millrace._ops.convolutions import convolution
from millrace._ops.depthwise import depthwise_conv2d as nn_depthwise_conv2d
from millrace._ops.depthwise import separable_conv2d as nn_separable_conv2d
from millrace._ops.layers import bias_add as nn_bias_add
from millrace._ops.pools import pool


def _format(data_format):
    return format_of(format_or_default(data_format))


def _convolved(x, kernel, strides, padding, data_format, dilation_rate, rank):
    return convolution(
        x,
        kernel,
        padding_of(padding).upper(),
        strides=sizes_of(strides, rank, "strides"),
        dilation_rate=sizes_of(dilation_rate, rank, "dilation_rate"),
        data_format=op_format(_format(data_format), rank),
    )


def conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Filters moved along lines; a padding of "causal" looks at what is before alone."""
    if padding == "causal":
        reach = (convert(kernel).shape.as_list()[0] - 1) * dilation_rate
        x, padding = temporal_padding(x, (reach, 0)), "valid"
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, 1)


def conv2d(x, kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
    """Filters [height, width, channels, outputs] moved over images."""
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, 2)


def conv3d(
    x, kernel, strides=(1, 1, 1), padding="valid", data_format=None, dilation_rate=(1, 1, 1)
):
    """Filters [depth, height, width, channels, outputs] moved over volumes."""
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, 3)


def conv2d_transpose(x, kernel, output_shape, strides=(1, 1), padding="valid", data_format=None):
    """What conv2d would have made x of, a Tensor of output_shape; kernel: [height, width, outputs, channels]."""
    sizes = [shape_of(x)[0] if i == 0 and not n else n for i, n in enumerate(output_shape)]
    return nn_conv2d_transpose(
        x,
        kernel,
        stack([convert(size) for size in sizes]),
        strides=sizes_of(strides, 2, "strides"),
        padding=padding_of(padding).upper(),
        data_format=op_format(_format(data_format), 2),
    )


def _four(strides, data_format):
    two = sizes_of(strides, 2, "strides")
    return [1, 1, *two] if data_format == "channels_first" else [1, *two, 1]


def depthwise_conv2d(
    x, depthwise_kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)
):
    """Filters [height, width, channels, multiplier] for each channel alone."""
    data_format = _format(data_format)
    return nn_depthwise_conv2d(
        x,
        depthwise_kernel,
        _four(strides, data_format),
        padding_of(padding).upper(),
        rate=sizes_of(dilation_rate, 2, "dilation_rate"),
        data_format=op_format(data_format, 2),
    )


def separable_conv2d(
    x,
    depthwise_kernel,
    pointwise_kernel,
    strides=(1, 1),
    padding="valid",
    data_format=None,
    dilation_rate=(1, 1),
):
    """depthwise_conv2d, then filters [1, 1, channels * multiplier, outputs]."""
    data_format = _format(data_format)
    return nn_separable_conv2d(
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides=_four(strides, data_format),
        padding=padding_of(padding).upper(),
        rate=sizes_of(dilation_rate, 2, "dilation_rate"),
        data_format=op_format(data_format, 2),
    )


def _pooled(x, pool_size, strides, padding, data_format, pool_mode, rank):
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {pool_mode}; there are 'max' and 'avg'")
    return pool(
        x,
        sizes_of(pool_size, rank, "pool_size"),
        pool_mode.upper(),
        padding_of(padding).upper(),
        strides=sizes_of(strides, rank, "strides"),
        data_format=op_format(_format(data_format), rank),
    )


def pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
    """The largest ("max") or the average ("avg") of windows over images."""
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode, 2)


def pool3d(x, pool_size, strides=(1, 1, 1), padding="valid", data_format=None, pool_mode="max"):
    """The largest ("max") or the average ("avg") of windows over volumes."""
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode, 3)


def bias_add(x, bias, data_format=None):
    """x + bias along the channels: a vector, or of the shape of a sample."""
    x, bias = convert(x), convert(bias)
    is_first = _format(data_format) == "channels_first"
    if bias.shape.ndims == 1:
        return nn_bias_add(x, bias, data_format="NCHW" if is_first else "NHWC")
    if bias.shape.ndims != x.shape.ndims - 1:
        raise ValueError(
            f"Unexpected bias dimensions {bias.shape.ndims}, expect to be 1 or {x.shape.ndims - 1}"
        )
    if is_first:
        bias = transpose(bias, [bias.shape.ndims - 1, *range(bias.shape.ndims - 1)])
    return x + bias


def resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    """Images that are larger by whole factors; interpolation: "nearest" or "bilinear"."""
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    x, is_first = convert(x), _format(data_format) == "channels_first"
    images = transpose(x, [0, 2, 3, 1]) if is_first else x
    resize = (
        gen_ops.resize_bilinear if interpolation == "bilinear" else gen_ops.resize_nearest_neighbor
    )
    factors = [height_factor, width_factor]
    made = resize(images, shape_of(images)[1:3] * factors, half_pixel_centers=True)
    known = images.shape.as_list()
    larger = [None if n is None else n * by for n, by in zip(known[1:3], factors)]
    made.set_shape([known[0], *larger, known[3]])
    return transpose(made, [0, 3, 1, 2]) if is_first else made


def resize_volumes(x, depth_factor, height_factor, width_factor, data_format):
    """Volumes with each element as often as the factors say."""
    first = 2 if _format(data_format) == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor)):
        x = repeat(x, factor, axis=first + axis)
    return x


def temporal_padding(x, padding=(1, 1)):
    """[batch, time, features] with so many zeros before and after."""
    return pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    """Images with ((above, below), (left, right)) zeros."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(x, padding=((1, 1), (1, 1), (1, 1)), data_format=None):
    """Volumes with pairs of zeros before and after along depth, height, width."""
    return _padded(x, padding, data_format)


def _padded(x, padding, data_format):
    around = [list(pair) for pair in padding]
    if _format(data_format) == "channels_first":
        return pad(x, [[0, 0], [0, 0], *around])
    return pad(x, [[0, 0], *around, [0, 0]])
