"""Keras's cells: what recurrent layers do at each point of time."""

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import convert
from millrace._keras import activations, constraints, named, sessions
from millrace._keras.layer import Layer
from millrace._ops.arrays import concat, ones_like, split, zeros
from millrace._ops.layers import dropout as nn_dropout
from millrace._recurrent.cell import batch_size_of, zero_states
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class AbstractRNNCell(Layer):
    """The base of cells, for RNN. Classes that derive from it define `call(inputs, states)`, which gives
    (output, list of new states), and `state_size`, a size or a list of them: numbers or shapes.
    """

    def call(self, inputs, states):
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self):
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        """The size of the output; that of the first state by default."""
        sizes = self.state_size
        return sizes[0] if isinstance(sizes, (list, tuple)) else sizes

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Zeros for a batch and type, or for those of `inputs`, in the structure of `state_size`."""
        if inputs is not None:
            inputs = convert(inputs)
            batch_size, dtype = batch_size_of(inputs), inputs.dtype.base_dtype
        return zero_states(self.state_size, batch_size, dtype)


def share(name, rate):
    """A share that is dropped. ValueError unless it is from 0 to below 1."""
    if not 0 <= rate < 1:
        raise ValueError(f"{name} must be in the range [0, 1), got {rate}")
    return rate


class DroppingCell(AbstractRNNCell):
    """The base of cells that drop shares of inputs and of states in training, the same ones at all times.

    Args:
      dropout, recurrent_dropout: the shares.
    """

    def __init__(self, dropout=0.0, recurrent_dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.dropout = share("dropout", dropout)
        self.recurrent_dropout = share("recurrent_dropout", recurrent_dropout)
        self._drawn = {}

    def reset_dropout_mask(self):
        """Has the next call draw anew which inputs are dropped."""
        self._drawn.pop("inputs", None)

    def reset_recurrent_dropout_mask(self):
        """Has the next call draw anew which states are dropped."""
        self._drawn.pop("states", None)

    def dropped(self, inputs, training):
        """Inputs without what is dropped of them."""
        return self._dropped("inputs", self.dropout, inputs, training)

    def dropped_states(self, states, training):
        """A state without what is dropped of it."""
        return self._dropped("states", self.recurrent_dropout, states, training)

    def _dropped(self, what, rate, values, training):
        if not rate:
            return values
        if what not in self._drawn:
            training = sessions.learning_phase() if training is None else training
            kept = ones_like(values)
            drawn = smart_cond(
                training, lambda: nn_dropout(kept, rate=rate), lambda: gen_ops.identity(kept)
            )
            drawn.set_shape(values.shape)
            self._drawn[what] = drawn
        return values * self._drawn[what]


class UnitsCell(DroppingCell):
    """The base of Keras's cells of vectors. Inputs are of shape [batch, depth], states [batch, units].

    Args:
      units: the size of outputs and of each state.
      activation: what makes an output, a function or its name.
      use_bias: whether there is a `bias`.
      kernel_initializer, recurrent_initializer, bias_initializer: for `kernel`, which inputs are
        multiplied with, `recurrent_kernel`, which states are, and `bias`.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: their losses.
      kernel_constraint, recurrent_constraint, bias_constraint: kept with the variables.
      dropout, recurrent_dropout: the shares of inputs and of states that are dropped in training.

    Raises:
      ValueError: if a share is not from 0 to below 1, or when built, if the depth is unknown.
    """

    num_states = 1
    num_parts = 1  # of the kernels and the bias, each of size units

    def __init__(
        self,
        units,
        activation="tanh",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
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
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = named.initializer(kernel_initializer)
        self.recurrent_initializer = named.initializer(recurrent_initializer)
        self.bias_initializer = named.initializer(bias_initializer)
        self.kernel_regularizer = named.regularizer(kernel_regularizer)
        self.recurrent_regularizer = named.regularizer(recurrent_regularizer)
        self.bias_regularizer = named.regularizer(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.kernel = self.recurrent_kernel = self.bias = None

    @property
    def state_size(self):
        return [self.units] * self.num_states if self.num_states > 1 else self.units

    @property
    def output_size(self):
        return self.units

    def build(self, input_shape):
        depth = TensorShape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError(
                f"The last dimension of the inputs to `{type(self).__name__}` should be defined. "
                "Found `None`."
            )
        size = self.num_parts * self.units
        self.kernel = self.add_weight(
            "kernel",
            [depth, size],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            [self.units, size],
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                self._bias_shape(),
                initializer=self._first_bias(),
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def _bias_shape(self):
        return [self.num_parts * self.units]

    def _first_bias(self):
        return self.bias_initializer

    def affine(self, inputs, kernel, bias):
        """inputs * kernel + bias, if there is one."""
        made = gen_ops.mat_mul(inputs, kernel)
        return made if bias is None else gen_ops.bias_add(made, bias)


class SimpleRNNCell(UnitsCell):
    """activation(inputs * kernel + output before * recurrent_kernel + bias). See UnitsCell."""

    def call(self, inputs, states, training=None):
        made = self.affine(self.dropped(inputs, training), self.kernel, self.bias)
        before = self.dropped_states(states[0], training)
        output = self.activation(made + gen_ops.mat_mul(before, self.recurrent_kernel))
        return output, [output]


class GatedCell(UnitsCell):
    """The base of those with gates: `recurrent_activation` makes a gate, a function or its name.

    `implementation` (1 or 2) is how it is computed; here there is one way, in which all gates drop the same
    inputs and states, as TensorFlow's second one does.
    """

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        implementation=1,
        **kwargs,
    ):
        super().__init__(units, activation=activation, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.implementation = implementation


class GRUCell(GatedCell):
    """Gated recurrent units. The parts of its kernels are: update, reset, new.

    Args:
      reset_after: the reset gate acts on what the recurrent kernel makes of the state, instead of on
        the state; then there are two biases, `bias` is of shape [2, 3 * units].
      others: as for GatedCell and UnitsCell.
    """

    num_parts = 3

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        reset_after=False,
        **kwargs,
    ):
        super().__init__(units, activation, recurrent_activation, use_bias=use_bias, **kwargs)
        self.reset_after = reset_after

    def _bias_shape(self):
        return [2, 3 * self.units] if self.reset_after else [3 * self.units]

    def call(self, inputs, states, training=None):
        before = states[0]
        used = self.dropped_states(before, training)
        bias, state_bias = self.bias, None
        if self.reset_after and bias is not None:
            both = gen_ops.identity(bias)
            bias, state_bias = both[0], both[1]
        inputs = self.dropped(inputs, training)
        update, reset, new = split(self.affine(inputs, self.kernel, bias), 3, axis=1)
        if self.reset_after:
            old_update, old_reset, old_new = split(
                self.affine(used, self.recurrent_kernel, state_bias), 3, axis=1
            )
        else:
            gates, last = gen_ops.identity(self.recurrent_kernel), self.units * 2
            old_update, old_reset = split(gen_ops.mat_mul(used, gates[:, :last]), 2, axis=1)
        update = self.recurrent_activation(update + old_update)
        reset = self.recurrent_activation(reset + old_reset)
        if self.reset_after:
            old_new = reset * old_new
        else:
            old_new = gen_ops.mat_mul(reset * used, gates[:, last:])
        output = update * before + (1 - update) * self.activation(new + old_new)
        return output, [output]


def open_gates(initializer, units):
    """The initializer of a bias [4 * units] of which the part of the forget gate begins as ones."""

    def made(shape, dtype=dtypes.float32, partition_info=None):
        parts = initializer([4 * units], dtype=dtype) if initializer else zeros([4 * units], dtype)
        first, forget, rest = split(parts, [units, units, 2 * units], axis=0)
        return concat([first, ones_like(forget), rest], 0)

    return made


class LSTMCell(GatedCell):
    """Long short-term memory. The parts of its kernels are: input, forget, new, output; its states
    are the output and the memory.

    Args:
      unit_forget_bias: the part of the bias for the forget gate begins as ones.
      others: as for GatedCell and UnitsCell.
    """

    num_states = 2
    num_parts = 4

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        unit_forget_bias=True,
        **kwargs,
    ):
        super().__init__(units, activation, recurrent_activation, use_bias=use_bias, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    def _first_bias(self):
        if self.unit_forget_bias:
            return open_gates(self.bias_initializer, self.units)
        return self.bias_initializer

    def call(self, inputs, states, training=None):
        before, memory = states
        made = self.affine(self.dropped(inputs, training), self.kernel, self.bias)
        used = self.dropped_states(before, training)
        made = made + gen_ops.mat_mul(used, self.recurrent_kernel)
        output, memory = self.gated(split(made, 4, axis=1), memory)
        return output, [output, memory]

    def gated(self, parts, memory):
        """(output, new memory) of the sums for the four parts and the memory before."""
        enters, stays, new, leaves = parts
        memory = self.recurrent_activation(stays) * memory + self.recurrent_activation(
            enters
        ) * self.activation(new)
        return self.recurrent_activation(leaves) * self.activation(memory), memory


class PeepholeLSTMCell(LSTMCell):
    """An LSTMCell whose gates also see the memory: the input and forget gate the one before, the output
    gate the new one, each number by a weight of `input_gate_peephole_weights`, `forget_gate_...` or
    `output_gate_peephole_weights`, of shape [units]. See LSTMCell for the arguments.
    """

    def build(self, input_shape):
        super().build(input_shape)
        self.built = False  # there are more variables to come
        self.input_gate_peephole_weights, self.forget_gate_peephole_weights = (
            self._peephole("input"),
            self._peephole("forget"),
        )
        self.output_gate_peephole_weights = self._peephole("output")
        self.built = True

    def _peephole(self, gate):
        return self.add_weight(
            f"{gate}_gate_peephole_weights", [self.units], initializer=self.kernel_initializer
        )

    def gated(self, parts, memory):
        enters, stays, new, leaves = parts
        enters = self.recurrent_activation(enters + self.input_gate_peephole_weights * memory)
        stays = self.recurrent_activation(stays + self.forget_gate_peephole_weights * memory)
        memory = stays * memory + enters * self.activation(new)
        leaves = self.recurrent_activation(leaves + self.output_gate_peephole_weights * memory)
        return leaves * self.activation(memory), memory
