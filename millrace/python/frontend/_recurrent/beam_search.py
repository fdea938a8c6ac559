"""BeamSearchDecoder: several sequences for each member of the batch, the likeliest of all so far."""

import collections

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.tensor_array import TensorArray
from millrace._graph.conversion import constant, constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Tensor
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, fill, one_hot, ones_like, reshape, tile, where, zeros
from millrace._ops.layers import log_softmax
from millrace._ops.reductions import reduce_all, reduce_max, reduce_mean, reduce_sum
from millrace._recurrent.attention_wrapper import AttentionWrapperState
from millrace._recurrent.basic_decoder import check_layer, output_size_of
from millrace._recurrent.beams import gather_tree_from_array
from millrace._recurrent.cell import assert_like_rnncell, dims_of
from millrace._recurrent.decoding import Decoder
from millrace._recurrent.next_inputs import embedding_function
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape

BeamSearchDecoderState = collections.namedtuple(
    "BeamSearchDecoderState",
    ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
)
BeamSearchDecoderOutput = collections.namedtuple(
    "BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids")
)
FinalBeamSearchDecoderOutput = collections.namedtuple(
    "FinalBeamSearchDecoderOutput", ("predicted_ids", "beam_search_decoder_output")
)


class BeamSearchDecoder(Decoder):
    """Keeps the `beam_width` likeliest sequences for each member of the batch.

    Args:
      cell: an RNNCell.
      embedding: a function from ids to inputs, or a table for tf.nn.embedding_lookup.
      start_tokens: an int32 vector of size batch, the first ids.
      end_token: an int32 scalar, with which sequences end.
      initial_state: the cell's first state, of batch size batch * beam_width: see tile_batch.
      beam_width: an int.
      output_layer: a layer for the cell's outputs, which gives logits; None for none.
      length_penalty_weight: scores are logarithms of probabilities by ((5 + length) / 6) to this power.
      coverage_penalty_weight: how much an ended sequence loses that left places of the memory unseen, if
        the cell is an AttentionWrapper.
      reorder_tensor_arrays: whether TensorArrays of the last state (alignments) come as Tensors in the
        order of the sequences found.

    Its outputs are FinalBeamSearchDecoderOutputs: `predicted_ids` of shape [batch, time, beam], best
    first, and `beam_search_decoder_output`: scores, ids and parents of each step.

    Raises:
      TypeError: if cell or layer are none; ValueError: if start_tokens is no vector or end_token no
        scalar, or the state is of another batch size.
    """

    def __init__(
        self,
        cell,
        embedding,
        start_tokens,
        end_token,
        initial_state,
        beam_width,
        output_layer=None,
        length_penalty_weight=0.0,
        coverage_penalty_weight=0.0,
        reorder_tensor_arrays=True,
    ):
        assert_like_rnncell("cell", cell)
        check_layer("output_layer", output_layer)
        self._cell, self._layer = cell, output_layer
        self._embedding_fn = embedding_function(embedding)
        tokens = convert(start_tokens, dtypes.int32, name="start_tokens")
        self._end_token = convert(end_token, dtypes.int32, name="end_token")
        if tokens.shape.ndims != 1:
            raise ValueError(f"start_tokens must be a vector, but has shape {tokens.shape}")
        if self._end_token.shape.ndims != 0:
            raise ValueError(f"end_token must be a scalar, but has shape {self._end_token.shape}")
        self._batch_size, self._width = gen_ops.size(tokens), beam_width
        self._known_batch = tokens.shape.as_list()[0]
        self._length_penalty, self._coverage_penalty = (
            length_penalty_weight,
            coverage_penalty_weight,
        )
        self._reorders = reorder_tensor_arrays
        self._initial_cell_state = structure.map_structure(
            self._split_if_batched, initial_state, cell.state_size
        )
        self._start_inputs = self._embedding_fn(
            tile(gen_ops.expand_dims(tokens, 1), [1, beam_width])
        )

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def tracks_own_finished(self):
        return True

    @property
    def output_size(self):
        beams = TensorShape([self._width])
        return BeamSearchDecoderOutput(scores=beams, predicted_ids=beams, parent_ids=beams)

    @property
    def output_dtype(self):
        return BeamSearchDecoderOutput(
            scores=self._dtype(), predicted_ids=dtypes.int32, parent_ids=dtypes.int32
        )

    def _dtype(self):
        return structure.flatten(self._initial_cell_state)[0].dtype.base_dtype

    def initialize(self, name=None):
        shape = [self._batch_size, self._width]
        # All beams are alike at first: the others have no chance against the first one.
        log_probs = one_hot(
            zeros([self._batch_size], dtypes.int32),
            self._width,
            on_value=constant(0.0, self._dtype()),
            off_value=constant(-np.inf, self._dtype()),
        )
        attention = _attention_probs(self._initial_cell_state, self._coverage_penalty)
        finished = fill(shape, False)
        finished.set_shape([self._known_batch, self._width])
        lengths = zeros(shape, dtypes.int64)
        lengths.set_shape([self._known_batch, self._width])
        log_probs.set_shape([self._known_batch, self._width])
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=finished,
            lengths=lengths,
            accumulated_attention_probs=() if attention is None else gen_ops.zeros_like(attention),
        )
        return finished, self._start_inputs, state

    def finalize(self, outputs, final_state, sequence_lengths):
        most = cast(reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gen_ops.gather_tree(outputs.predicted_ids, outputs.parent_ids, most, self._end_token)

        def sorted_array(leaf):
            if not isinstance(leaf, TensorArray):
                return leaf
            return gather_tree_from_array(leaf.stack(), outputs.parent_ids, final_state.lengths)

        if self._reorders:
            cell_state = structure.map_structure(sorted_array, final_state.cell_state)
            final_state = BeamSearchDecoderState(cell_state, *final_state[1:])
        made = FinalBeamSearchDecoderOutput(predicted_ids=ids, beam_search_decoder_output=outputs)
        return made, final_state

    # ---- Beams as members of the batch, and back ---------------------------------------------------

    def _merged(self, t, rest):
        """[batch, beam, ...] as [batch * beam, ...]."""
        sizes = gen_ops.shape(t)
        made = reshape(t, concat([[self._batch_size * self._width], sizes[2:]], 0))
        made.set_shape(
            [None if self._known_batch is None else self._known_batch * self._width, *rest]
        )
        return made

    def _split(self, t, rest):
        """[batch * beam, ...] as [batch, beam, ...]. ValueError if it can't be of so many."""
        batch = t.shape.as_list()[0]
        wanted = None if self._known_batch is None else self._known_batch * self._width
        if batch is not None and (batch % self._width or wanted not in (None, batch)):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The tensor "
                f"{t.name} has shape: {t.shape}.  We expected its first size to be (batch_size * "
                f"beam_width) == {self._known_batch} * {self._width}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        sizes = gen_ops.shape(t)
        made = reshape(t, concat([[self._batch_size, self._width], sizes[1:]], 0))
        made.set_shape([self._known_batch, self._width, *rest])
        return made

    def _split_if_batched(self, t, size):
        if isinstance(t, TensorArray) or not _rank(t):
            return t
        return self._split(t, _rest(t, size, 1))

    def _merged_if_batched(self, t, size):
        if isinstance(t, TensorArray) or _rank(t) < 2:
            return t
        return self._merged(t, _rest(t, size, 2))

    # ---- A step ----------------------------------------------------------------------------------

    def step(self, time, inputs, state, name=None):
        with name_scope(name, "BeamSearchDecoderStep", [time]):
            inputs = structure.map_structure(
                lambda each: self._merged(each, each.shape.as_list()[2:]), inputs
            )
            cell_state = structure.map_structure(
                self._merged_if_batched, state.cell_state, self._cell.state_size
            )
            outputs, next_cell_state = self._cell(inputs, cell_state)
            if self._layer is not None:
                outputs = self._layer(outputs)
            sizes = output_size_of(self._cell, self._layer)
            logits = structure.map_structure(
                lambda made, size: self._split(made, dims_of(size)), outputs, sizes
            )
            next_cell_state = structure.map_structure(
                self._split_if_batched, next_cell_state, self._cell.state_size
            )
            output, new_state = self._best(logits, next_cell_state, state)
            next_inputs = cond(
                reduce_all(new_state.finished),
                lambda: gen_ops.identity(self._start_inputs),
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, new_state, next_inputs, new_state.finished

    def _best(self, logits, cell_state, state):
        """(what is given out, the next state): the best continuations of all beams."""
        finished = state.finished
        words = logits.shape.as_list()[-1]
        words = gen_ops.shape(logits)[2] if words is None else words
        log_probs = self._ended(log_softmax(logits), finished, words)
        totals = gen_ops.expand_dims(state.log_probs, 2) + log_probs
        goes_on = one_hot(
            fill([self._batch_size, self._width], self._end_token),
            words,
            on_value=constant(0, dtypes.int64),
            off_value=constant(1, dtypes.int64),
        ) * gen_ops.expand_dims(cast(gen_ops.logical_not(finished), dtypes.int64), 2)
        lengths = goes_on + gen_ops.expand_dims(state.lengths, 2)
        seen = _attention_probs(cell_state, self._coverage_penalty)
        if seen is not None:
            still = cast(gen_ops.logical_not(finished), seen.dtype.base_dtype)
            seen = state.accumulated_attention_probs + seen * gen_ops.expand_dims(still, 2)
        scores = self._scores(totals, lengths, finished, seen)
        flat = reshape(scores, [self._batch_size, -1])
        best, places = gen_ops.top_kv2(flat, self._width)
        best.set_shape([self._known_batch, self._width])
        places.set_shape([self._known_batch, self._width])
        parents = gen_ops.floor_div(places, words)
        ids = gen_ops.floor_mod(places, words)
        was_finished = self._picked(finished, parents)
        still = cast(gen_ops.logical_not(was_finished), dtypes.int64)
        next_state = BeamSearchDecoderState(
            cell_state=structure.map_structure(
                lambda leaf: self._picked_if_batched(leaf, parents), cell_state
            ),
            log_probs=self._picked(totals, places, words),
            finished=gen_ops.logical_or(was_finished, gen_ops.equal(ids, self._end_token)),
            lengths=self._picked(state.lengths, parents) + still,
            accumulated_attention_probs=()
            if seen is None
            else self._picked_if_batched(seen, parents),
        )
        output = BeamSearchDecoderOutput(scores=best, predicted_ids=ids, parent_ids=parents)
        return output, next_state

    def _ended(self, log_probs, finished, words):
        """The same, but sequences that are over can only go on with the end."""
        dtype = log_probs.dtype.base_dtype
        row = one_hot(
            self._end_token,
            words,
            on_value=constant(0.0, dtype),
            off_value=constant(dtype.min, dtype),
        )
        rows = gen_ops.zeros_like(log_probs) + row
        mask = tile(gen_ops.expand_dims(finished, 2), [1, 1, words])
        return where(mask, rows, log_probs)

    def _scores(self, totals, lengths, finished, seen):
        scores, dtype = totals, totals.dtype.base_dtype
        if not _is_zero(self._length_penalty):
            power = convert(self._length_penalty, dtype, name="penalty_factor")
            scores = scores / ((5.0 + cast(lengths, dtype)) ** power / 6.0**power)
        if seen is None:
            return scores
        # Places beyond the memory's length are no loss.
        seen = where(gen_ops.equal(seen, 0.0), ones_like(seen), seen)
        coverage = reduce_sum(gen_ops.log(gen_ops.minimum(seen, 1.0)), 2)
        loss = coverage * cast(finished, dtype) * convert(self._coverage_penalty, dtype)
        return scores + gen_ops.expand_dims(loss, 2)

    def _picked(self, values, places, more=1):
        """values.flat[places] for each member of the batch, of shape [batch, beam]."""
        begins = gen_ops.expand_dims(
            gen_ops.range(0, self._batch_size, 1) * (self._width * more), 1
        )
        made = gen_ops.gather_v2(reshape(values, [-1]), reshape(places + begins, [-1]), 0)
        made = reshape(made, [self._batch_size, self._width])
        made.set_shape([self._known_batch, self._width])
        return made

    def _picked_if_batched(self, t, parents):
        """What of a state belongs to the beams that were picked."""
        if isinstance(t, TensorArray) or _rank(t) < 2:
            return t
        sizes, known = gen_ops.shape(t), t.shape
        begins = gen_ops.expand_dims(gen_ops.range(0, self._batch_size, 1) * self._width, 1)
        rows = reshape(t, concat([[self._batch_size * self._width], sizes[2:]], 0))
        made = gen_ops.gather_v2(rows, reshape(parents + begins, [-1]), 0)
        made = reshape(made, sizes)
        made.set_shape(known)
        return made


def _is_zero(weight):
    known = constant_value(weight) if isinstance(weight, Tensor) else weight
    return known is not None and known == 0


def _rank(t):
    if t.shape.ndims is None:
        raise ValueError(f"Expected tensor ({t.name}) to have known rank, but ndims == None.")
    return t.shape.ndims


def _rest(t, size, begin):
    """The known sizes of a state behind its batch: those of the cell, or its own."""
    if isinstance(size, Tensor):
        return t.shape.as_list()[begin:]
    return dims_of(size)


def _attention_probs(cell_state, weight):
    """How much was looked at each place, of shape [batch, beam, places]; None if that has no weight."""
    if _is_zero(weight):
        return None
    found = [state.alignments for state in _attention_states(cell_state)]
    if not found:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    means = [_mean(list(each)) if isinstance(each, tuple) else each for each in found]
    return _mean(means)


def _mean(values):
    return values[0] if len(values) == 1 else reduce_mean(gen_ops.pack(values, axis=-1), -1)


def _attention_states(state):
    if isinstance(state, AttentionWrapperState):
        return [state]
    if isinstance(state, tuple):
        return [found for each in state for found in _attention_states(each)]
    return []
