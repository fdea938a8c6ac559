"""Layers that most models have: dense, dropout, flatten."""

import math
import numbers

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import convert
from millrace._graph.node_counts import counted_as
from millrace._layers.functions_of_layers import function_of_layer
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, reshape, transpose
from millrace._ops.arrays import shape as shape_of
from millrace._ops.layers import dropout as nn_dropout
from millrace._ops.linear_algebra import tensordot
from millrace._state.initializers import zeros_initializer
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Dense(Layer):
    """activation(inputs * kernel + bias), the product along the last axis of the inputs.

    Args:
      units: the size of the last axis of the outputs.
      activation: a function of a Tensor; None for none.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: as in tf.get_variable.
      kernel_regularizer, bias_regularizer: functions of the variable that give a scalar, which joins
        the losses.
      activity_regularizer: likewise of the outputs.
      kernel_constraint, bias_constraint: functions of a value that optimizers apply after a change.
      trainable: whether its variables are trainable.
      name: its name.

    Called with a Tensor of shape [..., n] it gives one of shape [..., units]. Its variables are
    `kernel` of shape [n, units] and `bias` of shape [units].

    Raises:
      ValueError: if units is negative; when called, if inputs have no rank of 2 or more or no known
        last size. TypeError: if they are of no floating type.
    """

    def __init__(
        self,
        units,
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
        self.units = int(units)
        if self.units < 0:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive integer, got {units}."
            )
        self.activation = activation
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel = self.bias = None
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape):
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                f"Unable to build `Dense` layer with non-floating point dtype {dtype.name}"
            )
        size = TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            shape=[size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            dtype=self.dtype,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype=self.dtype,
            )
        self.built = True

    def call(self, inputs):
        inputs = cast(inputs, self.kernel.dtype.base_dtype)
        if inputs.shape.ndims > 2:
            outputs = tensordot(inputs, self.kernel, [[inputs.shape.ndims - 1], [0]])
            outputs.set_shape(inputs.shape[:-1].concatenate(self.units))
        else:
            outputs = gen_ops.mat_mul(inputs, self.kernel)
        if self.use_bias:
            outputs = gen_ops.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape):
        shape = TensorShape(input_shape).with_rank_at_least(2)
        if shape.as_list()[-1] is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return shape[:-1].concatenate(self.units)


dense = function_of_layer(
    Dense,
    "dense",
    doc="""Dense, made and called.

    Args:
      inputs: a Tensor of shape [..., n].
      name: the variable scope; "dense", "dense_1", ... by default.
      reuse: True to use the variables of an earlier layer of this name.
      Others: as for Dense.
    """,
)


class Dropout(Layer):
    """In training, sets a share of the inputs to 0 and scales the others so that the mean stays.

    Args:
      rate: the share that is dropped: a number in [0, 1) or a scalar Tensor.
      noise_shape: the shape in which is drawn, None in it for the inputs' size; axes of size 1 are
        kept or dropped together.
      seed: a seed for what is drawn.
      name: its name.

    Called with (inputs, training=False); `training` may be a bool Tensor.

    Raises:
      ValueError: if the rate is no number in [0, 1).
    """

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        if isinstance(rate, numbers.Real) and not 0 <= rate < 1:
            raise ValueError(
                f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
            )
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=False):
        return smart_cond(training, lambda: self._dropped(inputs), lambda: gen_ops.identity(inputs))

    def _dropped(self, inputs):
        return nn_dropout(
            inputs, rate=self.rate, noise_shape=self._noise_shape(inputs), seed=self.seed
        )

    def _noise_shape(self, inputs):
        """The shape to draw in, with the sizes of this batch in it."""
        if not isinstance(self.noise_shape, (list, tuple)) or None not in self.noise_shape:
            return self.noise_shape
        sizes = shape_of(inputs)
        return convert(
            [sizes[axis] if size is None else size for axis, size in enumerate(self.noise_shape)]
        )

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Dropout, made and called.

    Args:
      inputs: a Tensor of a floating type.
      training: True to drop; a bool or a bool scalar Tensor.
      Others: as for Dropout.
    """
    layer = Dropout(rate, noise_shape=noise_shape, seed=seed, name=name)
    return layer(inputs, training=training)


_DATA_FORMATS = ("channels_last", "channels_first")


class Flatten(Layer):
    """Inputs of shape [batch, ...] as a matrix of shape [batch, n]; a vector as [batch, 1].

    Args:
      data_format: "channels_last", or "channels_first" to move axis 1 to the end first.

    Raises:
      ValueError: if the format is another, or inputs are scalars.
    """

    def __init__(self, data_format="channels_last", **kwargs):
        super().__init__(**kwargs)
        self.data_format = str(data_format or "channels_last").lower()
        if self.data_format not in _DATA_FORMATS:
            raise ValueError(
                'The `data_format` argument must be one of "channels_first", "channels_last". '
                f"Received: {data_format}"
            )
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs):
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank > 1:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        if rank == 1:
            return expand_dims(inputs, 1)
        batch, *others = inputs.shape.as_list()
        # TensorFlow looks at the size of the batch if it is not known, also where the others are.
        with counted_as(2 if batch else 8):
            if None not in others:
                return reshape(inputs, [-1, math.prod(others)])
            made = reshape(inputs, [shape_of(inputs)[0] if batch is None else batch, -1])
        made.set_shape([batch, None])
        return made

    def compute_output_shape(self, input_shape):
        batch, *others = TensorShape(input_shape).as_list()
        return TensorShape([batch, None if None in others else math.prod(others)])


def flatten(inputs, name=None, data_format="channels_last"):
    """Flatten, made and called."""
    return Flatten(name=name, data_format=data_format)(inputs)
