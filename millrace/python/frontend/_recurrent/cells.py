"""The cells that most recurrent nets are made of."""

from collections import namedtuple

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant
from millrace._graph.node_counts import count_more
from millrace._layers.input_spec import InputSpec
from millrace._ops.arithmetic import sigmoid, tanh
from millrace._ops.arrays import concat, split
from millrace._ops.clipping import clip_by_value
from millrace._recurrent.cell import RNNCell
from millrace._state.initializers import constant_initializer, zeros_initializer
from millrace._state.named_variables import variable_scope
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape


def known_depth(shape, cell):
    """The last size of inputs of this shape. ValueError if it is not known."""
    dims = TensorShape(shape).as_list() if TensorShape(shape).ndims is not None else [None]
    if dims[-1] is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape} ({cell.name})")
    return dims[-1]


def _affine(inputs, kernel, bias):
    return gen_ops.bias_add(gen_ops.mat_mul(concat(inputs, 1), kernel), bias)


def _state_dtype(state):
    kinds = {leaf.dtype.base_dtype for leaf in state}
    if len(kinds) != 1:
        raise TypeError(f"Inconsistent internal state: {[leaf.dtype.name for leaf in state]}")
    return kinds.pop()


class BasicRNNCell(RNNCell):
    """output = new state = activation([inputs, state] * kernel + bias).

    Args:
      num_units: the size of the state and of the output.
      activation: a function of a Tensor; tanh if None.
      reuse: True to use existing variables.
      name, dtype: as for layers.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation or tanh

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        depth = known_depth(inputs_shape, self)
        self._kernel = self.add_weight("kernel", [depth + self._num_units, self._num_units])
        self._bias = self.add_weight(
            "bias", [self._num_units], initializer=zeros_initializer(dtype=self.dtype)
        )
        self.built = True

    def call(self, inputs, state):
        output = self._activation(_affine([inputs, state], self._kernel, self._bias))
        return output, output


class GRUCell(RNNCell):
    """Gated recurrent units: an update gate mixes the old state with a candidate, which sees as much
    of the old state as a reset gate lets through.

    Args:
      num_units: the size of the state and of the output.
      activation: of the candidate; tanh if None.
      reuse, name, dtype: as for BasicRNNCell.
      kernel_initializer, bias_initializer: of the variables; biases of the gates begin with 1 if
        None.
    """

    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        units = self._num_units
        rows = known_depth(inputs_shape, self) + units
        given = self._bias_initializer

        def made(part, columns, bias):
            kernel = self.add_weight(
                f"{part}/kernel", [rows, columns], initializer=self._kernel_initializer
            )
            return kernel, self.add_weight(f"{part}/bias", [columns], initializer=given or bias)

        self._gates = made("gates", 2 * units, constant_initializer(1.0, dtype=self.dtype))
        self._candidate = made("candidate", units, zeros_initializer(dtype=self.dtype))
        self.built = True

    def call(self, inputs, state):
        reset, update = split(sigmoid(_affine([inputs, state], *self._gates)), 2, 1)
        candidate = self._activation(_affine([inputs, reset * state], *self._candidate))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state


class LSTMStateTuple(namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM cell: c, what it keeps, and h, what it gave."""

    __slots__ = ()

    @property
    def dtype(self):
        """The type of both. TypeError if they differ."""
        return _state_dtype(self)


class _LSTM(RNNCell):
    """What LSTM cells have in common: how the state looks."""

    def __init__(self, state_is_tuple, reuse, name, dtype, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._state_is_tuple = state_is_tuple

    def _parts(self, state, sizes):
        return state if self._state_is_tuple else split(state, sizes, 1)

    def _joined(self, c, h):
        return LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


class BasicLSTMCell(_LSTM):
    """Long short-term memory without peepholes, clipping and projection.

    Args:
      num_units: the size of the output, and of both parts of the state.
      forget_bias: added to the bias of the forget gate.
      state_is_tuple: False to have the state as one Tensor, c and h side by side.
      activation: of the candidate and of the output; tanh if None.
      reuse, name, dtype: as for BasicRNNCell.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(state_is_tuple, reuse, name, dtype, **kwargs)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation or tanh

    @property
    def state_size(self):
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        units = self._num_units
        depth = known_depth(inputs_shape, self)
        self._kernel = self.add_weight("kernel", [depth + units, 4 * units])
        self._bias = self.add_weight(
            "bias", [4 * units], initializer=zeros_initializer(dtype=self.dtype)
        )
        self.built = True

    def call(self, inputs, state):
        c, h = self._parts(state, 2)
        if not self._state_is_tuple:
            count_more(-1)  # the axis is the one of the later concat
        gates = split(_affine([inputs, h], self._kernel, self._bias), 4, 1)
        enter, candidate, forget, leave = gates
        bias = constant(self._forget_bias, forget.dtype)
        kept = c * sigmoid(forget + bias)
        new_c = kept + sigmoid(enter) * self._activation(candidate)
        new_h = self._activation(new_c) * sigmoid(leave)
        return new_h, self._joined(new_c, new_h)


class LSTMCell(_LSTM):
    """Long short-term memory, with what later papers added.

    Args:
      num_units: the size of what it keeps.
      use_peepholes: True to let the gates see what is kept.
      cell_clip: what is kept is clipped to this absolute value; None for no limit.
      initializer: of the kernels.
      num_proj: the size of the output, a product of what comes out; None for num_units.
      proj_clip: the output is clipped to this absolute value, if it is projected.
      num_unit_shards, num_proj_shards: accepted; variables are not partitioned.
      forget_bias, state_is_tuple, activation, reuse, name, dtype: as for BasicLSTMCell.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(state_is_tuple, reuse, name, dtype, **kwargs)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._forget_bias = forget_bias
        self._activation = activation or tanh

    @property
    def state_size(self):
        sizes = self._num_units, self.output_size
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        return self._num_proj or self._num_units

    def build(self, inputs_shape):
        units = self._num_units
        rows = known_depth(inputs_shape, self) + self.output_size
        self._kernel = self.add_weight("kernel", [rows, 4 * units], initializer=self._initializer)
        self._bias = self.add_weight(
            "bias",
            [4 * units],
            initializer=self._initializer_of_bias(),
        )
        if self._use_peepholes:
            self._peepholes = [
                self.add_weight(f"w_{gate}_diag", [units], initializer=self._initializer)
                for gate in "fio"
            ]
        if self._num_proj is not None:
            self._projection = self.add_weight(
                "projection/kernel", [units, self._num_proj], initializer=self._initializer
            )
        self.built = True

    def _initializer_of_bias(self):
        return zeros_initializer(dtype=self.dtype)

    def call(self, inputs, state):
        c, h = self._parts(state, [self._num_units, self.output_size])
        gates = split(_affine([inputs, h], self._kernel, self._bias), 4, 1)
        enter, candidate, forget, leave = gates
        forget = forget + self._forget_bias
        if self._use_peepholes:
            by_forget, by_enter, by_leave = self._peepholes
            forget, enter = forget + by_forget * c, enter + by_enter * c
        new_c = sigmoid(forget) * c + sigmoid(enter) * self._activation(candidate)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            leave = leave + by_leave * new_c
        output = sigmoid(leave) * self._activation(new_c)
        if self._num_proj is not None:
            output = gen_ops.mat_mul(output, self._projection)
            if self._proj_clip is not None:
                output = clip_by_value(output, -self._proj_clip, self._proj_clip)
        return output, self._joined(new_c, output)


class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of each is the input of the next.

    Args:
      cells: the cells, the lowest first.
      state_is_tuple: False to have the states of all as one Tensor, side by side.

    Raises:
      ValueError: if there are none, or a state is a tuple and should not; TypeError: if `cells` is
        no list.
    """

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(structure.is_sequence(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  "
                f"State sizes are: {[c.state_size for c in cells]}"
            )

    @property
    def state_size(self):
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        return self._cells[-1].output_size

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        return [each for cell in self._cells for each in getattr(cell, "trainable_weights", [])]

    @property
    def non_trainable_weights(self):
        kept = [each for cell in self._cells for each in getattr(cell, "non_trainable_weights", [])]
        if self.trainable:
            return kept
        return [w for cell in self._cells for w in getattr(cell, "trainable_weights", [])] + kept

    def zero_state(self, batch_size, dtype):
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs, state):
        sizes = [cell.state_size for cell in self._cells]
        if self._state_is_tuple:
            if len(state) != len(self._cells):
                raise ValueError(
                    f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
                )
            states = state
        else:
            states = split(state, sizes, 1)
        new_states = []
        for i, (cell, own) in enumerate(zip(self._cells, states)):
            if i > 0 and not self._state_is_tuple:
                count_more(3)  # a slice of the state for each cell
            with variable_scope(f"cell_{i}"):
                inputs, new_state = cell(inputs, own)
            new_states.append(new_state)
        return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
