"""Keras's recurrent layers: SimpleRNN, GRU and LSTM, loops over the time of their inputs."""

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import convert
from millrace._keras import activations, named
from millrace._keras.layer import Layer
from millrace._layers.input_spec import InputSpec, check_inputs
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import (
    concat,
    expand_dims,
    ones,
    ones_like,
    reverse,
    split,
    squeeze,
    where,
    zeros,
)
from millrace._ops.layers import dropout as nn_dropout
from millrace._recurrent.cell import batch_size_of, zero_states
from millrace._recurrent.dynamic import dynamic_rnn
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape


class Recurrent(Layer):
    """The base of the recurrent layers. Inputs are of shape [batch, time, depth].

    A call takes `initial_state`, a list of Tensors of shape [batch, units] to begin with (zeros if None),
    and gives the last output, of shape [batch, units].

    Args:
      units: the size of outputs and of each state.
      activation: what makes an output, a function or its name.
      use_bias: whether there is a `bias`.
      kernel_initializer, recurrent_initializer, bias_initializer: for `kernel`, which inputs are
        multiplied with, `recurrent_kernel`, which states are, and `bias`.
      kernel_regularizer, recurrent_regularizer, bias_regularizer, activity_regularizer: their losses.
      kernel_constraint, recurrent_constraint, bias_constraint: kept with the variables.
      dropout, recurrent_dropout: the shares of inputs and of states that are dropped in training, the
        same ones at each point of time.
      return_sequences: the outputs of all times instead, of shape [batch, time, units].
      return_state: the last state too: [outputs, *states].
      go_backwards: goes through time from its end; outputs are in the order in which they are made.
      unroll: accepted.
      time_major: inputs and outputs have time before the batch.

    Raises:
      NotImplementedError: for `stateful`; feed the state of a call to the next by `initial_state`.
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
        activity_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        time_major=False,
        **kwargs,
    ):
        if stateful:
            raise NotImplementedError(
                "recurrent layers keep no state between batches: take the state of a call "
                "(return_state=True) and give it to the next (initial_state)"
            )
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self._weights_of = {
            "kernel": (kernel_initializer, kernel_regularizer, kernel_constraint),
            "recurrent_kernel": (
                recurrent_initializer,
                recurrent_regularizer,
                recurrent_constraint,
            ),
            "bias": (bias_initializer, bias_regularizer, bias_constraint),
        }
        self.dropout = _share("dropout", dropout)
        self.recurrent_dropout = _share("recurrent_dropout", recurrent_dropout)
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.time_major = go_backwards, time_major
        self.kernel = self.recurrent_kernel = self.bias = None
        self._sequences = None  # what inputs must be, once that is known

    def __call__(self, inputs, initial_state=None, **kwargs):
        """The outputs; see the class."""
        if initial_state is not None:
            inputs = [convert(inputs), *map(convert, structure.flatten(initial_state))]
        return super().__call__(inputs, **kwargs)

    def build(self, input_shape):
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        depth = TensorShape(shapes[0]).as_list()[-1]
        if depth is None:
            raise ValueError(
                f"The last dimension of the inputs to `{type(self).__name__}` should be defined. "
                "Found `None`."
            )
        self._sequences = InputSpec(ndim=3, axes={-1: depth})
        size = self.num_parts * self.units
        self.kernel = self._weight("kernel", [depth, size])
        self.recurrent_kernel = self._weight("recurrent_kernel", [self.units, size])
        if self.use_bias:
            self.bias = self._weight("bias", self._bias_shape())
        self.built = True

    def _bias_shape(self):
        return [self.num_parts * self.units]

    def _weight(self, name, shape):
        initializer, regularizer, constraint = self._weights_of[name]
        return self.add_weight(
            name, shape, initializer=initializer, regularizer=regularizer, constraint=constraint
        )

    def compute_mask(self, inputs, mask=None):
        mask = mask[0] if isinstance(mask, list) else mask
        of_outputs = mask if self.return_sequences else None
        return [of_outputs, *[None] * self.num_states] if self.return_state else of_outputs

    def call(self, inputs, training=None, mask=None):
        inputs, *states = inputs if isinstance(inputs, list) else [inputs]
        mask = mask[0] if isinstance(mask, list) else mask
        check_inputs(self._sequences, inputs, self.name)
        if states and len(states) != self.num_states:
            raise ValueError(
                f"Layer {self.name} has {self.num_states} states and was given {len(states)}."
            )
        inputs = cast(inputs, self.kernel.dtype.base_dtype)
        time, batch = (0, 1) if self.time_major else (1, 0)
        if self.go_backwards:
            inputs = reverse(inputs, [time])
            mask = None if mask is None else reverse(mask, [time])
        step, begin, given = _Step(self, self._kept(inputs, batch, training)), None, inputs
        if mask is not None:
            step, given = _MaskedStep(step), (inputs, cast(expand_dims(mask, 2), inputs.dtype))
        if states:
            begin = tuple(states)
            if mask is not None:  # the output before the first time is zeros, whatever the state is
                begin = (*begin, gen_ops.zeros_like(begin[0]))
        outputs, last = dynamic_rnn(
            step, given, initial_state=begin, dtype=inputs.dtype, time_major=self.time_major
        )
        last_output, last = (last[0], last) if mask is None else (last[-1], last[:-1])
        made = outputs if self.return_sequences else last_output
        return [made, *last] if self.return_state else made

    def _kept(self, inputs, batch_axis, training):
        """What inputs and states are multiplied with at each point of time; None for nothing."""
        if not (self.dropout or self.recurrent_dropout):
            return None, None
        rows = [batch_size_of(inputs, batch_axis)]

        def mask(rate, size):
            if not rate:
                return None
            all_kept = ones(concat([rows, [size]], 0), inputs.dtype)
            drawn = smart_cond(
                training,
                lambda: nn_dropout(all_kept, rate=rate),
                lambda: gen_ops.identity(all_kept),
            )
            drawn.set_shape([rows[0] if isinstance(rows[0], int) else None, size])
            return drawn

        return (
            mask(self.dropout, inputs.shape.as_list()[-1]),
            mask(self.recurrent_dropout, self.units),
        )

    def compute_output_shape(self, input_shape):
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        first, second, _ = TensorShape(shapes[0]).as_list()
        batch = second if self.time_major else first
        outputs = TensorShape(
            [first, second, self.units] if self.return_sequences else [batch, self.units]
        )
        if not self.return_state:
            return outputs
        return [outputs] + [TensorShape([batch, self.units])] * self.num_states

    def step(self, inputs, states, kept):
        """The new states, the output first.

        Args:
          inputs: a Tensor of shape [batch, depth].
          states: the states before, each of shape [batch, units].
          kept: what the output before is multiplied with; None for nothing.
        """
        raise NotImplementedError("Abstract method")

    def _affine(self, inputs, kernel, bias):
        made = gen_ops.mat_mul(inputs, kernel)
        return made if bias is None else gen_ops.bias_add(made, bias)

    def copy(self, **changed):
        """A layer with the same settings, some of them changed, and variables of its own."""
        settings = {
            "units": self.units,
            "activation": self.activation,
            "use_bias": self.use_bias,
            "activity_regularizer": self.activity_regularizer,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "time_major": self.time_major,
            "trainable": self.trainable,
            "dtype": self.dtype,
            **self._more_settings(),
        }
        for name, kinds in self._weights_of.items():
            prefix = "recurrent" if name == "recurrent_kernel" else name
            for kind, value in zip(("initializer", "regularizer", "constraint"), kinds):
                settings[f"{prefix}_{kind}"] = value
        return type(self)(**{**settings, **changed})

    def _more_settings(self):
        return {}


class _Step:
    """One point of time of a layer, as loops over time want it."""

    def __init__(self, layer, kept):
        self._layer, self._kept = layer, kept

    @property
    def state_size(self):
        return (self._layer.units,) * self._layer.num_states

    @property
    def output_size(self):
        return self._layer.units

    def zero_state(self, batch_size, dtype):
        return zero_states(self.state_size, batch_size, dtype)

    def __call__(self, inputs, states):
        kept_inputs, kept_states = self._kept
        if kept_inputs is not None:
            inputs = inputs * kept_inputs
        states = self._layer.step(inputs, states, kept_states)
        return states[0], states


class _MaskedStep:
    """A _Step of (inputs, 1 where there are some and else 0): where there are none, states and output
    stay as they were. The last of its states is the output before."""

    def __init__(self, step):
        self._step = step

    @property
    def state_size(self):
        return (*self._step.state_size, self._step.output_size)

    @property
    def output_size(self):
        return self._step.output_size

    def zero_state(self, batch_size, dtype):
        return zero_states(self.state_size, batch_size, dtype)

    def __call__(self, inputs, states):
        inputs, is_there = inputs
        output, after = self._step(inputs, states[:-1])
        rows = squeeze(is_there > 0, [1])
        kept = tuple(
            where(rows, new, old) for new, old in zip((*after, output), states, strict=True)
        )
        return kept[-1], kept


def _share(name, rate):
    if not 0 <= rate < 1:
        raise ValueError(f"{name} must be in the range [0, 1), got {rate}")
    return rate


class SimpleRNN(Recurrent):
    """activation(inputs * kernel + output before * recurrent_kernel + bias). See Recurrent."""

    def step(self, inputs, states, kept):
        (before,) = states
        before = before if kept is None else before * kept
        made = self._affine(inputs, self.kernel, self.bias)
        return (self.activation(made + gen_ops.mat_mul(before, self.recurrent_kernel)),)


class GatedRecurrent(Recurrent):
    """The base of those with gates: `recurrent_activation` makes a gate, a function or its name."""

    def __init__(self, units, activation="tanh", recurrent_activation="hard_sigmoid", **kwargs):
        kwargs.pop("implementation", None)  # how it is computed, not what
        super().__init__(units, activation=activation, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)

    def _more_settings(self):
        return {"recurrent_activation": self.recurrent_activation}


class GRU(GatedRecurrent):
    """Gated recurrent units. The parts of its kernels are: update, reset, new.

    Args:
      reset_after: the reset gate acts on what the recurrent kernel makes of the state, instead of on
        the state; then there are two biases, `bias` is of shape [2, 3 * units].
      implementation: accepted. Others as for Recurrent.
    """

    num_parts = 3

    def __init__(self, units, *args, reset_after=False, **kwargs):
        super().__init__(units, *args, **kwargs)
        self.reset_after = reset_after

    def _bias_shape(self):
        return [2, 3 * self.units] if self.reset_after else [3 * self.units]

    def step(self, inputs, states, kept):
        (before,) = states
        used = before if kept is None else before * kept
        bias, state_bias = self.bias, None
        if self.reset_after and bias is not None:
            both = gen_ops.identity(bias)
            bias, state_bias = both[0], both[1]
        update, reset, new = split(self._affine(inputs, self.kernel, bias), 3, axis=1)
        if self.reset_after:
            old_update, old_reset, old_new = split(
                self._affine(used, self.recurrent_kernel, state_bias), 3, axis=1
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
        return (update * before + (1 - update) * self.activation(new + old_new),)

    def _more_settings(self):
        return {**super()._more_settings(), "reset_after": self.reset_after}


class LSTM(GatedRecurrent):
    """Long short-term memory. The parts of its kernels are: input, forget, new, output; its states
    are the output and the memory.

    Args:
      unit_forget_bias: the part of the bias for the forget gate begins as ones.
      implementation: accepted. Others as for Recurrent.
    """

    num_states = 2
    num_parts = 4

    def __init__(self, units, *args, unit_forget_bias=True, **kwargs):
        super().__init__(units, *args, **kwargs)
        self.unit_forget_bias = unit_forget_bias
        if unit_forget_bias:
            initializer, *others = self._weights_of["bias"]
            self._weights_of["bias"] = (self._forgets_little(initializer), *others)

    def _forgets_little(self, initializer):
        if getattr(initializer, "forgets_little", False):
            return initializer

        def made(shape, dtype=dtypes.float32, partition_info=None):
            if initializer in ("zeros", None):
                parts = zeros([4 * self.units], dtype)
            else:
                parts = named.initializer(initializer)([4 * self.units], dtype=dtype)
            first, forget, rest = split(parts, [self.units, self.units, 2 * self.units], axis=0)
            return concat([first, ones_like(forget), rest], 0)

        made.forgets_little = True
        return made

    def step(self, inputs, states, kept):
        before, memory = states
        used = before if kept is None else before * kept
        made = self._affine(inputs, self.kernel, self.bias)
        parts = split(made + gen_ops.mat_mul(used, self.recurrent_kernel), 4, axis=1)
        enters, stays, new, leaves = parts
        memory = self.recurrent_activation(stays) * memory + self.recurrent_activation(
            enters
        ) * self.activation(new)
        return self.recurrent_activation(leaves) * self.activation(memory), memory

    def _more_settings(self):
        return {**super()._more_settings(), "unit_forget_bias": self.unit_forget_bias}


class CuDNNLSTM(LSTM):
    """LSTM with the functions that CuDNN has: gates are sigmoids."""

    def __init__(self, units, **kwargs):
        kwargs.setdefault("recurrent_activation", "sigmoid")
        super().__init__(units, **kwargs)


class CuDNNGRU(GRU):
    """GRU as CuDNN has it: gates are sigmoids, and the reset gate comes after the product."""

    def __init__(self, units, **kwargs):
        kwargs.setdefault("recurrent_activation", "sigmoid")
        kwargs.setdefault("reset_after", True)
        super().__init__(units, **kwargs)
