"""ConvLSTM2D: long short-term memory of images, whose products are convolutions."""

from millrace._keras import activations, backend_images, constraints, named
from millrace._keras.recurrent_cells import DroppingCell, open_gates
from millrace._keras.recurrent_layers import OfCell
from millrace._keras.settings import format_or_default
from millrace._layers.convolutions import format_of, output_length, padding_of, sizes_of
from millrace._ops.arrays import split
from millrace._values.tensor_shape import TensorShape


class ConvLSTM2DCell(DroppingCell):
    """The cell of ConvLSTM2D, for which see the arguments. The parts of its kernels are along the last
    axis: input, forget, new, output; its states are the output and the memory."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format=None,
        dilation_rate=(1, 1),
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        **kwargs,
    ):
        super().__init__(dropout=dropout, recurrent_dropout=recurrent_dropout, **kwargs)
        self.filters = filters
        self.kernel_size = sizes_of(kernel_size, 2, "kernel_size")
        self.strides = sizes_of(strides, 2, "strides")
        self.padding = padding_of(padding)
        self.data_format = format_of(format_or_default(data_format))
        self.dilation_rate = sizes_of(dilation_rate, 2, "dilation_rate")
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias, self.unit_forget_bias = use_bias, unit_forget_bias
        self._weights_of = {
            "kernel": (kernel_initializer, kernel_regularizer, kernel_constraint),
            "recurrent_kernel": (
                recurrent_initializer,
                recurrent_regularizer,
                recurrent_constraint,
            ),
            "bias": (bias_initializer, bias_regularizer, bias_constraint),
        }
        self.kernel = self.recurrent_kernel = self.bias = None
        self._image = None  # the shape of outputs without the batch, when it is built

    @property
    def state_size(self):
        return [self.output_size] * 2

    @property
    def output_size(self):
        """The shape of an output without the batch. ValueError before it is built."""
        if self._image is None:
            raise ValueError(f"The outputs of {self.name} have no size before it is built.")
        return TensorShape(self._image)

    def _weight(self, name, shape):
        initializer, regularizer, constraint = self._weights_of[name]
        initializer = named.initializer(initializer)
        if name == "bias" and self.unit_forget_bias:
            initializer = open_gates(initializer, self.filters)
        return self.add_weight(
            name,
            shape,
            initializer=initializer,
            regularizer=named.regularizer(regularizer),
            constraint=constraints.get(constraint),
        )

    def build(self, input_shape):
        sizes = TensorShape(input_shape).as_list()[1:]
        is_first = self.data_format == "channels_first"
        channels, image = (sizes[0], sizes[1:]) if is_first else (sizes[-1], sizes[:-1])
        if len(sizes) != 3 or None in sizes:
            raise ValueError(
                f"{self.name} needs to know height, width and channels of its inputs, found {sizes}"
            )
        image = [
            output_length(length, size, self.padding, stride, gap)
            for length, size, stride, gap in zip(
                image, self.kernel_size, self.strides, self.dilation_rate
            )
        ]
        self._image = [self.filters, *image] if is_first else [*image, self.filters]
        outputs = 4 * self.filters
        self.kernel = self._weight("kernel", [*self.kernel_size, channels, outputs])
        self.recurrent_kernel = self._weight(
            "recurrent_kernel", [*self.kernel_size, self.filters, outputs]
        )
        if self.use_bias:
            self.bias = self._weight("bias", [outputs])
        self.built = True

    def call(self, inputs, states, training=None):
        before, memory = states
        made = backend_images.conv2d(
            self.dropped(inputs, training),
            self.kernel,
            self.strides,
            self.padding,
            self.data_format,
            self.dilation_rate,
        )
        if self.use_bias:
            made = backend_images.bias_add(made, self.bias, self.data_format)
        made = made + backend_images.conv2d(
            self.dropped_states(before, training),
            self.recurrent_kernel,
            padding="same",
            data_format=self.data_format,
        )
        axis = 1 if self.data_format == "channels_first" else 3
        enters, stays, new, leaves = split(made, 4, axis=axis)
        memory = self.recurrent_activation(stays) * memory + self.recurrent_activation(
            enters
        ) * self.activation(new)
        output = self.recurrent_activation(leaves) * self.activation(memory)
        return output, [output, memory]


class ConvLSTM2D(OfCell):
    """Long short-term memory of images: inputs are of shape [batch, time, height, width, channels], or
    [batch, time, channels, height, width], states and outputs of shape [batch, height, width, filters] of
    what the convolution leaves.

    Args:
      filters: the number of outputs' channels.
      kernel_size: a number, or two for height and width, of both convolutions: that of inputs and that of
        the output before, which is padded so that it keeps its size.
      strides, padding, data_format, dilation_rate: of the convolution of inputs, as for Conv2D.
      others: as for LSTM; the kernels are of shape [height, width, channels or filters, 4 * filters].

    Raises:
      ValueError: when called, if height, width or channels of the inputs are unknown.
    """

    cell_class = ConvLSTM2DCell

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format=None,
        dilation_rate=(1, 1),
        **kwargs,
    ):
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            **kwargs,
        )
