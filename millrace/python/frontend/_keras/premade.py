"""Models that are ready: a weighted sum, and one beside a net."""

from millrace._flow.control_flow import group
from millrace._keras import activations, named, optimizer_names
from millrace._keras.layers import Dense
from millrace._keras.models import Model
from millrace._ops.arithmetic import add_n
from millrace._ops.layers import bias_add


class LinearModel(Model):
    """The weighted sum of all inputs, with a bias. It is called with a Tensor [batch, n] or a list of them.

    Args:
      units: how many sums there are; activation: of them, a function or its name.
      use_bias: whether there is the variable `bias`.
      kernel_initializer, kernel_regularizer: for the weights of each input; bias_initializer,
        bias_regularizer: for the bias.

    Raises:
      ValueError: when called, for another number of inputs than the first time.
    """

    def __init__(
        self,
        units=1,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = named.initializer(kernel_initializer)
        self.bias_initializer = named.initializer(bias_initializer)
        self.kernel_regularizer = named.regularizer(kernel_regularizer)
        self.bias_regularizer = named.regularizer(bias_regularizer)
        self.dense_layers, self.bias = [], None

    def build(self, input_shape):
        count = len(input_shape) if isinstance(input_shape, list) else 1
        self.dense_layers = [
            Dense(
                self.units,
                use_bias=False,
                kernel_initializer=self.kernel_initializer,
                kernel_regularizer=self.kernel_regularizer,
            )
            for _ in range(count)
        ]
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
            )
        self.built = True

    def call(self, inputs):
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(inputs) != len(self.dense_layers):
            raise ValueError(
                f"Expected {len(self.dense_layers)} inputs, but got {len(inputs)} inputs"
            )
        made = add_n([layer(each) for layer, each in zip(self.dense_layers, inputs)])
        return self.activation(made if self.bias is None else bias_add(made, self.bias))


class _Each:
    """An optimizer for each of several lists of variables.

    Args:
      parts: pairs of an optimizer and a function that gives the variables which it changes.
    """

    def __init__(self, parts):
        self._parts = parts

    def apply_gradients(self, grads_and_vars, name=None):
        """An Operation that changes variables by these gradients, each by its optimizer."""
        pairs, changes = list(grads_and_vars), []
        for optimizer, variables in self._parts:
            own = variables()
            mine = [pair for pair in pairs if any(pair[1] is each for each in own)]
            if mine:
                changes.append(optimizer.apply_gradients(mine))
        return group(*changes, name=name)


class WideDeepModel(Model):
    """Half of what a linear model makes and half of what a net does.

    It is called with [inputs of the linear model, inputs of the net], or with one for both.

    Args:
      linear_model: a LinearModel; dnn_model: a Model with an output of the same shape.
      activation: of the sum, a function or its name.
    """

    def __init__(self, linear_model, dnn_model, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activations.get(activation)

    def call(self, inputs):
        is_pair = isinstance(inputs, (list, tuple)) and len(inputs) == 2
        wide, deep = inputs if is_pair else (inputs, inputs)
        return self.activation(0.5 * (self.linear_model(wide) + self.dnn_model(deep)))

    def compile(self, optimizer="rmsprop", *args, **options):
        """Model.compile; `optimizer` may be a pair: that of the linear model and that of the net."""
        if isinstance(optimizer, (list, tuple)):
            wide, deep = map(optimizer_names.get, optimizer)
            optimizer = _Each(
                [
                    (wide, lambda: self.linear_model.trainable_weights),
                    (deep, lambda: self.dnn_model.trainable_weights),
                ]
            )
        super().compile(optimizer, *args, **options)
