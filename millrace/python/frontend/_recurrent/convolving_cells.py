"""Cells whose gates are convolutions: long short-term memory over lines, images and volumes."""

from millrace._ops.arithmetic import sigmoid, tanh
from millrace._ops.arrays import concat, split
from millrace._ops.convolutions import conv1d, conv2d
from millrace._ops.volumes import conv3d
from millrace._recurrent.cell import RNNCell
from millrace._recurrent.cells import LSTMStateTuple
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable
from millrace._values.tensor_shape import TensorShape


class ConvLSTMCell(RNNCell):
    """Long short-term memory of each place and its neighbours (arXiv 1506.04214).

    Args:
      conv_ndims: the number of spatial axes: 1, 2 or 3.
      input_shape: the shape of inputs without the batch: spatial sizes, then channels.
      output_channels: the number of channels of the output, and of both parts of the state.
      kernel_shape: a size per spatial axis.
      use_bias: False for no bias.
      skip_connection: True to have the inputs as channels of the output too.
      forget_bias: added to the forget gate.
      initializers: accepted.
      name: of the cell. Variables are `kernel` and `biases`.

    Raises:
      ValueError: for an input_shape of another rank.
    """

    def __init__(
        self,
        conv_ndims,
        input_shape,
        output_channels,
        kernel_shape,
        use_bias=True,
        skip_connection=False,
        forget_bias=1.0,
        initializers=None,
        name="conv_lstm_cell",
    ):
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._rank, self._input_shape = conv_ndims, list(input_shape)
        self._channels, self._kernel_shape = output_channels, list(kernel_shape)
        self._use_bias, self._forget_bias = use_bias, forget_bias
        self._skips = skip_connection

    @property
    def state_size(self):
        size = TensorShape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(size, size)

    @property
    def output_size(self):
        more = self._input_shape[-1] if self._skips else 0
        return TensorShape([*self._input_shape[:-1], self._channels + more])

    def call(self, inputs, state):
        c, h = state
        enter, candidate, forget, leave = split(self._gates(inputs, h), 4, self._rank + 1)
        c = sigmoid(forget + self._forget_bias) * c + sigmoid(enter) * tanh(candidate)
        h = tanh(c) * sigmoid(leave)
        output = concat([h, inputs], -1) if self._skips else h
        return output, LSTMStateTuple(c, h)

    def _gates(self, inputs, h):
        both = concat([inputs, h], -1)
        channels = both.shape.as_list()[-1]
        shape = [*self._kernel_shape, channels, 4 * self._channels]
        kernel = get_variable("kernel", shape, both.dtype)
        convolve = {1: conv1d, 2: conv2d, 3: conv3d}[self._rank]
        strides = 1 if self._rank == 1 else [1] * (self._rank + 2)
        made = convolve(both, kernel, strides, "SAME")
        if not self._use_bias:
            return made
        return made + get_variable(
            "biases", [4 * self._channels], both.dtype, initializer=zeros_initializer()
        )


class Conv1DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell along lines; arguments as there, without conv_ndims."""

    def __init__(self, name="conv_1d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over images; arguments as there, without conv_ndims."""

    def __init__(self, name="conv_2d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over volumes; arguments as there, without conv_ndims."""

    def __init__(self, name="conv_3d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=3, name=name, **kwargs)
