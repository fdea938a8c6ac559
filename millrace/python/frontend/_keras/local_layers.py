"""LocallyConnected1D and 2D: windows as those of a convolution, each with filters of its own."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._keras import activations, backend_images, constraints, named
from millrace._keras.layer import Layer
from millrace._keras.settings import format_or_default
from millrace._layers.convolutions import format_of, output_length, sizes_of
from millrace._layers.input_spec import InputSpec
from millrace._ops.arrays import expand_dims, reshape, squeeze, transpose
from millrace._ops.rearranging import extract_image_patches
from millrace._values.tensor_shape import TensorShape


def local_conv2d(inputs, kernel, kernel_size, strides, output_shape, data_format=None):
    """What each window makes with its own filters.

    Args:
      inputs: a Tensor of shape [batch, height, width, channels], or with the channels first.
      kernel: the filters, of shape [windows, height * width * channels of a window, filters]; the numbers of a
        window stand in it by row, column and channel, or by channel, row and column where channels are first.
      kernel_size, strides: two numbers; output_shape: how many windows there are, (rows, columns).

    Returns:
      a Tensor of shape [batch, rows, columns, filters], or with the filters behind the batch.
    """
    is_first = format_of(format_or_default(data_format)) == "channels_first"
    inputs, kernel = convert(inputs), convert(kernel)
    rows, columns = output_shape
    windows, numbers, filters = kernel.shape.as_list()
    if is_first:
        inputs = transpose(inputs, [0, 2, 3, 1])
    found = extract_image_patches(
        inputs, [1, *kernel_size, 1], [1, *strides, 1], [1, 1, 1, 1], "VALID"
    )
    if is_first:
        # Patches stand by row, column and channel: as the kernel has them with the channels first.
        size = kernel_size[0] * kernel_size[1]
        found = reshape(found, [-1, windows, size, numbers // size])
        found = transpose(found, [0, 1, 3, 2])
    found = transpose(reshape(found, [-1, windows, numbers]), [1, 0, 2])
    made = transpose(gen_ops.batch_mat_mul_v2(found, kernel), [1, 0, 2])
    made = reshape(made, [-1, rows, columns, filters])
    return transpose(made, [0, 3, 1, 2]) if is_first else made


def local_conv1d(inputs, kernel, kernel_size, strides, data_format=None):
    """local_conv2d of lines [batch, time, channels]; kernel_size, strides: a number each, in a tuple."""
    is_first = format_of(format_or_default(data_format)) == "channels_first"
    kernel = convert(kernel)
    axis = 2 if is_first else 1
    made = local_conv2d(
        expand_dims(convert(inputs), axis),
        kernel,
        (1, *kernel_size),
        (1, *strides),
        (1, kernel.shape.as_list()[0]),
        data_format,
    )
    return squeeze(made, [axis])


class _LocallyConnected(Layer):
    """The base; see LocallyConnected2D."""

    rank = 2

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        implementation=1,
        **kwargs,
    ):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        if str(padding).lower() != "valid" or implementation != 1:
            raise NotImplementedError(
                f"{type(self).__name__} has a padding of 'valid' and implementation 1 alone, whose kernels "
                f"are smaller; found {padding!r} and {implementation!r}"
            )
        self.padding, self.implementation = "valid", 1
        self.data_format = format_of(format_or_default(data_format))
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.kernel_initializer = named.initializer(kernel_initializer)
        self.bias_initializer = named.initializer(bias_initializer)
        self.kernel_regularizer = named.regularizer(kernel_regularizer)
        self.bias_regularizer = named.regularizer(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.kernel = self.bias = None
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _is_first(self):
        return self.data_format == "channels_first"

    def windows_of(self, input_shape):
        """How many windows there are along each axis. ValueError if the inputs' sizes are unknown."""
        sizes = TensorShape(input_shape).as_list()
        space = sizes[2:] if self._is_first else sizes[1:-1]
        if None in sizes[1:]:
            raise ValueError(
                "The spatial dimensions and channels of the inputs to a LocallyConnected layer should be "
                f"fully-defined, but layer {self.name} received an inputs shape of {sizes}"
            )
        return [
            output_length(length, size, "valid", stride)
            for length, size, stride in zip(space, self.kernel_size, self.strides)
        ]

    def build(self, input_shape):
        windows = self.windows_of(input_shape)
        channels = TensorShape(input_shape).as_list()[1 if self._is_first else -1]
        count = numbers = 1
        for each, size in zip(windows, self.kernel_size):
            count, numbers = count * each, numbers * size
        self.kernel = self.add_weight(
            "kernel",
            [count, numbers * channels, self.filters],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [*windows, self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs):
        made = self.convolved(inputs)
        if self.use_bias:
            made = backend_images.bias_add(made, self.bias, self.data_format)
        return self.activation(made)

    def compute_output_shape(self, input_shape):
        windows = self.windows_of(input_shape)
        rest = [self.filters, *windows] if self._is_first else [*windows, self.filters]
        return TensorShape([TensorShape(input_shape).as_list()[0], *rest])


class LocallyConnected1D(_LocallyConnected):
    """Windows along lines, each with filters of its own. See LocallyConnected2D."""

    rank = 1

    def convolved(self, inputs):
        """The outputs before bias and activation."""
        return local_conv1d(inputs, self.kernel, self.kernel_size, self.strides, self.data_format)


class LocallyConnected2D(_LocallyConnected):
    """Windows of images as those of a Conv2D, each with filters of its own.

    Args:
      as for Conv2D, without dilation_rate; the variable `kernel` is of shape [windows, numbers of a
      window, filters], `bias` of shape [rows, columns, filters].

    Raises:
      NotImplementedError: for a padding of "same" and another implementation than 1; ValueError: when
      called, if sizes of the inputs are unknown.
    """

    def convolved(self, inputs):
        """The outputs before bias and activation."""
        return local_conv2d(
            inputs,
            self.kernel,
            self.kernel_size,
            self.strides,
            self.windows_of(inputs.shape),
            self.data_format,
        )
