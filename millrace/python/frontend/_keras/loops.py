"""tf.keras.backend.rnn: a function of one point of time, in a loop over all of them."""

from millrace import _gen as gen_ops
from millrace._flow.tensor_array import TensorArray
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import constant, convert
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import reverse, squeeze, stack, where, zeros_like
from millrace._recurrent.dynamic import axes_changed
from millrace._values import dtypes, structure


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
):
    """Goes through time.

    Args:
      step_function: a function of (inputs at one time, of shape [batch, ...]; a list of states, then of
        `constants`) that gives (an output of shape [batch, ...], a list of new states).
      inputs: a Tensor of shape [batch, time, ...], or a structure of them.
      initial_states: a list of Tensors of shape [batch, ...], or of structures of them.
      go_backwards: whether it begins with the last time; outputs are in the order in which they are made.
      mask: bools of shape [batch, time] (or [batch, time, 1]): where one is false, states stay as they
        were, and the output is the one before.
      constants: a list of Tensors for all times.
      unroll: whether the graph has a copy of the step for each time, instead of a loop.
      input_length: how many times there are, a number, if the inputs' shape does not say so.
      time_major: whether inputs, mask and outputs have time before the batch.
      zero_output_for_mask: whether outputs that the mask leaves out are zeros instead.

    Returns:
      (the last output, all outputs of shape [batch, time, ...], the list of last states).

    Raises:
      ValueError: if it cannot be unrolled, as the number of times is not known; or if structures of
        states differ before and after a step.
    """
    constants = list(constants or [])
    leaves = [convert(each) for each in structure.flatten(inputs)]
    if not time_major:
        leaves = [axes_changed(leaf) for leaf in leaves]
    if mask is not None:
        mask = _rows_of(mask, time_major)
    if go_backwards:
        leaves = [reverse(leaf, [0]) for leaf in leaves]
        mask = None if mask is None else reverse(mask, [0])
    times = leaves[0].shape.as_list()[0] if leaves[0].shape.ndims is not None else None
    states = structure.map_structure(convert, list(initial_states))
    loop = _Loop(step_function, inputs, constants, states, zero_output_for_mask)
    if unroll:
        known = input_length if times is None and isinstance(input_length, int) else times
        if not known:
            raise ValueError(
                f"Unrolling requires a fixed number of timesteps; inputs are of shape {leaves[0].shape}"
            )
        last, outputs, states = loop.unrolled(leaves, mask, states, known)
    else:
        last, outputs, states = loop.looped(leaves, mask, states, times)
    if not time_major:
        outputs = structure.map_structure(axes_changed, outputs)
    return last, outputs, states


def _rows_of(mask, time_major):
    """A mask as bools of shape [time, batch]."""
    mask = cast(mask, dtypes.bool)
    if mask.shape.ndims == 3:
        mask = squeeze(mask, [2])
    return mask if time_major else axes_changed(mask)


class _Loop:
    """The steps of one call of rnn."""

    def __init__(self, function, inputs, constants, states, is_zero_where_masked):
        self._function, self._inputs, self._constants = function, inputs, constants
        self._states, self._is_zero_where_masked = states, is_zero_where_masked

    def _step(self, given, states):
        """(outputs, states) as lists of Tensors, of such lists."""
        states = structure.pack(self._states, states)
        output, new = self._function(
            structure.pack(self._inputs, given), [*states, *self._constants]
        )
        new = list(new) if isinstance(new, (list, tuple)) else [new]
        structure.assert_same_structure(states, new, "states before and after a step")
        self._output = output
        return list(map(convert, structure.flatten(output))), list(
            map(convert, structure.flatten(new))
        )

    def _kept(self, rows, outputs, before, new, old):
        """What of a step is kept: where `rows` is false, what was before."""
        outputs = [where(rows, value, kept) for value, kept in zip(outputs, before)]
        return outputs, [where(rows, value, kept) for value, kept in zip(new, old)]

    def _packed(self, last, outputs, states):
        return (
            structure.pack(self._output, last),
            structure.pack(self._output, outputs),
            structure.pack(self._states, states),
        )

    def unrolled(self, leaves, mask, states, times):
        """(last output, outputs with time before the batch, states)."""
        states, made, before = structure.flatten(states), [], None
        for time in range(times):
            outputs, new = self._step([leaf[time] for leaf in leaves], states)
            if mask is not None:
                if before is None or self._is_zero_where_masked:
                    before = [zeros_like(each) for each in outputs]
                outputs, new = self._kept(mask[time], outputs, before, new, states)
            made.append(outputs)
            states, before = new, outputs
        return self._packed(made[-1], [stack(list(each)) for each in zip(*made)], states)

    def looped(self, leaves, mask, states, known):
        """The same in a loop; `known` is the number of times, or None."""
        times = gen_ops.shape(leaves[0])[0] if known is None else convert(known)
        # One step outside says of which types and shapes outputs are; nothing of it is run. What a cell
        # makes once for all times is made there too.
        first, _ = self._step([leaf[0] for leaf in leaves], structure.flatten(states))
        zeros = [zeros_like(each) for each in first]
        written = [
            TensorArray(
                each.dtype,
                size=times,
                element_shape=each.shape,
                clear_after_read=False,
                tensor_array_name=f"output_{i}",
            )
            for i, each in enumerate(first)
        ]
        rows = [] if mask is None else [mask]
        read = [
            TensorArray(leaf.dtype, size=times, tensor_array_name=f"input_{i}").unstack(leaf)
            for i, leaf in enumerate([*leaves, *rows])
        ]
        carries = mask is not None and not self._is_zero_where_masked

        def step(time, arrays, before, old):
            given = [array.read(time) for array in read]
            for now, leaf in zip(given, [*leaves, *rows]):
                now.set_shape(leaf.shape[1:])
            outputs, new = self._step(given[: len(leaves)], old)
            if mask is not None:
                outputs, new = self._kept(
                    given[-1], outputs, before if carries else zeros, new, old
                )
            for now, past in zip(new, old):
                if past.shape.is_fully_defined():
                    now.set_shape(past.shape)
            arrays = [array.write(time, value) for array, value in zip(arrays, outputs)]
            return time + 1, arrays, outputs if carries else [], new

        _, written, _, states = while_loop(
            lambda time, *_: gen_ops.less(time, times),
            step,
            (
                constant(0, name="time"),
                written,
                zeros if carries else [],
                structure.flatten(states),
            ),
            parallel_iterations=32,
            maximum_iterations=times,
        )
        outputs = []
        for array, like in zip(written, first):
            made = array.stack()
            if like.shape.ndims is not None:
                made.set_shape([known, *like.shape.as_list()])
            outputs.append(made)
        last = [array.read(times - 1) for array in written]
        for each, like in zip(last, first):
            each.set_shape(like.shape)
        return self._packed(last, outputs, states)
