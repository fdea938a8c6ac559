"""Recurrent layers that are one op: an LSTM over all points of time, and gated recurrent units."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._layers.layer import Layer
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, expand_dims, stack, transpose, unstack, zeros
from millrace._ops.reductions import reduce_max
from millrace._ops.shaped import sequence_mask
from millrace._recurrent.cell import RNNCell, batch_size_of, zero_states
from millrace._recurrent.cells import LSTMStateTuple, known_depth
from millrace._state.initializers import constant_initializer, zeros_initializer
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class LSTMBlockFusedCell(Layer):
    """Long short-term memory over all points of time at once; numbers and variables are an LSTMCell's.

    Args:
      num_units: the size of the output, and of both parts of the state.
      forget_bias: added to the forget gate.
      cell_clip: None, or the largest magnitude of what is kept.
      use_peephole: True to let the gates see what is kept.
      reuse, dtype, name: as for other cells.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole=False,
        reuse=None,
        dtype=None,
        name="lstm_fused_cell",
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1.0 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def num_units(self):
        """The size of the output, and of both parts of the state."""
        return self._num_units

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """(outputs, state after the last point of time).

        Args:
          inputs: a Tensor of shape [time, batch, depth], or a list with one of [batch, depth] for each
            point of time.
          initial_state: (c, h), both [batch, num_units]; None for zeros.
          dtype: of the zeros; None for that of inputs.
          sequence_length: int32 or int64, [batch]: how many points of time each has. After them outputs
            are 0 and the state stays. None for all.
          scope: as for other layers.

        Returns:
          outputs, [time, batch, num_units] or a list as `inputs` is, and an LSTMStateTuple.
        """
        is_list = isinstance(inputs, (list, tuple))
        steps = stack(inputs) if is_list else convert(inputs)
        outputs, state = super().__call__(steps, initial_state, dtype, sequence_length, scope=scope)
        return (unstack(outputs, len(inputs)) if is_list else outputs), state

    def build(self, inputs_shape):
        units = self._num_units
        rows = known_depth(TensorShape(inputs_shape)[1:], self) + units
        self._kernel = self.add_weight("kernel", [rows, 4 * units])
        self._bias = self.add_weight("bias", [4 * units], initializer=zeros_initializer())
        if self._use_peephole:
            self._peepholes = [self.add_weight(f"w_{gate}_diag", [units]) for gate in "ifo"]
        self.built = True

    def call(self, inputs, initial_state, dtype, sequence_length):
        units = self._num_units
        if initial_state is None:
            batch = batch_size_of(inputs, 1)
            initial_state = zero_states((units, units), batch, dtype or inputs.dtype.base_dtype)
        c, h = (convert(each) for each in initial_state)
        time = gen_ops.shape(inputs)[0]
        length = sequence_length if sequence_length is None else convert(sequence_length)
        longest = time if length is None else reduce_max(length)
        unseen = [zeros([units], inputs.dtype.base_dtype)] * 3
        _, kept, _, _, _, _, outputs = gen_ops.block_lstm(
            cast(longest, dtypes.int64),
            inputs,
            c,
            h,
            self._kernel,
            *(self._peepholes if self._use_peephole else unseen),
            self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        if length is None:
            return outputs, LSTMStateTuple(kept[-1], outputs[-1])
        mask = transpose(sequence_mask(length, time, outputs.dtype))
        last = _rows_at(length)
        state = LSTMStateTuple(*(last(first, all) for first, all in ((c, kept), (h, outputs))))
        return outputs * expand_dims(mask, 2), state


def _rows_at(length):
    """A function of (first, later ones): each member's row after `length` points of time."""
    number = gen_ops.shape(length)[0]
    members = cast(gen_ops.range(0, number, 1), length.dtype)
    places = stack([length, members], 1)

    def rows(first, later):
        return gen_ops.gather_nd(concat([expand_dims(first, 0), later], 0), places)

    return rows


class GRUBlockCell(RNNCell):
    """GRUCell as one op: the same numbers; variables are w_ru, b_ru, w_c and b_c.

    Args:
      num_units: the size of the output, which is the state.
      cell_size: another name of num_units.
      reuse, name: as for other cells.

    Raises:
      ValueError: unless exactly one of num_units and cell_size is given.
    """

    _NAMES = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(self, num_units=None, cell_size=None, reuse=None, name="gru_cell", dtype=None):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        if (num_units is None) == (cell_size is None):
            raise ValueError("exactly one of num_units and its other name cell_size must be given")
        self._size = num_units if cell_size is None else cell_size

    @property
    def state_size(self):
        return self._size

    @property
    def output_size(self):
        return self._size

    def build(self, inputs_shape):
        size, rows = self._size, known_depth(inputs_shape, self) + self._size
        of_gates, to_gates, of_candidate, to_candidate = self._NAMES
        self._of_gates = self.add_weight(of_gates, [rows, 2 * size])
        self._to_gates = self.add_weight(
            to_gates, [2 * size], initializer=constant_initializer(1.0)
        )
        self._of_candidate = self.add_weight(of_candidate, [rows, size])
        self._to_candidate = self.add_weight(
            to_candidate, [size], initializer=constant_initializer(0.0)
        )
        self.built = True

    def call(self, inputs, state):
        _, _, _, output = gen_ops.gru_block_cell(
            inputs,
            state,
            self._of_gates,
            self._of_candidate,
            self._to_gates,
            self._to_candidate,
        )
        return output, output


class GRUBlockCellV2(GRUBlockCell):
    """GRUBlockCell with the variables of a GRUCell: "gates/kernel", "gates/bias", "candidate/…"."""

    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
