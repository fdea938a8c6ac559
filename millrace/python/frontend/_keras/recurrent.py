"""RNN: a cell, or several, in a loop over the time of its inputs."""

import inspect

import numpy as np

from millrace._graph.conversion import convert
from millrace._keras import loops, sessions
from millrace._keras.nested import Nested
from millrace._keras.recurrent_cells import AbstractRNNCell
from millrace._layers.input_spec import InputSpec, check_inputs
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import zeros
from millrace._recurrent.cell import RNNCell, batch_size_of, dims_of, zero_states
from millrace._state.variables import Variable
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape


def _sizes(cell):
    """The sizes of a cell's states, a list."""
    sizes = cell.state_size
    return list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]


def _output_size(cell):
    size = getattr(cell, "output_size", None)
    return structure.flatten(_sizes(cell))[0] if size is None else size


def _first_states(cell, batch_size, dtype):
    make = getattr(cell, "get_initial_state", None)
    if make is None:
        made = zero_states(cell.state_size, batch_size, dtype)
    else:
        made = make(inputs=None, batch_size=batch_size, dtype=dtype)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _called(cell, inputs, states, scope, given):
    """(output, list of states) of a cell of Keras's, of tf.nn's or a program's own."""
    if isinstance(cell, RNNCell):
        whole = structure.pack(cell.state_size, structure.flatten(states))
        output, states = cell(inputs, whole, scope=None if cell.built else scope)
    else:
        output, states = (cell if callable(cell) else cell.call)(inputs, states, **given)
    return output, list(states) if isinstance(states, (list, tuple)) else [states]


class StackedRNNCells(Nested, AbstractRNNCell):
    """Several cells as one: the output of each is the input of the next.

    Args:
      cells: a list of cells. Its states are a list of those of each.

    Raises:
      ValueError: if one of them has no `call` or no `state_size`.
    """

    def __init__(self, cells, **kwargs):
        for cell in cells:
            _check_cell(cell, "All cells")
        super().__init__(**kwargs)
        self.cells = self.inner = list(cells)

    @property
    def state_size(self):
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self):
        return _output_size(self.cells[-1])

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            batch_size, dtype = batch_size_of(inputs), inputs.dtype.base_dtype
        return [
            structure.pack(
                cell.state_size, structure.flatten(_first_states(cell, batch_size, dtype))
            )
            for cell in self.cells
        ]

    def build(self, input_shape):
        for i, cell in enumerate(self.cells):
            if hasattr(cell, "build_within"):
                cell.build_within(self._scope, input_shape, f"_{i}" if i else "")
            batch = TensorShape(input_shape).as_list()[:1]
            input_shape = TensorShape([*batch, *dims_of(_output_size(cell))])
        self.built = True

    def call(self, inputs, states, constants=None, training=None):
        made = []
        for i, (cell, mine) in enumerate(zip(self.cells, states, strict=True)):
            given = _taken(cell, constants, training)
            mine = list(mine) if isinstance(mine, (list, tuple)) else [mine]
            scope = None if self._scope is None else f"cell_{i}"
            inputs, new = _called(cell, inputs, mine, scope, given)
            made.append(structure.pack(cell.state_size, structure.flatten(new)))
        return inputs, made

    def reset_dropout_mask(self):
        _reset_masks(self.cells)

    def reset_recurrent_dropout_mask(self):
        _reset_masks(self.cells)


def _check_cell(cell, what="`cell`"):
    for name in ("call", "state_size"):
        if name not in dir(cell):
            raise ValueError(f"{what} should have `{name}`. The RNN was passed: {cell!r}")


def _reset_masks(cells):
    """Has cells draw anew what they drop."""
    for cell in cells:
        for name in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
            getattr(cell, name, lambda: None)()


def _taken(cell, constants, training):
    """What a cell's `call` takes of these, by name. ValueError for constants that it does not."""
    taken = inspect.signature(cell.call).parameters
    if constants and "constants" not in taken:
        raise ValueError(f"RNN cell does not support constants: {cell!r}")
    given = {"training": training, "constants": constants or None}
    return {name: value for name, value in given.items() if name in taken and value is not None}


class RNN(Nested):
    """A recurrent layer. Inputs are of shape [batch, time, ...].

    A call takes `initial_state`, a list of Tensors to begin with (zeros, or what was kept, if None), and
    `constants`, a list of Tensors that the cell gets at all times, and gives the last output.

    Args:
      cell: an object with `call(inputs, states)`, which gives (output, list of new states), and
        `state_size`; or a list of them, each of which has the output of the one before; those of
        tf.nn.rnn_cell are too. Its variables are named as the layer's.
      return_sequences: the outputs of all times instead, of shape [batch, time, ...].
      return_state: the last state too: [outputs, *states]; of several cells each has a list of its own.
      go_backwards: goes through time from its end; outputs are in the order in which they are made.
      stateful: each batch begins with the states that the one before ended with; the size of the batch
        must be known. A model's fit, evaluate and predict keep them; programs that run a session of their
        own run `updates`.
      unroll: the graph has a copy of the cell for each time, instead of a loop.
      time_major: inputs and outputs have time before the batch.
      zero_output_for_mask: outputs at times that a mask leaves out are zeros, not those before.

    Raises:
      ValueError: if the cell is none, or when called, if shapes and the number of states do not fit.
    """

    supports_masking = True

    def __init__(
        self,
        cell,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        time_major=False,
        **kwargs,
    ):
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        _check_cell(cell)
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        length, depth = kwargs.pop("input_length", None), kwargs.get("input_dim")
        if depth is not None and "input_shape" not in kwargs:
            kwargs["input_shape"] = (length, kwargs.pop("input_dim"))
        count = kwargs.pop("num_constants", 0)  # in a config
        super().__init__(**kwargs)
        self.cell, self.inner = cell, [cell]
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful = go_backwards, stateful
        self.unroll, self.time_major = unroll, time_major
        self._state_updates = []
        self._sequences = None  # what inputs must be, once that is known
        self._kept = None  # the variables of states between batches
        self._count = count or 0  # of constants

    @property
    def num_states(self):
        return len(structure.flatten(self.cell.state_size))

    @property
    def state_updates(self):
        return [*self._state_updates, *super().state_updates]

    @property
    def states(self):
        """The variables of states between batches, a list; of Nones if there are none."""
        return [None] * self.num_states if self._kept is None else list(self._kept)

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        """The outputs; see the class. `inputs` may be a list that has the others behind them."""
        if initial_state is not None or constants is not None:
            more = structure.flatten(constants) if constants is not None else []
            self._count = len(more)
            begin = structure.flatten(initial_state) if initial_state is not None else []
            inputs = [convert(inputs), *map(convert, [*begin, *more])]
        return super().__call__(inputs, **kwargs)

    def _step_shape(self, shape):
        sizes = TensorShape(shape).as_list()
        return TensorShape(sizes[1:] if self.time_major else [sizes[0], *sizes[2:]])

    def build(self, input_shape):
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        if TensorShape(shape).ndims is None or TensorShape(shape).ndims < 3:
            raise ValueError(
                f"Inputs of layer {self.name} must be of shape [batch, time, ...] (ndim 3 or more), "
                f"found {shape}"
            )
        sizes = TensorShape(shape).as_list()
        if hasattr(self.cell, "build_within"):
            self.cell.build_within(self._scope, self._step_shape(shape))
        self._sequences = InputSpec(shape=[None, None, *sizes[2:]])
        if self.stateful:
            self._keep(sizes[1 if self.time_major else 0])
        self.built = True

    def _keep(self, batch_size):
        """Makes the variables of states between batches."""
        if batch_size is None:
            raise ValueError(
                f"If a RNN is stateful, it needs to know its batch size: give the input of layer "
                f"{self.name} a fixed one by `batch_input_shape`, or `batch_shape` of Input."
            )
        self._kept = [
            Variable(
                zeros([batch_size, *dims_of(size)], self.dtype or "float32"),
                trainable=False,
                name="state",
                use_resource=True,
            )
            for size in structure.flatten(self.cell.state_size)
        ]
        sessions.track(self._kept)

    def compute_mask(self, inputs, mask=None):
        mask = mask[0] if isinstance(mask, list) else mask
        of_outputs = mask if self.return_sequences else None
        return [of_outputs, *[None] * self.num_states] if self.return_state else of_outputs

    def get_initial_state(self, inputs):
        """The states to begin with for inputs: zeros, a list."""
        rows = batch_size_of(inputs, 1 if self.time_major else 0)
        return _first_states(self.cell, rows, inputs.dtype.base_dtype)

    def call(self, inputs, training=None, mask=None):
        inputs, *more = inputs if isinstance(inputs, list) else [inputs]
        mask = mask[0] if isinstance(mask, list) else mask
        check_inputs(self._sequences, inputs, self.name)
        if self.dtype is not None:
            inputs = cast(inputs, self.dtype)
        given = len(more) - self._count
        begin, constants = more[:given], more[given:]
        if begin and len(begin) != self.num_states:
            raise ValueError(
                f"Layer {self.name} has {self.num_states} states and was given {len(begin)}."
            )
        states = begin or self._kept and [each.read_value() for each in self._kept]
        if states:
            states = structure.pack(_sizes(self.cell), states)
        else:
            states = self.get_initial_state(inputs)
        _reset_masks([self.cell])
        count = len(states)

        def step(now, all_states):
            taken = _taken(self.cell, all_states[count:], training)
            return _called(self.cell, now, all_states[:count], self._scope, taken)

        last, outputs, states = loops.rnn(
            step,
            inputs,
            states,
            go_backwards=self.go_backwards,
            mask=mask,
            constants=constants,
            unroll=self.unroll,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        if self._kept is not None:
            changes = [
                kept.assign(state, read_value=False)
                for kept, state in zip(self._kept, structure.flatten(states))
            ]
            self._state_updates += changes
            self.add_update(changes)
        made = outputs if self.return_sequences else last
        return [made, *states] if self.return_state else made

    def get_config(self):
        counted = {"num_constants": self._count} if self._count else {}
        return {**super().get_config(), **counted}

    def reset_states(self, states=None):
        """Has what is kept between batches begin again.

        Args:
          states: arrays for it, one or a list; zeros if None.

        Raises:
          AttributeError: if the layer is not stateful; ValueError: if it has no states yet, or for
            arrays of another number or shape.
        """
        if not self.stateful:
            raise AttributeError(f"Layer must be stateful: {self.name}")
        if self._kept is None:
            raise ValueError(f"Layer {self.name} has no states before it is built: call it first.")
        shapes = [each.shape.as_list() for each in self._kept]
        values = map(np.zeros, shapes) if states is None else structure.flatten(states)
        values = [np.asarray(value) for value in values]
        if len(values) != len(shapes):
            raise ValueError(
                f"Layer {self.name} expects {len(shapes)} states, but it received {len(values)}."
            )
        whole = []
        for value, shape, kept in zip(values, shapes, self._kept):
            if list(value.shape) != shape:
                raise ValueError(
                    f"State of layer {self.name} is incompatible: expected shape {shape}, found "
                    f"{list(value.shape)}"
                )
            whole.append((kept, value))
        sessions.batch_set_value(whole)

    def compute_output_shape(self, input_shape):
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        first, second = TensorShape(shapes[0]).as_list()[:2]
        batch = second if self.time_major else first
        size = dims_of(_output_size(self.cell))
        outputs = TensorShape([first, second, *size] if self.return_sequences else [batch, *size])
        if not self.return_state:
            return outputs
        sizes = structure.flatten(self.cell.state_size)
        return [outputs] + [TensorShape([batch, *dims_of(each)]) for each in sizes]
