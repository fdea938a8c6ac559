"""Recurrent nets as nodes for each point of time: static_rnn and its kin."""

from millrace import _gen as gen_ops
from millrace._flow.tensor_array import TensorArray
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.node_counts import count_more, counted_as
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, identity, stack, unstack, where
from millrace._ops.rearranging import reverse_sequence
from millrace._recurrent.cell import assert_like_rnncell, batch_size_of, zero_states
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes, structure


def held_after_end(is_over, new, old):
    """`new` for the members of the batch that are not over at this time, `old` for others.

    Args:
      is_over: a bool vector; new, old: structures of Tensors.
    """

    def chosen(after, before):
        if isinstance(after, TensorArray) or after.shape.ndims == 0:
            return after
        made = where(is_over, before, after)
        made.set_shape(after.shape)
        return made

    return structure.map_structure(chosen, new, old)


def initial_state_of(cell, initial_state, batch_size, dtype):
    """The state to begin with. ValueError if there is none and no type for zeros."""
    if initial_state is not None:
        return initial_state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    get = getattr(cell, "get_initial_state", None)
    if get is not None:
        return get(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """A recurrent net with a copy of the cell for each input.

    Args:
      cell: an RNNCell.
      inputs: a list of Tensors of shape [batch, depth], or of structures of them.
      initial_state: in the structure of cell.state_size; zeros if None.
      dtype: the type of the state, if there is no initial_state.
      sequence_length: an integer vector: after so many inputs a member of the batch gives zeros and
        keeps its state.
      scope: the variable scope; "rnn" by default.

    Returns:
      (a list of outputs, the last state).

    Raises:
      TypeError: if cell or inputs are no cell or list; ValueError: if there are no inputs, their
        depth is not known, or there is neither a state nor a type.
    """
    assert_like_rnncell("cell", cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as varscope:
        inputs = [structure.map_structure(convert, each) for each in inputs]
        first = structure.flatten(inputs[0])[0]
        if first.shape.ndims is not None and any(dim is None for dim in first.shape.as_list()[1:]):
            raise ValueError(
                "Input size (dimension 1 of inputs) must be accessible via shape inference, but saw "
                "value None."
            )
        batch_size = batch_size_of(first)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        if sequence_length is not None:
            sequence_length = cast(convert(sequence_length), dtypes.int32)
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            zero_output = zero_states(cell.output_size, batch_size, first.dtype.base_dtype)
            # The shape of a zero is put together for less, and the bounds of lengths are taken.
            count_more(
                4 - (0 if isinstance(batch_size, int) else 2) * len(structure.flatten(zero_output))
            )
        for time, given in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            if sequence_length is None:
                output, state = cell(given, state)
            else:
                output, state = _held_step(cell, given, state, time, sequence_length, zero_output)
            outputs.append(output)
    return outputs, state


def _held_step(cell, given, state, time, lengths, zero_output):
    """(output, new state) of a cell at a point of time, for members that are over: zeros, and the old state.

    TensorFlow makes a tf.cond about the cell, so that none runs after the longest member, and another one in
    it about the choice. What comes into a tf.cond is a node of its own there.
    """
    outputs, states = len(structure.flatten(zero_output)), len(structure.flatten(state))
    count_more(8 + outputs + states)
    output, new_state = cell(given, state)
    made = len({id(leaf) for leaf in structure.flatten([output, new_state])})
    brought = len(getattr(cell, "weights", ())) + len(structure.flatten(given)) + states
    with counted_as(brought + 9 + 2 * made + 5 * outputs + 4 * states):
        is_over = gen_ops.greater_equal(time, lengths)
        return (
            held_after_end(is_over, output, zero_output),
            held_after_end(is_over, new_state, state),
        )


def _reversed(inputs, lengths):
    if lengths is None:
        return list(reversed(inputs))
    columns = zip(*(structure.flatten(each) for each in inputs))
    turned = [
        unstack(reverse_sequence(stack(column), lengths, seq_axis=0, batch_axis=1), len(inputs))
        for column in columns
    ]
    return [structure.pack(inputs[0], leaves) for leaves in zip(*turned)]


def static_bidirectional_rnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """Two static_rnn, one from the last input to the first; the outputs of both side by side.

    Args:
      cell_fw, cell_bw: RNNCells; the others: as for static_rnn.

    Returns:
      (a list of outputs, the last state forward, the last state backward).
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw
            )
        with variable_scope("bw") as bw:
            backward, state_bw = static_rnn(
                cell_bw,
                _reversed(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                scope=bw,
            )
    backward = _reversed(backward, sequence_length)
    outputs = [
        structure.map_structure(lambda one, other: concat([one, other], 1), *pair)
        for pair in zip(forward, backward)
    ]
    return outputs, state_fw, state_bw


def static_state_saving_rnn(
    cell, inputs, state_saver, state_name, sequence_length=None, scope=None
):
    """A static_rnn that begins with a state that is kept, and keeps the one that it ends with.

    Args:
      cell: an RNNCell.
      inputs: a list of Tensors of shape [batch, depth], one for each step.
      state_saver: an object whose `state(name)` gives a state, and whose `save_state(name, value)` an
        Operation that keeps one.
      state_name: the state's name; for a cell whose state is a structure, a structure of names.
      sequence_length, scope: as for static_rnn.

    Returns:
      (a list of outputs, of which the last waits until the state is kept, the last state).

    Raises:
      TypeError, ValueError: as static_rnn; ValueError if names and state are not built alike.
    """
    assert_like_rnncell("cell", cell)
    if structure.is_sequence(cell.state_size) != structure.is_sequence(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size. "
            f"state_name: {state_name}, cell.state_size: {cell.state_size}"
        )
    structure.assert_same_structure(cell.state_size, state_name, "state_name and state_size")
    begin = structure.map_structure(state_saver.state, state_name)
    outputs, state = static_rnn(
        cell, inputs, initial_state=begin, sequence_length=sequence_length, scope=scope
    )
    kept = [
        state_saver.save_state(name, value)
        for name, value in zip(structure.flatten(state_name), structure.flatten(state))
    ]
    with control_dependencies(kept):
        last = structure.map_structure(identity, outputs[-1])
    return [*outputs[:-1], last], state
