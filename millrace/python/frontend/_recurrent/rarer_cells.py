"""Cells of tf.contrib.rnn that programs ask for now and then: gates in other places than an LSTM's."""

from millrace import _gen as gen_ops
from millrace._layers.input_spec import InputSpec
from millrace._ops.arithmetic import cast, sigmoid, tanh
from millrace._ops.arrays import concat, split, stop_gradient, where
from millrace._ops.clipping import clip_by_value
from millrace._ops.normalization import batch_normalization, moments
from millrace._ops.random_values import random_uniform
from millrace._recurrent.cell import RNNCell
from millrace._recurrent.cells import LSTMStateTuple, known_depth
from millrace._recurrent.projections import linear
from millrace._state.initializers import (
    constant_initializer,
    random_uniform_initializer,
    zeros_initializer,
)
from millrace._state.named_variables import get_variable, variable_scope


class _CellOfUnits(RNNCell):
    """A cell whose state and output have num_units elements."""

    def __init__(self, num_units, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units


class UGRNNCell(_CellOfUnits):
    """Update gate: new state = output = g * state + (1 - g) * activation(candidate) (arXiv 1611.09913).

    Args:
      num_units: the size of the state and of the output.
      initializer: of the kernel; the scope's if None.
      forget_bias: added to the gate.
      activation: of the candidate.
      reuse: True to use existing variables. They are `kernel` and `bias`.
    """

    def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=tanh, reuse=None):
        super().__init__(num_units, reuse)
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = activation

    def call(self, inputs, state):
        both = linear([inputs, state], 2 * self._num_units, self._initializer)
        gate, candidate = split(both, 2, 1)
        gate = sigmoid(gate + self._forget_bias)
        made = gate * state + (1.0 - gate) * self._activation(candidate)
        return made, made


class IntersectionRNNCell(_CellOfUnits):
    """Gates through time and through layers: the output mixes the inputs, too (arXiv 1611.09913).

    Args:
      num_units: the size of the state and of the output.
      num_in_proj: for inputs of another size: num_units, to project them.
      initializer: of kernels; the scope's if None.
      forget_bias: added to both gates.
      y_activation: of what goes to the next layer.
      reuse: True to use existing variables.

    Raises:
      ValueError: (when it is called) for inputs of another size without num_in_proj.
    """

    def __init__(
        self,
        num_units,
        num_in_proj=None,
        initializer=None,
        forget_bias=1.0,
        y_activation=gen_ops.relu,
        reuse=None,
    ):
        super().__init__(num_units, reuse)
        self._num_in_proj, self._initializer = num_in_proj, initializer
        self._forget_bias, self._y_activation = forget_bias, y_activation

    def call(self, inputs, state):
        if known_depth(inputs.shape, self) != self._num_units:
            if not self._num_in_proj:
                raise ValueError(
                    "Must have input size == output size for Intersection RNN. To fix, num_in_proj "
                    "should be set to num_units at cell init."
                )
            with variable_scope("in_projection"):
                inputs = linear([inputs], self._num_units, self._initializer)
        made = linear([inputs, state], 4 * self._num_units, self._initializer)
        through_time, h, through_depth, y = split(made, 4, 1)
        through_time = sigmoid(through_time + self._forget_bias)
        through_depth = sigmoid(through_depth + self._forget_bias)
        new_state = through_time * state + (1.0 - through_time) * tanh(h)
        return through_depth * inputs + (1.0 - through_depth) * self._y_activation(y), new_state


class IndRNNCell(_CellOfUnits):
    """output = new state = activation(inputs * W + state times u, element by element, + bias).

    Args:
      num_units: the size of the state and of the output.
      activation: tanh if None.
      reuse: True to use existing variables: `kernel_w`, `kernel_u`, `bias`.
      name, dtype: as for layers.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None):
        super().__init__(num_units, reuse, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=2)
        self._activation = activation or tanh

    def build(self, inputs_shape):
        units = self._num_units
        self._w = self.add_weight("kernel_w", [known_depth(inputs_shape, self), units])
        self._u = self.add_weight(
            "kernel_u", [1, units], initializer=random_uniform_initializer(-1.0, 1.0)
        )
        self._bias = self.add_weight("bias", [units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs, state):
        made = gen_ops.mat_mul(inputs, self._w) + state * self._u
        output = self._activation(gen_ops.bias_add(made, self._bias))
        return output, output


class SRUCell(_CellOfUnits):
    """The simple recurrent unit, whose gates see the inputs alone (arXiv 1709.02755).

    Args:
      num_units: the size of the state and of the output.
      activation: of what it keeps; tanh if None.
      reuse: True to use existing variables: `kernel` and `bias`.
      name: as for layers.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, **kwargs):
        super().__init__(num_units, reuse, name=name, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._activation = activation or tanh

    def build(self, inputs_shape):
        units = self._num_units
        self._kernel = self.add_weight("kernel", [known_depth(inputs_shape, self), 4 * units])
        self._bias = self.add_weight("bias", [2 * units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs, state):
        seen, forget, reset, shown = split(gen_ops.mat_mul(inputs, self._kernel), 4, 1)
        gates = sigmoid(gen_ops.bias_add(concat([forget, reset], 1), self._bias))
        forget, reset = split(gates, 2, 1)
        kept = forget * state + (1.0 - forget) * seen
        return reset * self._activation(kept) + (1.0 - reset) * shown, kept


class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM that forgets as much as it takes in: the input gate is 1 less the forget gate.

    Args:
      num_units: the size of what it keeps.
      use_peepholes: True to let the gates see what is kept.
      initializer: accepted, as TensorFlow's does not use it; the scope's counts.
      num_proj: the size of the output, a product of what comes out; None for num_units.
      proj_clip: the largest size of an element of it.
      num_unit_shards, num_proj_shards: how many variables the kernels are divided into.
      forget_bias: added to the forget gate.
      state_is_tuple: False for a state that is one Tensor.
      activation: of the candidate and of the output.
      reuse: True to use existing variables: `W_0`, `B`, `W_F_diag`, `W_O_diag`, `W_P_0`.
      layer_norm, norm_gain, norm_shift: as for LayerNormBasicLSTMCell.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=1,
        num_proj_shards=1,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=tanh,
        reuse=None,
        layer_norm=False,
        norm_gain=1.0,
        norm_shift=0.0,
    ):
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._activation = forget_bias, activation
        self._state_is_tuple = state_is_tuple
        self._norms = {"gamma": norm_gain, "beta": norm_shift} if layer_norm else None

    @property
    def state_size(self):
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        return self._num_proj or self._num_units

    def call(self, inputs, state):
        units, dtype = self._num_units, inputs.dtype
        if self._state_is_tuple:
            c, m = state
        else:
            c, m = state[:, :units], state[:, units:]
        rows = known_depth(inputs.shape, self) + self.output_size
        kernel = _divided("W", [rows, 3 * units], dtype, self._shards[0])
        bias = get_variable("B", [3 * units], dtype, initializer=zeros_initializer())
        gates = gen_ops.mat_mul(concat([inputs, m], 1), kernel)
        if self._norms is None:
            gates = gen_ops.bias_add(gates, bias)
        candidate, forget, leave = (
            self._normalized(part, values)
            for part, values in zip(("transform", "forget", "output"), split(gates, 3, 1))
        )
        forget = forget + self._forget_bias
        if self._use_peepholes:
            forget = forget + get_variable("W_F_diag", [units], dtype) * c
            of_output = get_variable("W_O_diag", [units], dtype)
        forget = sigmoid(forget)
        c = self._normalized("state", forget * c + (1.0 - forget) * self._activation(candidate))
        leave = sigmoid(leave + of_output * c if self._use_peepholes else leave)
        m = leave * self._activation(c)
        if self._num_proj is not None:
            projection = _divided("W_P", [units, self._num_proj], dtype, self._shards[1])
            m = gen_ops.mat_mul(m, projection)
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else concat([c, m], 1)

    def _normalized(self, part, values):
        if self._norms is None:
            return values
        with variable_scope(part):
            gamma, beta = (
                get_variable(
                    name, [self._num_units], values.dtype, initializer=constant_initializer(start)
                )
                for name, start in self._norms.items()
            )
        mean, variance = moments(values, [1], keep_dims=True)
        return batch_normalization(values, mean, variance, beta, gamma, 1e-12)


def _divided(name, shape, dtype, count):
    """A matrix of so many variables with runs of its rows."""
    rows, columns = shape
    if count > rows:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={count}")
    least, more = divmod(rows, count)
    parts = [
        get_variable(f"{name}_{i}", [least + (i < more), columns], dtype) for i in range(count)
    ]
    return concat(parts, 0) if count > 1 else parts[0]


class PhasedLSTMCell(RNNCell):
    """An LSTM each of whose units changes at times of its own alone (arXiv 1610.09513).

    Inputs are (times, a float Tensor of shape [batch, 1]; values of shape [batch, depth]).

    Args:
      num_units: the size of the output, and of both parts of the state.
      use_peepholes: True to let the gates see what is kept.
      leak: how much a unit changes at other times, a number from 0 to 1.
      ratio_on: for which part of its period a unit is open, a number from 0 to 1.
      trainable_ratio_on: whether that is trained.
      period_init_min, period_init_max: bounds of the periods that units begin with.
      reuse: True to use existing variables: `period`, `phase`, `ratio_on`, and those of gates.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        leak=0.001,
        ratio_on=0.1,
        trainable_ratio_on=True,
        period_init_min=1.0,
        period_init_max=1000.0,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._leak, self._ratio_on, self._trains_ratio = leak, ratio_on, trainable_ratio_on
        self._bounds = period_init_min, period_init_max

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def call(self, inputs, state):
        (c, h), (time, x) = state, inputs
        units = self._num_units
        with variable_scope("mask_gates"):
            seen = [x, h, c] if self._use_peepholes else [x, h]
            enter, forget = split(sigmoid(linear(seen, 2 * units)), 2, 1)
        with variable_scope("new_input"):
            new_c = c * forget + enter * tanh(linear([x, h], units))
        with variable_scope("output_gate"):
            seen = [x, h, new_c] if self._use_peepholes else [x, h]
            new_h = tanh(new_c) * sigmoid(linear(seen, units))
        openness = self._openness(time, h.dtype)
        new_c = openness * new_c + (1.0 - openness) * c
        new_h = openness * new_h + (1.0 - openness) * h
        return new_h, LSTMStateTuple(new_c, new_h)

    def _openness(self, time, dtype):
        """How far each unit is open at these times, of shape [batch, units]."""
        units = [self._num_units]
        low, high = self._bounds

        def periods(shape, dtype=dtype, partition_info=None):
            logs = random_uniform(shape, gen_ops.log(low), gen_ops.log(high), dtype)
            return gen_ops.exp(logs)

        period = get_variable("period", units, dtype, initializer=periods)

        def phases(shape, dtype=dtype, partition_info=None):
            return random_uniform(shape, dtype=dtype) * period.initial_value

        phase = get_variable("phase", units, dtype, initializer=phases)
        ratio_on = get_variable(
            "ratio_on",
            units,
            dtype,
            initializer=constant_initializer(self._ratio_on),
            trainable=self._trains_ratio,
        )
        # In the type of the times, which may be large and need more digits.
        length, shifted = cast(period, time.dtype), time - cast(phase, time.dtype)
        rest = stop_gradient(gen_ops.floor_mod(shifted, length) - shifted) + shifted
        ratio = cast(rest / length, dtype)
        rising = 2 * ratio / ratio_on
        on = ratio_on + gen_ops.zeros_like(ratio)
        made = where(gen_ops.less(ratio, on), 2 - rising, self._leak * ratio)
        return where(gen_ops.less(ratio, 0.5 * on), rising, made)
