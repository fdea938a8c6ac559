"""GridRNNCell (arXiv 1507.01526): a cell per dimension, each of which reads what all dimensions hold."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._layers.contrib_layers import fully_connected
from millrace._ops.arrays import concat, split, zeros
from millrace._recurrent.cell import RNNCell, batch_size_of
from millrace._recurrent.cells import LSTMCell, LSTMStateTuple
from millrace._state.named_variables import get_variable, variable_scope
from millrace._state.scaled_initializers import xavier_initializer
from millrace._values import structure


class GridRNNCell(RNNCell):
    """A grid of any number of dimensions.

    Each dimension holds an output and, if its cell is an LSTM, a memory. In a step the cell of a dimension takes the
    outputs of all but the last one as inputs, and that of the last one with its own memory as its state. Dimensions
    that are read have projections of the inputs in the place of what they held. Those that go last see what the others
    have just given.

    Args:
      num_units: how many units there are in a dimension.
      num_dims: how many dimensions there are.
      input_dims, output_dims: which dimensions inputs go to, in equal parts, and which give outputs: numbers or lists.
      priority_dims: which go last.
      non_recurrent_dims: which have no cell and no state, but a layer: non_recurrent_fn(all outputs * weights + biases).
      tied: True for one set of variables for all cells, and one for all layers.
      cell_fn: a function of num_units that returns an RNNCell whose state is a tuple, or no wider than its output;
        LSTMCell if None.
      non_recurrent_fn: a function of a Tensor; relu if None.
      state_is_tuple: False for states of all dimensions side by side in one Tensor.
      output_is_tuple: False for outputs of all dimensions side by side in one Tensor.

    Variables are in a scope that is called like the class: `project_m_N` of inputs and `project_c_N` of memories, those
    of cells in `recurrent/cell_N`, and of layers in `non_recurrent/cell_N`; without `cell_N` if they are tied.

    Raises:
      ValueError: if there is no dimension, or none of such a number; TypeError: if cell_fn gives no RNNCell.
    """

    def __init__(
        self,
        num_units,
        num_dims=1,
        input_dims=None,
        output_dims=None,
        priority_dims=None,
        non_recurrent_dims=None,
        tied=False,
        cell_fn=None,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__()
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        self._num_units, self._num_dims, self._tied = num_units, num_dims, tied
        self._read = _dims_of(input_dims, num_dims)
        self._given = _dims_of(output_dims, num_dims)
        self._last = _dims_of(priority_dims, num_dims)
        layers = _dims_of(non_recurrent_dims, num_dims)
        self._recurrent = [dim for dim in range(num_dims) if dim not in layers]
        self._activation = non_recurrent_fn or gen_ops.relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple
        make = cell_fn or LSTMCell
        cells = [make(num_units) for _ in range(1 if tied else num_dims)]
        if not isinstance(cells[0], RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(cells[0])}")
        self._cells = cells * num_dims if tied else cells

    @property
    def state_size(self):
        """A tuple of the states' sizes, those of dimensions with cells; or their sum."""
        size = self._cells[0].state_size
        if self._state_is_tuple:
            return (size,) * len(self._recurrent)
        return sum(structure.flatten(size)) * len(self._recurrent)

    @property
    def output_size(self):
        """A tuple of the sizes of outputs, or their sum."""
        size, count = self._cells[0].output_size, len(self._given)
        return (size,) * count if self._output_is_tuple else size * count

    def __call__(self, inputs, state, scope=None):
        """(outputs, new states).

        Args:
          inputs: a Tensor of shape [batch, depth], the depth a multiple of the number of dimensions that are read;
            a tuple of a Tensor for each; or None, or a depth of 0, for none.
          state: in the structure of state_size.
          scope: the name or VariableScope of the variables; by default the name of the class.

        Raises:
          ValueError: if there are states or inputs for more or fewer dimensions, or a dimension has neither.
        """
        memories, outputs = self._parts(state)
        with variable_scope(scope or type(self).__name__):
            self._project(inputs, memories, outputs)
            states, made = {}, set()
            for dims in (
                [dim for dim in range(self._num_dims) if dim not in self._last],
                self._last,
            ):
                # All of a group see the same: what the group before has left.
                seen = _seen(outputs, dims)
                for dim in dims:
                    outputs[dim], states[dim] = self._propagated(dim, memories[dim], seen, made)
            dtype = next(each for each in outputs if each is not None).dtype.base_dtype
            given = tuple(outputs[dim] for dim in self._given)
            kept = tuple(states[dim] for dim in self._recurrent)
            return (
                given if self._output_is_tuple else _side_by_side(given, dtype),
                kept if self._state_is_tuple else _side_by_side(structure.flatten(kept), dtype),
            )

    def _parts(self, state):
        """(memories, outputs) of all dimensions before the step; None where there are none."""
        size = self._cells[0].state_size
        has_memory = structure.is_sequence(size)
        if not self._state_is_tuple:
            widths = structure.flatten(size) * len(self._recurrent)
            parts = split(state, widths, 1) if widths else []
            step = len(structure.flatten(size))
            state = [
                structure.pack(size, parts[at : at + step]) if has_memory else parts[at]
                for at in range(0, len(parts), step)
            ]
        if len(state) != len(self._recurrent):
            raise ValueError(f"Expected state as a tuple of {len(self._recurrent)} element")
        memories, outputs = [None] * self._num_dims, [None] * self._num_dims
        for dim, held in zip(self._recurrent, state):
            if has_memory:
                memories[dim], outputs[dim] = held
            else:
                outputs[dim] = held
        return memories, outputs

    def _project(self, inputs, memories, outputs):
        """Puts projections of the inputs where dimensions are read."""
        if inputs is None or not self._read:
            return
        if isinstance(inputs, tuple):
            if len(inputs) != len(self._read):
                raise ValueError(f"Expect inputs as a tuple of {len(self._read)} tensors")
            parts = [convert(each) for each in inputs]
        else:
            inputs = convert(inputs)
            if inputs.shape.with_rank(2).as_list()[1] == 0:
                return
            parts = split(inputs, len(self._read), 1)
        has_memory = structure.is_sequence(self._cells[0].state_size)
        for dim, part in zip(self._read, parts):
            shape = [part.shape.as_list()[1], self._num_units]
            kind = part.dtype.base_dtype
            outputs[dim] = gen_ops.mat_mul(part, get_variable(f"project_m_{dim}", shape, kind))
            if has_memory:
                memories[dim] = gen_ops.mat_mul(part, get_variable(f"project_c_{dim}", shape, kind))

    def _propagated(self, dim, memory, seen, made):
        """(the output, the new state or None) of a dimension; `made` has the kinds whose variables are there."""
        kind = "recurrent" if dim in self._recurrent else "non_recurrent"
        reuse = True if self._tied and kind in made else None
        made.add(kind)
        with variable_scope(kind if self._tied else f"{kind}/cell_{dim}", reuse=reuse) as scope:
            inputs, last = seen
            if kind == "recurrent":
                cell = self._cells[dim]
                if memory is None:
                    return cell(inputs, last)
                pair = LSTMStateTuple if isinstance(cell.state_size, LSTMStateTuple) else _pair
                return cell(inputs, pair(memory, last))
            return (
                fully_connected(
                    concat([inputs, last], 1),
                    self._num_units,
                    activation_fn=self._activation,
                    weights_initializer=scope.initializer or xavier_initializer(),
                    weights_regularizer=scope.regularizer,
                ),
                None,
            )


def _dims_of(given, num_dims):
    """Numbers of dimensions as a sorted list."""
    dims = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
    dims = sorted(set(dims))
    if any(dim < 0 or dim >= num_dims for dim in dims):
        raise ValueError(f"Invalid dims: {dims}. Must be in [0, {num_dims})")
    return dims


def _seen(outputs, dims):
    """(the outputs of all dimensions but the last side by side, that of the last)."""
    if not dims:
        return None
    for dim, output in enumerate(outputs):
        if output is None:
            raise ValueError(f"Dimension {dim} of the grid has neither a state nor inputs")
    *others, last = outputs
    if others:
        return concat(others, 1), last
    return zeros([batch_size_of(last), 0], last.dtype.base_dtype), last


def _side_by_side(tensors, dtype):
    return concat(list(tensors), 1) if tensors else zeros([0, 0], dtype)


def _pair(memory, output):
    return memory, output
