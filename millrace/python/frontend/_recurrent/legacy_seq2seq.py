"""Sequences from sequences, a node for each point of time: tf.contrib.legacy_seq2seq."""

import copy

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._ops.arrays import stop_gradient
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.layers import xw_plus_b
from millrace._recurrent.cell import RNNCell
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


def embedded_inputs(numbers, table_shape, output_projection, feed_previous, update_embedding):
    """(rows of a table, "embedding", for a decoder's lists of numbers; its loop_function, None unless it is to be fed)."""
    if output_projection is not None:
        convert(output_projection[1]).shape.assert_is_compatible_with(table_shape[:1])
    embedding = get_variable("embedding", table_shape)
    following = None
    if feed_previous:
        following = _embedding_of_best(embedding, output_projection, update_embedding)
    return [embedding_lookup(embedding, each) for each in numbers], following


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
        inputs, following = embedded_inputs(
            decoder_inputs,
            (num_symbols, embedding_size),
            output_projection,
            feed_previous,
            update_embedding_for_previous,
        )
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

        def decoded(feeds_previous, update_embedding):
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                feeds_previous,
                update_embedding,
            )

        return fed_by(feed_previous, decoded)


def embedding_tied_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_symbols,
    embedding_size,
    num_decoder_symbols=None,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """tied_rnn_seq2seq with numbers of classes for inputs, and one table for both sides.

    Args:
      encoder_inputs, decoder_inputs: lists of int32 Tensors of shape [batch].
      cell: an RNNCell.
      num_symbols, embedding_size: the shape of the table.
      num_decoder_symbols: how many classes the outputs have; num_symbols if None.
      output_projection, feed_previous, dtype: as for embedding_rnn_seq2seq.
      scope: the variable scope; "embedding_tied_rnn_seq2seq" by default.

    Returns:
      (a list of outputs, the last state).
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as inside:
        if output_projection is not None:
            convert(output_projection[1]).shape.assert_is_compatible_with([num_symbols])
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=inside.dtype)
        both = [
            [embedding_lookup(embedding, each) for each in given]
            for given in (encoder_inputs, decoder_inputs)
        ]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decoded(feeds_previous, update_embedding):
            following = None
            if feeds_previous:
                following = _embedding_of_best(embedding, output_projection, update_embedding)
            return tied_rnn_seq2seq(*both, cell, following, inside.dtype)

        return fed_by(feed_previous, decoded)


def one2many_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs_dict,
    enc_cell,
    dec_cells_dict,
    num_encoder_symbols,
    num_decoder_symbols_dict,
    embedding_size,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """Several decoders of one encoded sequence, each in "one2many_decoder_<name>".

    Args:
      encoder_inputs: a list of int32 Tensors of shape [batch].
      decoder_inputs_dict: {name: such a list}.
      enc_cell: an RNNCell.
      dec_cells_dict: {name: RNNCell}, with the same names.
      num_encoder_symbols, embedding_size: the shape of the encoder's table.
      num_decoder_symbols_dict: {name: how many classes it has}.
      feed_previous, dtype: as for embedding_rnn_seq2seq.
      scope: the variable scope; "one2many_rnn_seq2seq" by default.

    Returns:
      ({name: a list of outputs}, {name: the last state}).

    Raises:
      TypeError: if a cell is no RNNCell; ValueError: if the names are not the same.
    """
    for each in (enc_cell, *dec_cells_dict.values()):
        if not isinstance(each, RNNCell):
            raise TypeError(f"one2many_rnn_seq2seq: a cell is not an RNNCell: {each!r}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError(
            f"one2many_rnn_seq2seq: dec_cells_dict has {sorted(dec_cells_dict)}, decoder_inputs_dict "
            f"{sorted(decoder_inputs_dict)}; their names have to be the same"
        )
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as inside:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=inside.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                outputs[name], states[name] = fed_by(
                    feed_previous,
                    lambda feeds, _, cell=cell, inputs=inputs, symbols=symbols: (
                        embedding_rnn_decoder(
                            inputs, state, cell, symbols, embedding_size, feed_previous=feeds
                        )
                    ),
                )
    return outputs, states


def fed_by(feed_previous, decoded):
    """What a decoder gives that is fed by its own outputs or not.

    Args:
      feed_previous: a bool, or a bool scalar that decides it in a step.
      decoded: a function of (whether it is fed so, whether tables learn by that) that makes the decoder. Where
        the step decides they do not.
    """
    if isinstance(feed_previous, bool):
        return decoded(feed_previous, True)
    made = []

    def flat(feeds_previous, reuse):
        with variable_scope(get_variable_scope(), reuse=reuse):
            made.append(decoded(feeds_previous, False))
        return structure.flatten(made[-1])

    leaves = cond(feed_previous, lambda: flat(True, None), lambda: flat(False, True))
    return structure.pack(made[0], leaves)
