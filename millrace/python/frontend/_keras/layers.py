"""Keras's layers of units, shapes and single elements: those of tf.layers, and what is made of a few ops."""

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import convert
from millrace._keras import activations, constraints, objects, sessions
from millrace._keras.layer import Layer
from millrace._layers import core, normalization
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, gather, reshape, tile, transpose
from millrace._ops.arrays import shape as shape_of
from millrace._ops.layers import dropout as nn_dropout
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Dense(Layer, core.Dense):
    """activation(inputs * kernel + bias). Arguments as for tf.layers.Dense; names do for functions."""

    supports_masking = True

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(
            units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **kwargs,
        )


class Flatten(Layer, core.Flatten):
    """[batch, ...] as [batch, n]."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(data_format=data_format, **kwargs)


class Dropout(Layer):
    """In training, sets a share of the inputs to 0 and scales the others so that the mean stays.

    Args:
      rate: the share that is dropped.
      noise_shape: the shape to draw in; sizes of 1 are kept or dropped together.
      seed: a seed.
    """

    supports_masking = True

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"rate must be in the range [0, 1), got {rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=None):
        def dropped():
            return nn_dropout(
                inputs, rate=self.rate, noise_shape=self._noise_shape(inputs), seed=self.seed
            )

        made = smart_cond(training, dropped, lambda: gen_ops.identity(inputs))
        made.set_shape(inputs.shape)
        return made

    def _noise_shape(self, inputs):
        if self.noise_shape is None or None not in self.noise_shape:
            return self.noise_shape
        sizes = shape_of(inputs)
        return convert(
            [sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)]
        )

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


class Activation(Layer):
    """A function of each element, by its name or itself."""

    supports_masking = True

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs):
        return self.activation(inputs)

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


class ReLU(Layer):
    """relu(x, alpha=negative_slope, max_value, threshold)."""

    supports_masking = True

    def __init__(self, max_value=None, negative_slope=0, threshold=0, **kwargs):
        super().__init__(**kwargs)
        self.settings = (float(negative_slope), max_value, float(threshold))

    def call(self, inputs):
        return activations.relu(inputs, *self.settings)


class LeakyReLU(Layer):
    """x where it is positive, else alpha * x."""

    supports_masking = True

    def __init__(self, alpha=0.3, **kwargs):
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs):
        return activations.relu(inputs, alpha=self.alpha)


class Softmax(Layer):
    """Probabilities along an axis."""

    supports_masking = True

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return activations.softmax(inputs, axis=self.axis)


class Reshape(Layer):
    """[batch, ...] in another shape behind the batch; one size may be -1."""

    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs):
        made = reshape(inputs, gen_ops.concat_v2([shape_of(inputs)[:1], self.target_shape], 0))
        made.set_shape(self.compute_output_shape(inputs.shape))
        return made

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        target = list(self.target_shape)
        if -1 in target:
            known = 1
            for size in target:
                known *= 1 if size == -1 else size
            total = 1
            for size in sizes[1:]:
                total = None if size is None or total is None else total * size
            target[target.index(-1)] = None if total is None else total // known
        return TensorShape([sizes[0], *target])


class Permute(Layer):
    """The axes behind the batch in another order, counted from 1."""

    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = tuple(dims)

    def call(self, inputs):
        return transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """[batch, features] n times: [batch, n, features]."""

    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs):
        return tile(expand_dims(inputs, 1), [1, self.n, 1])


class Lambda(Layer):
    """A function of Tensors as a layer.

    Args:
      function: called with the inputs, and `arguments` by name; itself, or the name that it has among
        custom objects.
      output_shape: accepted; shapes are those of what the function gives.
      mask: the mask of its output, or a function of (inputs, their mask) that gives it.
    """

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        if isinstance(function, str):
            function = objects.deserialize(function, None, None, "function of a Lambda")
        self.function, self.arguments = function, dict(arguments or {})
        self.mask, self.supports_masking = mask, mask is not None

    @classmethod
    def from_config(cls, config):
        """A layer of the settings of get_config, or of TensorFlow's, which has functions by name too.

        Raises:
          ValueError: for functions without a name, which TensorFlow writes as code.
        """
        if config.get("function_type") == "lambda":
            raise ValueError(
                f"Lambda {config.get('name')}: its function is code of another Python, which is not run; "
                "build the model by the program, and load its weights"
            )
        others = ("function_type", "module", "output_shape_type", "output_shape_module")
        return super().from_config({k: v for k, v in config.items() if k not in others})

    def compute_mask(self, inputs, mask=None):
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def call(self, inputs):
        return self.function(inputs, **self.arguments)


class Embedding(Layer):
    """Rows of a table at ids.

    Args:
      input_dim: the number of rows; output_dim: their length.
      embeddings_initializer, embeddings_regularizer: for the table, the variable `embeddings`.
      mask_zero: whether id 0 stands for no element: then there is a mask without its places.
      input_length: the length of sequences, if it is fixed.
    """

    def __init__(
        self,
        input_dim,
        output_dim,
        embeddings_initializer="uniform",
        embeddings_regularizer=None,
        activity_regularizer=None,
        embeddings_constraint=None,
        mask_zero=False,
        input_length=None,
        **kwargs,
    ):
        if "input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,)
        kwargs["dtype"] = kwargs.get("dtype") or "float32"  # not that of the ids
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.initializer, self.regularizer = embeddings_initializer, embeddings_regularizer
        self.constraint, self.embeddings = constraints.get(embeddings_constraint), None
        self.mask_zero = self.supports_masking = mask_zero

    def build(self, input_shape):
        self.embeddings = self.add_weight(
            "embeddings",
            [self.input_dim, self.output_dim],
            initializer=self.initializer,
            regularizer=self.regularizer,
            constraint=self.constraint,
        )
        self.built = True

    def compute_mask(self, inputs, mask=None):
        return gen_ops.not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs):
        if inputs.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            inputs = cast(inputs, dtypes.int32)
        return gather(self.embeddings, inputs)

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape).concatenate(self.output_dim)


class BatchNormalization(Layer, normalization.BatchNormalization):
    """Inputs with mean 0 and variance 1 over the batch; see tf.layers.BatchNormalization.

    Models run its updates, which move the averages, with each step of training.
    """

    supports_masking = True

    def call(self, inputs, training=None):
        training = sessions.learning_phase() if training is None else training
        return super().call(inputs, training=training)

    def get_config(self):
        config = super().get_config()
        for name in ("fused", "virtual_batch_size", "adjustment"):
            if config.get(name) is None:
                config.pop(name, None)
        if not config.get("renorm"):
            for name in ("renorm", "renorm_clipping", "renorm_momentum"):
                config.pop(name, None)
        return config
