"""Sequences from sequences, a node for each point of time: tf.contrib.legacy_seq2seq."""

import copy

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._ops.arrays import stop_gradient
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.layers import xw_plus_b
from millrace._recurrent.projections import EmbeddingWrapper, OutputProjectionWrapper
from millrace._recurrent.unrolling import static_rnn
from millrace._state.named_variables import get_variable, get_variable_scope, variable_scope
from millrace._values import dtypes, structure


def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """Outputs of a cell from a state on.

    Args:
      decoder_inputs: a list of Tensors of shape [batch, depth].
      initial_state: the state to begin with.
      cell: an RNNCell.
      loop_function: a function of (the last output, the number of the input) that gives an input in
        place of the one in the list, but for the first; None to use those of the list.
      scope: the variable scope; "rnn_decoder" by default.

    Returns:
      (a list of outputs, the last state).
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for i, given in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(previous, i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
            if loop_function is not None:
                previous = output
        return outputs, state


def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=dtypes.float32, scope=None):
    """rnn_decoder from the last state of a static_rnn with another cell of the same kind.

    Args:
      encoder_inputs, decoder_inputs: lists of Tensors of shape [batch, depth].
      cell: an RNNCell.
      dtype: the type of the state.
      scope: the variable scope; "basic_rnn_seq2seq" by default.

    Returns:
      (a list of outputs, the last state).
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs, decoder_inputs, cell, loop_function=None, dtype=dtypes.float32, scope=None
):
    """basic_rnn_seq2seq with one cell for both sides; loop_function as for rnn_decoder."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def _embedding_of_best(embedding, output_projection, update_embedding):
    """A loop_function: what the table has for the class that the last output makes likeliest."""

    def following(previous, _):
        if output_projection is not None:
            previous = xw_plus_b(previous, *output_projection)
        found = embedding_lookup(embedding, gen_ops.arg_max(previous, 1))
        return found if update_embedding else stop_gradient(found)

    return following


def embedding_rnn_decoder(
    decoder_inputs,
    initial_state,
    cell,
    num_symbols,
    embedding_size,
    output_projection=None,
    feed_previous=False,
    update_embedding_for_previous=True,
    scope=None,
):
    """rnn_decoder with numbers of classes for inputs, and a table for them.

    Args:
      decoder_inputs: a list of int32 Tensors of shape [batch].
      initial_state, cell: as for rnn_decoder.
      num_symbols, embedding_size: the shape of the table.
      output_projection: None, or (weights, biases) by which outputs become logits.
      feed_previous: True to use the likeliest class of the last output for an input.
      update_embedding_for_previous: False to let no gradient go to the table by that.
      scope: the variable scope; "embedding_rnn_decoder" by default.

    Returns:
      (a list of outputs, the last state).
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        if output_projection is not None:
            convert(output_projection[1]).shape.assert_is_compatible_with([num_symbols])
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        following = None
        if feed_previous:
            following = _embedding_of_best(
                embedding, output_projection, update_embedding_for_previous
            )
        inputs = [embedding_lookup(embedding, each) for each in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, following)


def embedding_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """basic_rnn_seq2seq with numbers of classes for inputs, and a table for each side.

    Args:
      encoder_inputs, decoder_inputs: lists of int32 Tensors of shape [batch].
      cell: an RNNCell.
      num_encoder_symbols, num_decoder_symbols, embedding_size: the shapes of the tables.
      output_projection: None to make outputs logits by variables of its own, or (weights, biases) by
        which the caller does.
      feed_previous: as for embedding_rnn_decoder, or a bool scalar that decides it in a step.
      dtype: the type of the state; that of the scope if None.
      scope: the variable scope; "embedding_rnn_seq2seq" by default.

    Returns:
      (a list of outputs, the last state).
    """
    with variable_scope(scope or "embedding_rnn_seq2seq") as inside:
        if dtype is not None:
            inside.set_dtype(dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype or inside.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decoded(feeds_previous):
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                feeds_previous,
            )

        if isinstance(feed_previous, bool):
            return decoded(feed_previous)

        shapes = []

        def flat(feeds_previous, reuse):
            with variable_scope(get_variable_scope(), reuse=reuse):
                made = decoded(feeds_previous)
            shapes.append(made)
            return structure.flatten(made)

        leaves = cond(feed_previous, lambda: flat(True, None), lambda: flat(False, True))
        return structure.pack(shapes[0], leaves)
