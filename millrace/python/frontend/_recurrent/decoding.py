"""dynamic_decode: a loop in which a Decoder makes its outputs, one point of time after another."""

import abc

from millrace import _gen as gen_ops
from millrace._flow.tensor_array import TensorArray
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import constant, constant_value, convert
from millrace._ops.arrays import fill, where, zeros_like
from millrace._ops.reductions import reduce_all
from millrace._recurrent.cell import zero_states
from millrace._recurrent.dynamic import axes_changed
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape


class Decoder(abc.ABC):
    """The base of what dynamic_decode asks for outputs.

    Inputs, states and outputs are Tensors or nested structures of them.
    """

    @property
    def batch_size(self):
        """The size of the batch, an int32 scalar."""
        raise NotImplementedError

    @property
    def output_size(self):
        """The shapes of the outputs without the batch, in their structure."""
        raise NotImplementedError

    @property
    def output_dtype(self):
        """The types of the outputs, in their structure."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self):
        """Whether `step` says of each sequence that it is over for good, and not only now."""
        return False

    @abc.abstractmethod
    def initialize(self, name=None):
        """(finished, inputs, state) to begin with; `finished` is bool, one for each sequence."""

    @abc.abstractmethod
    def step(self, time, inputs, state, name=None):
        """(outputs, state, inputs, finished) after one point of time, an int32 scalar."""

    def finalize(self, outputs, final_state, sequence_lengths):
        """(outputs, state) to give in the end. Outputs have a first axis for the time.

        Raises:
          NotImplementedError: if they are to be as they are.
        """
        raise NotImplementedError


def dynamic_decode(
    decoder,
    output_time_major=False,
    impute_finished=False,
    maximum_iterations=None,
    parallel_iterations=32,
    swap_memory=False,
    scope=None,
):
    """Runs a Decoder until all its sequences are over.

    Args:
      decoder: a Decoder.
      output_time_major: True for outputs of shape [time, batch, ...].
      impute_finished: True so that a sequence that is over keeps its state and gives zeros.
      maximum_iterations: an int32 scalar: after so many points of time all are over; None for no end.
      parallel_iterations: how many points of time may be under way at once.
      swap_memory: accepted.
      scope: the variable scope; "decoder" by default.

    Returns:
      (outputs of shape [batch, time, ...], the last state, the lengths of the sequences).

    Raises:
      TypeError: if `decoder` is none; ValueError: if maximum_iterations is no scalar, or a step gives
        another structure than the one before.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        limit = _limit(maximum_iterations)
        finished, inputs, state = decoder.initialize()
        if limit is not None:
            finished = gen_ops.logical_or(finished, gen_ops.less_equal(limit, 0))
        zero_outputs = zero_states(decoder.output_size, decoder.batch_size, decoder.output_dtype)

        def step(time, arrays, state, inputs, finished, lengths):
            outputs, new_state, new_inputs, now_finished = decoder.step(time, inputs, state)
            structure.assert_same_structure(state, new_state, "states before and after a step")
            structure.assert_same_structure(arrays, outputs, "output_size and outputs of a step")
            structure.assert_same_structure(inputs, new_inputs, "inputs before and after a step")
            if not decoder.tracks_own_finished:
                now_finished = gen_ops.logical_or(now_finished, finished)
            lengths = where(finished, lengths, fill(gen_ops.shape(lengths), time + 1))
            if impute_finished:
                outputs = structure.map_structure(
                    lambda made, zero: where(finished, zero, made), outputs, zero_outputs
                )
                new_state = structure.map_structure(
                    lambda new, old: _unless(finished, new, old), new_state, state
                )
            arrays = structure.map_structure(
                lambda array, made: array.write(time, made), arrays, outputs
            )
            return time + 1, arrays, new_state, new_inputs, now_finished, lengths

        _, arrays, state, _, _, lengths = while_loop(
            lambda time, arrays, state, inputs, finished, lengths: gen_ops.logical_not(
                reduce_all(finished)
            ),
            step,
            (
                constant(0, dtypes.int32),
                _arrays(decoder),
                state,
                inputs,
                finished,
                zeros_like(finished, dtype=dtypes.int32),
            ),
            parallel_iterations=parallel_iterations,
            maximum_iterations=limit,
            swap_memory=swap_memory,
        )
        outputs = structure.map_structure(lambda array: array.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = structure.map_structure(axes_changed, outputs)
        return outputs, state, lengths


def _limit(maximum_iterations):
    if maximum_iterations is None:
        return None
    limit = convert(maximum_iterations, dtypes.int32, name="maximum_iterations")
    if limit.shape.ndims != 0:
        raise ValueError(f"maximum_iterations must be a scalar, but has shape {limit.shape}")
    return limit


def _arrays(decoder):
    """What the outputs of each point of time are written to."""
    batch = constant_value(convert(decoder.batch_size, name="batch_size"))
    batch = None if batch is None else int(batch)

    def array(size, dtype):
        is_shape = isinstance(size, TensorShape) and size.ndims != 0
        shape = TensorShape([batch]).concatenate(size) if is_shape else TensorShape(None)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

    return structure.map_structure(array, decoder.output_size, decoder.output_dtype)


def _unless(finished, new, old):
    """The old state of a sequence that is over; arrays and scalars are no sequence's."""
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else where(finished, old, new)
