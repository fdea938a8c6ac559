"""Keras's layers of windows: convolutions and poolings, those of tf.layers with Keras's defaults."""

from millrace._keras import constraints, named
from millrace._keras.layer import Layer
from millrace._keras.settings import format_or_default
from millrace._layers import convolutions, pools, separable
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, pad
from millrace._ops.depthwise import depthwise_conv2d
from millrace._ops.reductions import reduce_max, reduce_mean, reduce_sum


class Conv1D(Layer, convolutions.Conv1D):
    """Filters moved along lines. Arguments as for tf.layers.Conv1D; names do for functions.

    A padding of "causal" makes an output of as many elements, each of inputs up to its own place.
    """

    def __init__(self, filters, kernel_size, strides=1, padding="valid", **kwargs):
        self.is_causal = str(padding).lower() == "causal"
        kwargs.setdefault("data_format", None)
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding="valid" if self.is_causal else padding,
            **kwargs,
        )
        if self.is_causal and self.data_format == "channels_first":
            raise ValueError(
                'When using causal padding in `Conv1D`, `data_format` must be "channels_last".'
            )

    @property
    def _reach(self):
        return (self.kernel_size[0] - 1) * self.dilation_rate[0] if self.is_causal else 0

    def convolved(self, inputs):
        if self.is_causal:
            inputs = pad(inputs, [[0, 0], [self._reach, 0], [0, 0]])
        return super().convolved(inputs)

    def output_length(self, length, axis):
        return super().output_length(None if length is None else length + self._reach, axis)


class Conv2D(Layer, convolutions.Conv2D):
    """Filters moved over images. Arguments as for tf.layers.Conv2D; names do for functions."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format=None,
        dilation_rate=(1, 1),
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        **kwargs,
    ):
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            **kwargs,
        )


class Conv3D(Layer, convolutions.Conv3D):
    """Filters moved over volumes. Arguments as for tf.layers.Conv3D; names do for functions."""

    def __init__(self, filters, kernel_size, strides=(1, 1, 1), **kwargs):
        kwargs.setdefault("data_format", None)
        super().__init__(filters, kernel_size, strides=strides, **kwargs)


class _Transposed(Layer):
    """What transposed convolutions have in common: `output_padding` says how much longer an axis is."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        output_padding=None,
        data_format=None,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        **kwargs,
    ):
        if convolutions.sizes_of(kwargs.pop("dilation_rate", 1), self.rank, "dilation_rate") != (
            (1,) * self.rank
        ):
            raise NotImplementedError(
                f"{type(self).__name__} has no dilation_rate: transposed convolutions leave no gaps here"
            )
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            **kwargs,
        )
        self.output_padding = None
        if output_padding is not None:
            self.output_padding = convolutions.sizes_of(output_padding, self.rank, "output_padding")
            for added, stride in zip(self.output_padding, self.strides):
                if added >= stride:
                    raise ValueError(
                        f"Stride {self.strides} must be greater than output padding "
                        f"{self.output_padding}"
                    )

    def output_length(self, length, axis):
        if self.output_padding is None:
            return super().output_length(length, axis)
        if length is None:
            return None
        size, added = self.kernel_size[axis], self.output_padding[axis]
        cut = size // 2 if self.padding == "same" else 0
        return (length - 1) * self.strides[axis] + size - 2 * cut + added


class Conv2DTranspose(_Transposed, convolutions.Conv2DTranspose):
    """The gradient of a Conv2D, which makes images larger; its kernel is [height, width, filters, channels].

    Args: as for Conv2D, and
      output_padding: a number, or two for height and width, less than the strides: the output's length is
        (length - 1) * stride + kernel_size - 2 * pad + output_padding, where pad is kernel_size // 2
        for "same" and else 0. None for what Conv2D would have made the inputs of.

    Raises:
      ValueError: if it is not less than the strides; NotImplementedError: for a dilation_rate.
    """


class Conv3DTranspose(_Transposed, convolutions.Conv3DTranspose):
    """Conv2DTranspose of volumes, with three numbers where it takes two."""


class _Separable(Layer):
    """Separable convolutions with Keras's initializers."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        dilation_rate=1,
        depth_multiplier=1,
        activation=None,
        use_bias=True,
        depthwise_initializer="glorot_uniform",
        pointwise_initializer="glorot_uniform",
        bias_initializer="zeros",
        **kwargs,
    ):
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            depth_multiplier=depth_multiplier,
            activation=activation,
            use_bias=use_bias,
            depthwise_initializer=depthwise_initializer,
            pointwise_initializer=pointwise_initializer,
            bias_initializer=bias_initializer,
            **kwargs,
        )


class SeparableConv1D(_Separable, separable.SeparableConv1D):
    """Filters for each channel of lines, then one that mixes them; see tf.layers.SeparableConv1D."""


class SeparableConv2D(_Separable, separable.SeparableConv2D):
    """Filters for each channel of images, then one that mixes them; see tf.layers.SeparableConv2D."""


class DepthwiseConv2D(Layer, convolutions.Convolution):
    """Filters for each channel of images alone: [batch, height, width, channels * depth_multiplier].

    Args: as for Conv2D, without filters, and
      depth_multiplier: the number of outputs of each channel.
      depthwise_initializer, depthwise_regularizer, depthwise_constraint: for the variable
        `depthwise_kernel`, of shape [height, width, channels, depth_multiplier].
    """

    def __init__(
        self,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        depth_multiplier=1,
        data_format=None,
        activation=None,
        use_bias=True,
        depthwise_initializer="glorot_uniform",
        bias_initializer="zeros",
        depthwise_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        depthwise_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(
            None,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = named.initializer(depthwise_initializer)
        self.depthwise_regularizer = named.regularizer(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.depthwise_kernel = None

    def make_kernel(self, channels):
        self.filters = channels * self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )

    def convolved(self, inputs):
        last = self.data_format == "channels_last"
        return depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            [1, *self.strides, 1] if last else [1, 1, *self.strides],
            self.padding.upper(),
            rate=self.dilation_rate,
            data_format=convolutions.op_format(self.data_format, 2),
        )

    def compute_output_shape(self, input_shape):
        if self.filters is None:
            self.filters = self.channels_of(input_shape) * self.depth_multiplier
        return super().compute_output_shape(input_shape)


class _Pool(Layer):
    """What poolings have in common: windows of 2, one beside the other, by default."""

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(
            pool_size,
            strides,
            padding=padding,
            data_format=data_format,
            **kwargs,
        )


class MaxPooling1D(_Pool, pools.MaxPooling1D):
    """The largest of each window along lines. Arguments as for tf.layers.MaxPooling1D."""


class MaxPooling2D(_Pool, pools.MaxPooling2D):
    """The largest of each window over images. Arguments as for tf.layers.MaxPooling2D."""


class AveragePooling1D(_Pool, pools.AveragePooling1D):
    """The average of each window along lines. Arguments as for tf.layers.AveragePooling1D."""


class AveragePooling2D(_Pool, pools.AveragePooling2D):
    """The average of each window over images. Arguments as for tf.layers.AveragePooling2D."""


class MaxPooling3D(_Pool, pools.MaxPooling3D):
    """The largest of each window over volumes. Arguments as for tf.layers.MaxPooling3D."""


class AveragePooling3D(_Pool, pools.AveragePooling3D):
    """The average of each window over volumes. Arguments as for tf.layers.AveragePooling3D."""


class _Global(Layer):
    """One number for each channel."""

    axes = (1, 2)
    reduction = staticmethod(reduce_mean)

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.is_first = format_or_default(data_format) == "channels_first"

    def call(self, inputs):
        axes = [axis + self.is_first for axis in self.axes]
        return type(self).reduction(inputs, axis=axes)


class GlobalAveragePooling1D(_Global):
    """The average over a line, of what its mask keeps."""

    axes = (1,)

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        axis = self.axes[0] + self.is_first
        kept = expand_dims(cast(mask, inputs.dtype.base_dtype), 1 if self.is_first else 2)
        return reduce_sum(inputs * kept, axis=axis) / reduce_sum(kept, axis=axis)


class GlobalAveragePooling2D(_Global):
    """The average over an image."""


class GlobalMaxPooling1D(_Global):
    """The largest of a line."""

    axes = (1,)
    reduction = staticmethod(reduce_max)


class GlobalMaxPooling2D(_Global):
    """The largest of an image."""

    reduction = staticmethod(reduce_max)


class GlobalAveragePooling3D(_Global):
    """The average over a volume."""

    axes = (1, 2, 3)


class GlobalMaxPooling3D(_Global):
    """The largest of a volume."""

    axes = (1, 2, 3)
    reduction = staticmethod(reduce_max)
