"""Decoders that look back at what was encoded, a node for each point of time: tf.contrib.legacy_seq2seq's."""

import copy

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, reshape, stack, zeros
from millrace._ops.convolutions import conv2d
from millrace._ops.reductions import reduce_sum
from millrace._recurrent.legacy_seq2seq import embedded_inputs, fed_by
from millrace._recurrent.projections import (
    EmbeddingWrapper,
    OutputProjectionWrapper,
    linear_of,
)
from millrace._recurrent.unrolling import static_rnn
from millrace._state.named_variables import get_variable, get_variable_scope, variable_scope
from millrace._values import structure


def attention_decoder(
    decoder_inputs,
    initial_state,
    attention_states,
    cell,
    output_size=None,
    num_heads=1,
    loop_function=None,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """rnn_decoder whose cell also reads, at each step, a mean of attention_states with weights by its state.

    Args:
      decoder_inputs: a list of Tensors of shape [batch, depth].
      initial_state: the state to begin with.
      attention_states: [batch, length, size] with a known size.
      cell: an RNNCell.
      output_size: of the outputs; the cell's if None.
      num_heads: how many means are read.
      loop_function: as for rnn_decoder.
      dtype: the type of the variables; that of the scope if None.
      scope: the variable scope; "attention_decoder" by default.
      initial_state_attention: True to read by initial_state before the first input; else zeros are read then.

    Returns:
      (a list of outputs of shape [batch, output_size], the last state).

    Raises:
      ValueError: without inputs or heads, or if a size is not known.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    attention_states = convert(attention_states)
    if attention_states.shape.ndims != 3 or attention_states.shape.as_list()[2] is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as inside:
        reader = _Reader(attention_states, num_heads, inside.dtype)
        state, outputs, previous = initial_state, [], None
        read = reader.nothing(decoder_inputs[0])
        if initial_state_attention:
            read = reader(initial_state)
        for i, given in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(previous, i)
            depth = given.shape.as_list()[1]
            if depth is None:
                raise ValueError(f"Could not infer input size from input: {given.name}")
            both = [cast(each, inside.dtype) for each in (given, *read)]
            output, state = cell(linear_of(both, depth, True), state)
            reuse = True if i == 0 and initial_state_attention else None
            with variable_scope(get_variable_scope(), reuse=reuse):
                read = reader(state)
            with variable_scope("AttnOutputProjection"):
                output = linear_of([cast(output, inside.dtype), *read], output_size, True)
            outputs.append(output)
            if loop_function is not None:
                previous = output
        return outputs, state


class _Reader:
    """What reads means of states, a head at a time."""

    def __init__(self, states, heads, dtype):
        length, self._size = states.shape.as_list()[1:]
        self._length = gen_ops.shape(states)[1] if length is None else length
        self._dtype = dtype
        self._states = reshape(states, stack([-1, self._length, 1, self._size]))
        self._features, self._weights = [], []
        for head in range(heads):
            kernel = get_variable(f"AttnW_{head}", [1, 1, self._size, self._size], dtype=dtype)
            self._features.append(conv2d(self._states, kernel, [1, 1, 1, 1], "SAME"))
            self._weights.append(get_variable(f"AttnV_{head}", [self._size], dtype=dtype))

    def nothing(self, like):
        """Zeros, as many as a reading of the batch that `like` has."""
        empty = zeros(stack([gen_ops.shape(like)[0], self._size]), self._dtype)
        empty.set_shape([None, self._size])
        return [empty] * len(self._weights)

    def __call__(self, query):
        query = concat(structure.flatten(query), 1)
        return [self._read(head, query) for head in range(len(self._weights))]

    def _read(self, head, query):
        with variable_scope(f"Attention_{head}"):
            wanted = linear_of(query, self._size, True)
            wanted = cast(reshape(wanted, [-1, 1, 1, self._size]), self._dtype)
            fits = self._weights[head] * gen_ops.tanh(self._features[head] + wanted)
            shares = cast(gen_ops.softmax(reduce_sum(fits, [2, 3])), self._dtype)
            shares = reshape(shares, stack([-1, self._length, 1, 1]))
            return reshape(reduce_sum(shares * self._states, [1, 2]), [-1, self._size])


def embedding_attention_decoder(
    decoder_inputs,
    initial_state,
    attention_states,
    cell,
    num_symbols,
    embedding_size,
    num_heads=1,
    output_size=None,
    output_projection=None,
    feed_previous=False,
    update_embedding_for_previous=True,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """attention_decoder with numbers of classes for inputs, and a table for them.

    Args:
      decoder_inputs: a list of int32 Tensors of shape [batch].
      num_symbols, embedding_size: the shape of the table.
      output_projection, feed_previous, update_embedding_for_previous: as for embedding_rnn_decoder.
      scope: the variable scope; "embedding_attention_decoder" by default.
      initial_state, attention_states, cell, num_heads, output_size, dtype, initial_state_attention: as for
        attention_decoder.

    Returns:
      (a list of outputs, the last state).
    """
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        inputs, following = embedded_inputs(
            decoder_inputs,
            (num_symbols, embedding_size),
            output_projection,
            feed_previous,
            update_embedding_for_previous,
        )
        return attention_decoder(
            inputs,
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=following,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    num_heads=1,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """embedding_rnn_seq2seq whose decoder looks back at the outputs of the encoder.

    Args:
      num_heads, initial_state_attention: as for attention_decoder.
      scope: the variable scope; "embedding_attention_seq2seq" by default.
      the others: as for embedding_rnn_seq2seq.

    Returns:
      (a list of outputs, the last state).
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as inside:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=inside.dtype)
        states = concat([reshape(each, [-1, 1, cell.output_size]) for each in encoded], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decoded(feeds_previous, update_embedding):
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads,
                output_size,
                output_projection,
                feeds_previous,
                update_embedding,
                initial_state_attention=initial_state_attention,
            )

        return fed_by(feed_previous, decoded)
