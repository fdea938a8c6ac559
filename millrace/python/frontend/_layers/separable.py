"""Layers of convolutions that treat each channel alone, then mix them."""

from millrace._layers.convolutions import Convolution, op_format
from millrace._layers.functions_of_layers import function_of_layer
from millrace._ops.arrays import expand_dims, squeeze
from millrace._ops.depthwise import separable_conv2d as nn_separable_conv2d
from millrace._state.initializers import zeros_initializer


class _Separable(Convolution):
    """Filters for each channel alone, then one that mixes channels; see SeparableConv2D."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format="channels_last",
        dilation_rate=1,
        depth_multiplier=1,
        activation=None,
        use_bias=True,
        depthwise_initializer=None,
        pointwise_initializer=None,
        bias_initializer=zeros_initializer(),
        depthwise_regularizer=None,
        pointwise_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        depthwise_constraint=None,
        pointwise_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = depthwise_initializer
        self.pointwise_initializer = pointwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint
        self.depthwise_kernel = self.pointwise_kernel = None

    def make_kernel(self, channels):
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            shape=[*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
            dtype=self.dtype,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            shape=[1] * self.rank + [self.depth_multiplier * channels, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
            dtype=self.dtype,
        )

    def convolved(self, inputs):
        # Lines are images of one row.
        lines, first = self.rank == 1, self.data_format == "channels_first"
        axis = 2 if first else 1
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        if lines:
            inputs = expand_dims(inputs, axis)
            depthwise, pointwise = expand_dims(depthwise, 0), expand_dims(pointwise, 0)
        ones = (1,) * (2 - self.rank)
        made = nn_separable_conv2d(
            inputs,
            depthwise,
            pointwise,
            strides=[*ones, *self.strides],
            padding=self.padding.upper(),
            rate=[*ones, *self.dilation_rate],
            data_format=op_format(self.data_format, 2),
        )
        return squeeze(made, [axis]) if lines else made


class SeparableConv1D(_Separable):
    """SeparableConv2D along lines."""

    rank = 1


class SeparableConv2D(_Separable):
    """activation(a depthwise convolution, then one of 1 x 1, + bias).

    Args: as for Conv2D, and
      depth_multiplier: the number of outputs that the first makes of each channel.
      depthwise_..., pointwise_...: the initializers, regularizers and constraints of the two kernels.

    Its variables are `depthwise_kernel`, `pointwise_kernel` and `bias`.
    """

    rank = 2


separable_conv1d = function_of_layer(SeparableConv1D, "separable_conv1d")
separable_conv2d = function_of_layer(
    SeparableConv2D, "separable_conv2d", strides=(1, 1), dilation_rate=(1, 1)
)
