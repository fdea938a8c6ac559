"""Layers of the largest or the average of windows."""

from millrace._layers.convolutions import (
    format_of,
    op_format,
    output_length,
    padding_of,
    sizes_of,
)
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._ops.pools import avg_pool, avg_pool1d, max_pool, max_pool1d
from millrace._ops.volumes import avg_pool3d, max_pool3d
from millrace._values.tensor_shape import TensorShape


class _Pooling(Layer):
    """What poolings have in common; see MaxPooling2D for the arguments."""

    rank = 2
    pooling = staticmethod(max_pool)

    def __init__(
        self,
        pool_size,
        strides,
        padding="valid",
        data_format="channels_last",
        name=None,
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self.pool_size = sizes_of(pool_size, self.rank, "pool_size")
        self.strides = sizes_of(pool_size if strides is None else strides, self.rank, "strides")
        self.padding = padding_of(padding)
        self.data_format = format_of(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs):
        return type(self).pooling(
            inputs,
            self.pool_size,
            self.strides,
            self.padding.upper(),
            op_format(self.data_format, self.rank),
        )

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        first = 2 if self.data_format == "channels_first" else 1
        for axis in range(self.rank):
            sizes[first + axis] = output_length(
                sizes[first + axis], self.pool_size[axis], self.padding, self.strides[axis]
            )
        return TensorShape(sizes)


class MaxPooling1D(_Pooling):
    """The largest of each window along lines; arguments as for MaxPooling2D, with single numbers."""

    rank = 1
    pooling = staticmethod(max_pool1d)


class AveragePooling1D(_Pooling):
    """The average of each window along lines; arguments as for MaxPooling2D, with single numbers."""

    rank = 1
    pooling = staticmethod(avg_pool1d)


class MaxPooling2D(_Pooling):
    """The largest of each window over images.

    Args:
      pool_size: the size of windows: a number, or two for height and width.
      strides: how far one is from the next, likewise; pool_size if None.
      padding: "valid" or "same", in any case of letters.
      data_format: "channels_last" for images [batch, height, width, channels], or "channels_first".
      name: its name.

    Raises:
      ValueError: if an argument is none of these; when called, if the rank is another.
    """


class AveragePooling2D(_Pooling):
    """The average of what images have of each window; arguments as for MaxPooling2D."""

    pooling = staticmethod(avg_pool)


class MaxPooling3D(_Pooling):
    """The largest of each window over volumes; arguments as for MaxPooling2D, with three numbers."""

    rank = 3
    pooling = staticmethod(max_pool3d)


class AveragePooling3D(_Pooling):
    """The average of each window over volumes; arguments as for MaxPooling2D, with three numbers."""

    rank = 3
    pooling = staticmethod(avg_pool3d)


def max_pooling1d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """MaxPooling1D, made and called."""
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """AveragePooling1D, made and called."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling2d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """MaxPooling2D, made and called."""
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """AveragePooling2D, made and called."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling3d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """MaxPooling3D, made and called."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling3d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """AveragePooling3D, made and called."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name)(inputs)
