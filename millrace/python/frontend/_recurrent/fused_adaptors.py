"""Cells that take all points of time at once, made of others: tf.contrib.rnn's FusedRNNCell and its kin."""

from millrace._ops.arrays import reverse, stack, unstack
from millrace._ops.rearranging import reverse_sequence
from millrace._recurrent.dynamic import dynamic_rnn
from millrace._recurrent.unrolling import static_rnn


class FusedRNNCell:
    """The base of what runs over all points of time at once."""

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """(outputs, the last state).

        Args:
          inputs: [time, batch, depth], or a list of Tensors [batch, depth].
          initial_state: the state to begin with; zeros if None.
          dtype: of the state and the outputs; needed without initial_state.
          sequence_length: how many points of time each row has; all if None.
          scope: the variable scope.
        """
        raise NotImplementedError(f"{type(self).__name__} has no __call__()")


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell that runs over one point of time after the other.

    Args:
      cell: an RNNCell.
      use_dynamic_rnn: True to run it in a loop, False to make nodes for each point of time.
    """

    def __init__(self, cell, use_dynamic_rnn=False):
        self._cell, self._is_dynamic = cell, use_dynamic_rnn

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """As FusedRNNCell says; outputs are a list if the inputs are."""
        is_list = isinstance(inputs, (list, tuple))
        given = {
            "initial_state": initial_state,
            "dtype": dtype,
            "sequence_length": sequence_length,
            "scope": scope,
        }
        if self._is_dynamic:
            inputs = stack(list(inputs)) if is_list else inputs
            outputs, state = dynamic_rnn(self._cell, inputs, time_major=True, **given)
            return (unstack(outputs) if is_list else outputs), state
        inputs = list(inputs) if is_list else unstack(inputs)
        outputs, state = static_rnn(self._cell, inputs, **given)
        return (outputs if is_list else stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """Another FusedRNNCell, from the last point of time to the first.

    Args:
      cell: the FusedRNNCell.
    """

    def __init__(self, cell):
        self._cell = cell

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """As FusedRNNCell says; rows are turned round up to their own lengths."""
        outputs, state = self._cell(
            _turned(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return _turned(outputs, sequence_length), state


def _turned(tensors, lengths):
    if isinstance(tensors, (list, tuple)):
        if lengths is None:
            return list(tensors)[::-1]
        return unstack(_turned(stack(list(tensors)), lengths))
    if lengths is None:
        return reverse(tensors, [0])
    return reverse_sequence(tensors, lengths, 0, 1)
