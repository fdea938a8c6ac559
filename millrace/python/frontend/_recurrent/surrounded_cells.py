"""Cells around others with weights of their own: attention to what came out last, and highways."""

from millrace._ops.arithmetic import sigmoid, tanh
from millrace._ops.arrays import concat, expand_dims, reshape
from millrace._ops.convolutions import conv2d
from millrace._ops.layers import softmax, xw_plus_b
from millrace._ops.reductions import reduce_sum
from millrace._recurrent.cell import RNNCell, assert_like_rnncell
from millrace._recurrent.cells import known_depth
from millrace._recurrent.projections import linear
from millrace._recurrent.wrappers import CellWrapper
from millrace._state.initializers import constant_initializer
from millrace._state.named_variables import get_variable, variable_scope
from millrace._values import structure


class AttentionCellWrapper(RNNCell):
    """A cell that looks back at its last outputs (arXiv 1601.06733).

    Args:
      cell: the cell.
      attn_length: at how many of them.
      attn_size: the size of what it sees, and of the output; that of the cell's output if None.
      attn_vec_size: the size of what decides where it looks; attn_size if None.
      input_size: the size of what the cell is given; that of the inputs if None.
      state_is_tuple: False for a state that is one Tensor.
      reuse: True to use existing variables.

    Raises:
      TypeError: if `cell` is none. ValueError: if attn_length is not positive, or the cell's state is a
        tuple and this one is not.
    """

    def __init__(
        self,
        cell,
        attn_length,
        attn_size=None,
        attn_vec_size=None,
        input_size=None,
        state_is_tuple=True,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if structure.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size is: "
                f"{cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._length, self._input_size = cell, attn_length, input_size
        self._size = cell.output_size if attn_size is None else attn_size
        self._vec_size = self._size if attn_vec_size is None else attn_vec_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self):
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        return self._size

    def call(self, inputs, state):
        if not self._state_is_tuple:
            first = self._cell.state_size
            second = first + self._size
            state = state[:, :first], state[:, first:second], state[:, second:]
        own, seen, last = state
        last = reshape(last, [-1, self._length, self._size])
        size = self._input_size or known_depth(inputs.shape, self)
        output, new_own = self._cell(linear([inputs, seen], size), own)
        new_seen = self._seen(structure.flatten(new_own), last)
        with variable_scope("attn_output_projection"):
            output = linear([output, new_seen], self._size)
        new_last = concat([last[:, 1:], expand_dims(output, 1)], 1)
        new_last = reshape(new_last, [-1, self._length * self._size])
        new = (new_own, new_seen, new_last)
        return output, new if self._state_is_tuple else concat(list(new), 1)

    def _seen(self, query, last):
        """The last outputs, each as much as the query wants it."""
        with variable_scope("attention"):
            k = get_variable("attn_w", [1, 1, self._size, self._vec_size], last.dtype)
            v = get_variable("attn_v", [self._vec_size], last.dtype)
            hidden = reshape(last, [-1, self._length, 1, self._size])
            features = conv2d(hidden, k, [1, 1, 1, 1], "SAME")
            y = reshape(linear(query, self._vec_size), [-1, 1, 1, self._vec_size])
            weights = softmax(reduce_sum(v * tanh(features + y), [2, 3]))
            seen = reduce_sum(reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return reshape(seen, [-1, self._size])


class HighwayWrapper(CellWrapper):
    """A cell whose outputs are mixed with its inputs by a gate (arXiv 1505.00387).

    Args:
      cell: the cell; its outputs are of the structure and shapes of its inputs.
      couple_carry_transform_gates: False for a gate of its own for the outputs.
      carry_bias_init: the first bias of the gate of the inputs; the other's is below 0 by it.
    """

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
        super().__init__(cell)
        self._is_coupled, self._first_bias = couple_carry_transform_gates, carry_bias_init

    def wrap(self, inputs, state, call):
        outputs, new_state = call(inputs, state)
        structure.assert_same_structure(inputs, outputs, "inputs and outputs of a cell")
        return structure.map_structure(self._highway, inputs, outputs), new_state

    def _highway(self, given, made):
        given.shape.assert_is_compatible_with(made.shape)
        carry = self._gate("carry", given, self._first_bias)
        is_coupled = self._is_coupled
        transform = 1 - carry if is_coupled else self._gate("transform", given, -self._first_bias)
        return given * carry + made * transform

    def _gate(self, name, given, first_bias):
        size = known_depth(given.shape, self)
        weights = get_variable(f"{name}_w", [size, size], given.dtype)
        bias = get_variable(
            f"{name}_b", [size], given.dtype, initializer=constant_initializer(first_bias)
        )
        return sigmoid(xw_plus_b(given, weights, bias))
