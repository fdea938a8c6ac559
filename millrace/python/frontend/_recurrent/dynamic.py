"""Recurrent nets as loops over time: dynamic_rnn, bidirectional_dynamic_rnn, raw_rnn."""

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal
from millrace._flow.tensor_array import TensorArray
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.node_counts import count_more, counted_as
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import identity, reverse, transpose, where
from millrace._ops.rearranging import reverse_sequence
from millrace._ops.reductions import reduce_all, reduce_max
from millrace._recurrent.cell import assert_like_rnncell, batch_size_of, dims_of, zero_states
from millrace._recurrent.unrolling import held_after_end, initial_state_of
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes, structure


def axes_changed(tensor):
    """[batch, time, ...] as [time, batch, ...], and the other way."""
    if tensor.shape.ndims is None:
        rest = gen_ops.range(2, gen_ops.rank(tensor), 1)
        return transpose(tensor, gen_ops.concat_v2([[1, 0], rest], 0))
    if tensor.shape.ndims < 2:
        raise ValueError(
            f"Expected input tensor {tensor.name} to have rank at least 2, but saw shape: {tensor.shape}"
        )
    with counted_as(8):  # TensorFlow works out in the graph how the axes are to be
        return transpose(tensor, [1, 0, *range(2, tensor.shape.ndims)])


def _lengths(sequence_length, batch_size):
    lengths = cast(convert(sequence_length), dtypes.int32)
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(
            "sequence_length must be a vector of length batch_size, but saw shape: "
            f"{lengths.shape}"
        )
    with counted_as(12):
        check = assert_equal(
            gen_ops.shape(lengths),
            [batch_size],
            message="Expected shape for Tensor sequence_length is [batch_size]",
        )
        with control_dependencies([check] if check is not None else []):
            return identity(lengths, name="CheckSeqLen")


def dynamic_rnn(
    cell,
    inputs,
    sequence_length=None,
    initial_state=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
):
    """A recurrent net in a loop, for as many points of time as the inputs turn out to have.

    Args:
      cell: an RNNCell.
      inputs: a Tensor of shape [batch, time, ...], or a structure of them.
      sequence_length: an integer vector of size batch: after so many inputs a member gives zeros and
        keeps its state.
      initial_state: in the structure of cell.state_size; zeros if None.
      dtype: the type of the outputs, and of the state if there is no initial_state; the state's if None.
      parallel_iterations: how many points of time may be under way at once; 32 if None.
      swap_memory: accepted.
      time_major: True if inputs and outputs are of shape [time, batch, ...].
      scope: the variable scope; "rnn" by default.

    Returns:
      (outputs of shape [batch, time, ...], the last state).

    Raises:
      TypeError: if `cell` is none; ValueError: if shapes don't fit, the depth of the inputs is not
        known, or there is neither a state nor a type.
    """
    assert_like_rnncell("cell", cell)
    with variable_scope(scope or "rnn"):
        leaves = [convert(leaf) for leaf in structure.flatten(inputs)]
        if not time_major:
            leaves = [axes_changed(leaf) for leaf in leaves]
        batch_size = _batch_size(leaves)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        state = structure.map_structure(_tensor, state)
        if sequence_length is not None:
            sequence_length = _lengths(sequence_length, batch_size)
        kind = dtypes.as_dtype(dtype or structure.flatten(state)[0].dtype).base_dtype
        outputs, state = _loop(
            cell,
            inputs,
            leaves,
            state,
            kind,
            batch_size,
            sequence_length,
            parallel_iterations or 32,
        )
        if not time_major:
            outputs = structure.map_structure(axes_changed, outputs)
        return outputs, state


def _tensor(leaf):
    return leaf if isinstance(leaf, TensorArray) else convert(leaf)


def _batch_size(leaves):
    for leaf in leaves:
        if leaf.shape.ndims is not None and leaf.shape.as_list()[1] is not None:
            return leaf.shape.as_list()[1]
    return batch_size_of(leaves[0], 1)


def _check_inputs(leaves):
    times = set()
    for leaf in leaves:
        dims = leaf.shape.as_list() if leaf.shape.ndims is not None else [None, None, None]
        if any(dim is None for dim in dims[2:]):
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value "
                "None."
            )
        times.add(dims[0])
    known = times - {None}
    if len(known) > 1:
        raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
    return known.pop() if known else None


def _nodes_before_loop(outputs, inputs, static_batch, lengths):
    """How many nodes TensorFlow makes between the first state and the loop.

    It looks at the sizes of time and batch again, makes a zero for each output and takes both the
    shortest and the longest of the lengths, whether it needs them or not.
    """
    batch, zero = (5, 7) if static_batch is None else (0, 6)
    return 5 + batch + outputs * (zero + 1) + (4 if lengths is not None else 0) + 10 * inputs + 4


def _loop(cell, inputs, leaves, state, kind, batch_size, lengths, parallel_iterations):
    known_times = _check_inputs(leaves)
    sizes = cell.output_size
    static_batch = batch_size if isinstance(batch_size, int) else None
    number = _nodes_before_loop(len(structure.flatten(sizes)), len(leaves), static_batch, lengths)
    with counted_as(number):
        times = gen_ops.shape(leaves[0])[0] if known_times is None else convert(known_times)
        bound = times
        if lengths is not None:
            zero_output = zero_states(sizes, batch_size, kind)
            # One turn at least, so that the arrays learn the shapes.
            bound = gen_ops.minimum(times, gen_ops.maximum(1, reduce_max(lengths)))
        written = [
            TensorArray(
                kind,
                size=times,
                element_shape=[static_batch, *dims_of(size)],
                tensor_array_name=f"dynamic_rnn_output_{i}",
            )
            for i, size in enumerate(structure.flatten(sizes))
        ]
        read = [
            TensorArray(leaf.dtype, size=times, tensor_array_name=f"dynamic_rnn_input_{i}").unstack(
                leaf
            )
            for i, leaf in enumerate(leaves)
        ]
        begin = constant(0, name="time")

    def step(time, arrays, old):
        given = []
        for array, leaf in zip(read, leaves):
            now = array.read(time)
            now.set_shape(leaf.shape[1:])
            given.append(now)
        if lengths is not None:
            is_over = gen_ops.greater_equal(time, lengths)
        output, new = cell(structure.pack(inputs, given), old)
        structure.assert_same_structure(old, new, "states before and after a cell")
        if lengths is not None:
            structure.assert_same_structure(
                zero_output, output, "output_size and outputs of a cell"
            )
            output = held_after_end(is_over, output, zero_output)
            new = held_after_end(is_over, new, old)
        made = structure.flatten(output)
        return time + 1, [a.write(time, value) for a, value in zip(arrays, made, strict=True)], new

    def is_on(time, *_):
        if bound is times:  # TensorFlow's bound is another Tensor, which has to enter the loop
            count_more(1)
        return gen_ops.less(time, bound)

    _, written, state = while_loop(
        is_on,
        step,
        (begin, written, state),
        parallel_iterations=parallel_iterations,
        maximum_iterations=times,
    )
    outputs = []
    for array, size in zip(written, structure.flatten(sizes)):
        made = array.stack()
        made.set_shape([known_times, static_batch, *dims_of(size)])
        count_more(1 if None in (known_times, static_batch) else 2)  # sizes as constants
        outputs.append(made)
    return structure.pack(sizes, outputs), state


def bidirectional_dynamic_rnn(
    cell_fw,
    cell_bw,
    inputs,
    sequence_length=None,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
):
    """Two dynamic_rnn, one from the last input of each member of the batch to the first.

    Args:
      cell_fw, cell_bw: RNNCells; the others: as for dynamic_rnn.

    Returns:
      ((outputs forward, outputs backward), (last state forward, last state backward)).
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis = 0 if time_major else 1

    def turned(tensor):
        if sequence_length is None:
            return reverse(tensor, [time_axis])
        return reverse_sequence(
            tensor, sequence_length, seq_axis=time_axis, batch_axis=1 - time_axis
        )

    options = {
        "sequence_length": sequence_length,
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "time_major": time_major,
    }
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw, **options
            )
        with variable_scope("bw") as bw:
            backward, state_bw = dynamic_rnn(
                cell_bw,
                structure.map_structure(lambda leaf: turned(convert(leaf)), inputs),
                initial_state=initial_state_bw,
                scope=bw,
                **options,
            )
    return (forward, structure.map_structure(turned, backward)), (state_fw, state_bw)


def raw_rnn(cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None):
    """A recurrent net whose inputs and states a function decides as it goes.

    Args:
      cell: an RNNCell.
      loop_fn: a function of (time, cell_output, cell_state, loop_state) that gives (elements_finished,
        next_input, next_cell_state, emit_output, next_loop_state). First it is called with time 0 and
        None for the others: then emit_output says what outputs look like (None for those of the cell).
      parallel_iterations: how many points of time may be under way at once; 32 if None.
      swap_memory: accepted.
      scope: the variable scope; "rnn" by default.

    Returns:
      (TensorArrays of what was emitted, the last cell state, the last loop state). What is finished
      emits zeros and keeps its state.

    Raises:
      TypeError: if cell or loop_fn are none.
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = constant(0, name="time")
        finished, given, state, emitted, loop_state = loop_fn(time, None, None, None)
        given = structure.map_structure(convert, given)
        first = structure.flatten(given)[0]
        batch_size = batch_size_of(first)
        static_batch = batch_size if isinstance(batch_size, int) else None
        state = structure.map_structure(_tensor, state)
        has_loop_state = loop_state is not None
        loop_state = structure.map_structure(_tensor, loop_state if has_loop_state else constant(0))
        kind = structure.flatten(state)[0].dtype.base_dtype
        if emitted is None:
            like = cell.output_size
            zero_output = zero_states(like, batch_size, kind)
            shapes = [[static_batch, *dims_of(size)] for size in structure.flatten(like)]
        else:
            like = emitted
            leaves = [convert(leaf) for leaf in structure.flatten(emitted)]
            zero_output = structure.pack(
                like,
                [zero_states(leaf.shape, batch_size, leaf.dtype.base_dtype) for leaf in leaves],
            )
            shapes = [[static_batch, *leaf.shape.as_list()] for leaf in leaves]
        arrays = [
            TensorArray(
                leaf.dtype, size=0, dynamic_size=True, element_shape=shape, clear_after_read=False
            )
            for leaf, shape in zip(structure.flatten(zero_output), shapes)
        ]

        def step(time, finished, given, arrays, state, loop_state):
            output, new_state = cell(given, state)
            structure.assert_same_structure(state, new_state, "states before and after a cell")
            following = time + 1
            now_finished, given, new_state, emit, new_loop_state = loop_fn(
                following, output, new_state, loop_state if has_loop_state else None
            )
            emit = output if emit is None else emit

            def unless_finished(new, old):
                if isinstance(new, TensorArray) or convert(new).shape.ndims == 0:
                    return new
                return where(finished, old, convert(new))

            emit = structure.map_structure(unless_finished, emit, zero_output)
            new_state = structure.map_structure(unless_finished, new_state, state)
            arrays = [a.write(time, e) for a, e in zip(arrays, structure.flatten(emit))]
            if new_loop_state is None:
                new_loop_state = loop_state
            is_over = gen_ops.logical_or(now_finished, finished)
            return following, is_over, given, arrays, new_state, new_loop_state

        _, _, _, arrays, state, loop_state = while_loop(
            lambda time, finished, *_: gen_ops.logical_not(reduce_all(finished)),
            step,
            (time, convert(finished), given, arrays, state, loop_state),
            parallel_iterations=parallel_iterations or 32,
        )
        return structure.pack(like, arrays), state, loop_state if has_loop_state else None
