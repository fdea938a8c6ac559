"""Recurrent nets of both directions on top of each other: tf.contrib.rnn.stack_bidirectional_*."""

from millrace._ops.arrays import concat
from millrace._recurrent.dynamic import bidirectional_dynamic_rnn
from millrace._recurrent.unrolling import static_bidirectional_rnn
from millrace._state.named_variables import variable_scope


def _states(given, count, what):
    if given is None:
        return [None] * count
    if not isinstance(given, (list, tuple)) or len(given) != count:
        raise ValueError(f"{what} must be a list of state tensors, one per layer")
    return given


def _check(cells_fw, cells_bw):
    for cells, what in ((cells_fw, "cells_fw"), (cells_bw, "cells_bw")):
        if not isinstance(cells, (list, tuple)) or not cells:
            raise ValueError(f"{what} must be a list of one or more cells")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")


def stack_bidirectional_dynamic_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    parallel_iterations=None,
    time_major=False,
    scope=None,
    swap_memory=False,
):
    """bidirectional_dynamic_rnn in layers: the outputs of both directions of one, side by side, are
    the inputs of the next.

    Args:
      cells_fw, cells_bw: lists of RNNCells, a pair for each layer.
      initial_states_fw, initial_states_bw: lists of states, or None; the others: as there.
      scope: the variable scope; "stack_bidirectional_rnn" by default.

    Returns:
      (outputs, tuple of last states forward, tuple of last states backward).

    Raises:
      ValueError: if the lists are none, empty or of different lengths.
    """
    _check(cells_fw, cells_bw)
    starts_fw = _states(initial_states_fw, len(cells_fw), "initial_states_fw")
    starts_bw = _states(initial_states_bw, len(cells_fw), "initial_states_bw")
    ends_fw, ends_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, layer in enumerate(zip(cells_fw, cells_bw, starts_fw, starts_bw)):
            with variable_scope(f"cell_{i}"):
                outputs, (end_fw, end_bw) = bidirectional_dynamic_rnn(
                    layer[0],
                    layer[1],
                    inputs,
                    sequence_length,
                    layer[2],
                    layer[3],
                    dtype,
                    parallel_iterations,
                    time_major=time_major,
                )
            inputs = concat(outputs, 2)
            ends_fw.append(end_fw)
            ends_bw.append(end_bw)
    return inputs, tuple(ends_fw), tuple(ends_bw)


def stack_bidirectional_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """The same of static_bidirectional_rnn, with a list of inputs and one of outputs."""
    _check(cells_fw, cells_bw)
    starts_fw = _states(initial_states_fw, len(cells_fw), "initial_states_fw")
    starts_bw = _states(initial_states_bw, len(cells_fw), "initial_states_bw")
    ends_fw, ends_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, layer in enumerate(zip(cells_fw, cells_bw, starts_fw, starts_bw)):
            with variable_scope(f"cell_{i}") as cell_scope:
                inputs, end_fw, end_bw = static_bidirectional_rnn(
                    layer[0],
                    layer[1],
                    inputs,
                    layer[2],
                    layer[3],
                    dtype,
                    sequence_length,
                    scope=cell_scope,
                )
            ends_fw.append(end_fw)
            ends_bw.append(end_bw)
    return inputs, tuple(ends_fw), tuple(ends_bw)
