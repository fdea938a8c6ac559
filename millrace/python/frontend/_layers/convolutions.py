"""Layers of filters that move over volumes, images or along lines."""

from millrace._graph.conversion import convert
from millrace._graph.node_counts import counted_as
from millrace._layers.functions_of_layers import function_of_layer
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._ops.arrays import stack
from millrace._ops.arrays import shape as shape_of
from millrace._ops.convolutions import conv2d_transpose as nn_conv2d_transpose
from millrace._ops.convolutions import convolution
from millrace._ops.layers import bias_add
from millrace._ops.volumes import conv3d_transpose as nn_conv3d_transpose
from millrace._state.initializers import zeros_initializer
from millrace._values.tensor_shape import TensorShape

_FORMATS = ("channels_last", "channels_first")
_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def sizes_of(value, rank, name):
    """`rank` numbers, of a number or that many.

    Raises:
      ValueError: for anything else.
    """
    if isinstance(value, int):
        return (value,) * rank
    try:
        sizes = tuple(int(each) for each in value)
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != rank:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}"
        )
    return sizes


def format_of(data_format):
    made = str(data_format or "channels_last").lower()
    if made not in _FORMATS:
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {data_format}"
        )
    return made


def padding_of(padding):
    made = padding.lower() if isinstance(padding, str) else None
    if made not in ("valid", "same"):
        raise ValueError(
            'The `padding` argument must be one of "valid", "same". ' f"Received: {padding}"
        )
    return made


def op_format(data_format, rank):
    """TensorFlow's letters for the axes."""
    if data_format == "channels_first":
        return f"NC{_LETTERS[rank]}"
    return f"N{_LETTERS[rank]}C"


def output_length(length, size, padding, stride, dilation=1):
    """How many windows there are along an axis; None if its length is unknown."""
    if length is None:
        return None
    reach = (size - 1) * dilation + 1
    return -(-(length if padding == "same" else length - reach + 1) // stride)


def input_length(length, size, padding, stride):
    """How long an axis is that a transposed convolution makes of `length` elements."""
    if length is None:
        return None
    return length * stride + (max(size - stride, 0) if padding == "valid" else 0)


class Convolution(Layer):
    """What convolutions of any rank have in common; see Conv2D for the arguments."""

    rank = 2

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format="channels_last",
        dilation_rate=1,
        activation=None,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer=zeros_initializer(),
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.filters = filters
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = padding_of(padding)
        self.data_format = format_of(data_format)
        self.dilation_rate = sizes_of(dilation_rate, self.rank, "dilation_rate")
        self.activation = activation
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel = self.bias = None
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def channel_axis(self):
        return 1 if self.data_format == "channels_first" else -1

    def channels_of(self, input_shape):
        channels = TensorShape(input_shape).as_list()[self.channel_axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        return channels

    def kernel_shape(self, channels):
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape):
        channels = self.channels_of(input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self.channel_axis: channels})
        self.make_kernel(channels)
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype=self.dtype,
            )
        self.built = True

    def make_kernel(self, channels):
        self.kernel = self.add_weight(
            "kernel",
            shape=self.kernel_shape(channels),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            dtype=self.dtype,
        )

    def call(self, inputs):
        outputs = self.convolved(inputs)
        if self.use_bias:
            first = self.data_format == "channels_first"
            outputs = bias_add(outputs, self.bias, data_format="NCHW" if first else "NHWC")
        return outputs if self.activation is None else self.activation(outputs)

    def convolved(self, inputs):
        return convolution(
            inputs,
            self.kernel,
            self.padding.upper(),
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            data_format=op_format(self.data_format, self.rank),
            name={1: "conv1d", 2: "Conv2D", 3: "Conv3D"}[self.rank],
        )

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        spatial = sizes[1:-1] if self.data_format == "channels_last" else sizes[2:]
        made = [self.output_length(length, axis) for axis, length in enumerate(spatial)]
        if self.data_format == "channels_last":
            return TensorShape([sizes[0], *made, self.filters])
        return TensorShape([sizes[0], self.filters, *made])

    def output_length(self, length, axis):
        return output_length(
            length,
            self.kernel_size[axis],
            self.padding,
            self.strides[axis],
            self.dilation_rate[axis],
        )


class Conv1D(Convolution):
    """activation(filters moved along lines + bias).

    Args: as for Conv2D, with one number where it takes two.

    Called with a Tensor of shape [batch, length, channels], or [batch, channels, length] if
    data_format is "channels_first".
    """

    rank = 1


class Conv2D(Convolution):
    """activation(filters moved over images + bias).

    Args:
      filters: the number of outputs, which are the channels of what it gives.
      kernel_size, strides, dilation_rate: a number, or two for height and width.
      padding: "valid" or "same", in any case of letters.
      data_format: "channels_last" for images [batch, height, width, channels], or "channels_first".
      activation: a function of a Tensor; None for none.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
        activity_regularizer, kernel_constraint, bias_constraint, trainable, name: as for Dense.

    Its variables are `kernel` of shape [height, width, channels, filters] and `bias`.

    Raises:
      ValueError: if an argument is none of these; when called, if the rank is another or the number
        of channels not known.
    """

    rank = 2


class Conv3D(Convolution):
    """activation(filters moved over volumes + bias).

    Args: as for Conv2D, with three numbers where it takes two.

    Called with a Tensor of shape [batch, depth, height, width, channels], or [batch, channels, depth,
    height, width] if data_format is "channels_first".
    """

    rank = 3


class Conv2DTranspose(Convolution):
    """The gradient of a Conv2D as a layer of its own, which makes images larger.

    Args: as for Conv2D, without dilations. Its kernel is of shape [height, width, filters, channels].
    """

    transpose = staticmethod(nn_conv2d_transpose)

    def kernel_shape(self, channels):
        return [*self.kernel_size, self.filters, channels]

    def convolved(self, inputs):
        # TensorFlow works out all sizes in the graph, also those that are known.
        of_each = 8 if self.padding == "valid" else 6
        with counted_as(self.rank * of_each + (12 if self.rank == 2 else 8)):
            return self._transposed(inputs)

    def _transposed(self, inputs):
        known = self.compute_output_shape(inputs.shape)
        sizes = known.as_list()
        if None in sizes:
            seen = shape_of(inputs)
            first = self.data_format == "channels_first"
            spatial = {axis + (2 if first else 1): axis for axis in range(self.rank)}
            for axis, size in enumerate(sizes):
                if size is not None:
                    continue
                place = spatial.get(axis)
                sizes[axis] = seen[axis] if place is None else self.output_length(seen[axis], place)
            sizes = stack([convert(size) for size in sizes])
        outputs = type(self).transpose(
            inputs,
            self.kernel,
            sizes,
            strides=self.strides,
            padding=self.padding.upper(),
            data_format=op_format(self.data_format, self.rank),
        )
        outputs.set_shape(known)
        return outputs

    def output_length(self, length, axis):
        return input_length(length, self.kernel_size[axis], self.padding, self.strides[axis])


class Conv3DTranspose(Conv2DTranspose):
    """The gradient of a Conv3D as a layer of its own, which makes volumes larger.

    Args: as for Conv3D, without dilations. Its kernel is of shape [depth, height, width, filters,
    channels].
    """

    rank = 3
    transpose = staticmethod(nn_conv3d_transpose)


conv1d = function_of_layer(Conv1D, "conv1d")
conv2d = function_of_layer(Conv2D, "conv2d", strides=(1, 1), dilation_rate=(1, 1))
conv3d = function_of_layer(Conv3D, "conv3d", strides=(1, 1, 1), dilation_rate=(1, 1, 1))
conv2d_transpose = function_of_layer(
    Conv2DTranspose, "conv2d_transpose", without=["dilation_rate"], strides=(1, 1)
)
conv3d_transpose = function_of_layer(
    Conv3DTranspose, "conv3d_transpose", without=["dilation_rate"], strides=(1, 1, 1)
)
