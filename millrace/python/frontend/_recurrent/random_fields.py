"""Linear-chain conditional random fields: how likely the tags of sequences are, and the best ones.

A sequence of tags scores the sum of its inputs and of its transitions; its likelihood is the exponential of
that, as a share of all sequences'. What is after the end of a member of the batch counts for nothing.
"""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import argmax, cast
from millrace._ops.arrays import (
    concat,
    expand_dims,
    fill,
    gather,
    pad,
    reshape,
    shape,
    squeeze,
    stack,
    where,
    zeros_like,
)
from millrace._ops.rearranging import gather_nd, reverse_sequence
from millrace._ops.reductions import reduce_logsumexp, reduce_max, reduce_sum
from millrace._ops.shaped import sequence_mask
from millrace._recurrent.cell import RNNCell
from millrace._recurrent.dynamic import dynamic_rnn
from millrace._state.named_variables import get_variable
from millrace._values import dtypes


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    """What sequences of tags score: the sum of their inputs and their transitions.

    Args:
      inputs: scores of tags by themselves, a floating Tensor of shape [batch, time, tags].
      tag_indices: tags, an int32 or int64 Tensor of shape [batch, time].
      sequence_lengths: a vector of integers, of shape [batch].
      transition_params: what each tag (a row) followed by each (a column) scores, of shape [tags, tags].

    Returns:
      a vector of shape [batch]; 0 for an empty sequence.
    """
    with name_scope(None, "crf_sequence_score"):
        return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
            tag_indices, sequence_lengths, transition_params
        )


def crf_multitag_sequence_score(inputs, tag_bitmap, sequence_lengths, transition_params):
    """The logarithm of the summed exponentials of the scores of all sequences that are allowed.

    Args:
      tag_bitmap: which tags are allowed where, a bool Tensor of shape [batch, time, tags].
      inputs, sequence_lengths, transition_params: as for crf_sequence_score.

    Returns:
      a vector of shape [batch]; 0 for an empty sequence.
    """
    with name_scope(None, "crf_multitag_sequence_score"):
        inputs = convert(inputs)
        never = fill(shape(inputs), convert(float("-inf"), inputs.dtype))
        allowed = where(cast(convert(tag_bitmap), dtypes.bool), inputs, never)
        return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_log_norm(inputs, sequence_lengths, transition_params):
    """The logarithm of the summed exponentials of the scores of all sequences of tags.

    Args and returns: as for crf_multitag_sequence_score, whose tags are all allowed here.
    """
    with name_scope(None, "crf_log_norm"):
        inputs, lengths = convert(inputs), convert(sequence_lengths)
        _, alphas = _forward(CrfForwardRnnCell(transition_params), inputs, lengths, inputs.dtype)
        norm = reduce_logsumexp(alphas, [1])
        return where(gen_ops.less_equal(lengths, 0), zeros_like(norm), norm)


def _forward(cell, inputs, lengths, dtype):
    """(outputs of shape [batch, time, tags], state) of a cell that begins with the first inputs.

    Outputs are of the second input on, and have one of nothing at the end: so there is a point of time
    to be run even for sequences of one tag.
    """
    rest = pad(inputs[:, 1:, :], [[0, 0], [0, 1], [0, 0]])
    rest.set_shape(inputs.shape)
    return dynamic_rnn(cell, rest, _less_one(lengths), inputs[:, 0, :], dtype)


def _less_one(lengths):
    return gen_ops.maximum(lengths - 1, 0)


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    """The logarithm of how likely sequences of tags are: their scores less those of all sequences.

    Args:
      inputs: scores of tags by themselves, a floating Tensor of shape [batch, time, tags]; the number of
        tags is known if there are no transition_params.
      tag_indices, sequence_lengths: as for crf_sequence_score.
      transition_params: as there; None for a new variable `transitions` in the current scope.

    Returns:
      (a vector of shape [batch], the transition_params).

    Raises:
      ValueError: if there are neither transition_params nor a known number of tags.
    """
    inputs = convert(inputs)
    if transition_params is None:
        num_tags = inputs.shape.as_list()[2] if inputs.shape.ndims is not None else None
        if num_tags is None:
            raise ValueError(
                "crf_log_likelihood: inputs must have a known number of tags in axis 2 for new "
                f"transition_params, got inputs of shape {inputs.shape}"
            )
        transition_params = get_variable("transitions", [num_tags, num_tags], inputs.dtype)
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    """The sum of the inputs of tags, a vector of shape [batch]. Args: as for crf_sequence_score."""
    with name_scope(None, "crf_unary_score"):
        inputs, tags = convert(inputs), convert(tag_indices)
        batch, time, num_tags = (shape(inputs, out_type=tags.dtype)[i] for i in range(3))
        places = expand_dims(_numbers(batch), 1) * time + expand_dims(_numbers(time), 0)
        scores = gather(reshape(inputs, [-1]), places * num_tags + tags)
        return reduce_sum(scores * sequence_mask(sequence_lengths, time, inputs.dtype), 1)


def _numbers(count):
    """0 to count - 1, of count's type."""
    return gen_ops.range(convert(0, count.dtype), count, convert(1, count.dtype))


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """The sum of the transitions of tags, a vector of shape [batch]. Args: as for crf_sequence_score."""
    with name_scope(None, "crf_binary_score"):
        tags, transitions = convert(tag_indices), convert(transition_params)
        num_tags = shape(transitions, out_type=tags.dtype)[0]
        scores = gather(reshape(transitions, [-1]), tags[:, :-1] * num_tags + tags[:, 1:])
        within = sequence_mask(_less_one(convert(sequence_lengths)), shape(scores)[1])
        return reduce_sum(scores * cast(within, transitions.dtype), 1)


class _FieldCell(RNNCell):
    """A cell of as many states as there are tags.

    Args:
      transition_params: of shape [tags, tags], as for crf_sequence_score; the number of tags is known.
    """

    def __init__(self, transition_params):
        super().__init__()
        transitions = convert(transition_params)
        self._num_tags = transitions.shape.as_list()[0]
        self._transitions = expand_dims(transitions, 0)

    @property
    def state_size(self):
        return self._num_tags

    @property
    def output_size(self):
        return self._num_tags

    def _scores(self, state):
        """What each tag and each that follows it score, of shape [batch, tags, tags]."""
        return expand_dims(state, 2) + self._transitions


class CrfForwardRnnCell(_FieldCell):
    """Sums over all sequences up to here that end with a tag, as logarithms: its state and its output.

    Args:
      transition_params: of shape [tags, tags], as for crf_sequence_score; the number of tags is known.
    """

    def __call__(self, inputs, state, scope=None):
        """(sums, sums), of shape [batch, tags] as are inputs and state. `scope` is accepted."""
        sums = inputs + reduce_logsumexp(self._scores(state), [1])
        return sums, sums


class CrfDecodeForwardRnnCell(_FieldCell):
    """The best score of a sequence up to here that ends with a tag, and the tag before that one.

    Args:
      transition_params: of shape [tags, tags], as for crf_sequence_score; the number of tags is known.
    """

    def __call__(self, inputs, state, scope=None):
        """(the tags before, int32; the best scores), of shape [batch, tags] as are inputs and state."""
        scores = self._scores(state)
        return argmax(scores, 1, output_type=dtypes.int32), inputs + reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """Follows the tags before each tag back from the end.

    Args:
      num_tags: the number of tags.
    """

    def __init__(self, num_tags):
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self):
        return 1

    @property
    def output_size(self):
        return 1

    def __call__(self, inputs, state, scope=None):
        """(tags, tags): what inputs, [batch, tags] integers, have at a state of shape [batch, 1]."""
        place = squeeze(state, [1])
        tags = gather_nd(inputs, stack([_numbers(shape(inputs)[0]), place], axis=1))
        return expand_dims(tags, -1), expand_dims(tags, -1)


def crf_decode(potentials, transition_params, sequence_length):
    """The sequences of tags with the best scores.

    Args:
      potentials: as `inputs` of crf_sequence_score.
      transition_params: as there; the number of tags is known.
      sequence_length: a vector of integers, of shape [batch].

    Returns:
      (tags, an int32 Tensor of shape [batch, time] with 0 after the ends, their scores of shape [batch]).
    """
    with name_scope(None, "crf_decode"):
        inputs, lengths = convert(potentials), convert(sequence_length)
        cell = CrfDecodeForwardRnnCell(transition_params)
        before, scores = _forward(cell, inputs, lengths, dtypes.int32)
        last = expand_dims(argmax(scores, 1, output_type=dtypes.int32), -1)
        backwards, _ = dynamic_rnn(
            CrfDecodeBackwardRnnCell(cell.output_size),
            reverse_sequence(before, _less_one(lengths), seq_axis=1, batch_axis=0),
            _less_one(lengths),
            last,
            dtypes.int32,
            scope="back",
        )
        tags = concat([last, squeeze(backwards, [2])[:, :-1]], 1)
        tags = reverse_sequence(tags, lengths, seq_axis=1, batch_axis=0)
        tags.set_shape(inputs.shape[:2])
        return tags, reduce_max(scores, [1])


def viterbi_decode(score, transition_params):
    """The sequence of tags with the best score, in NumPy.

    Args:
      score: as `inputs` of crf_sequence_score for one sequence: an array of shape [time, tags].
      transition_params: an array of shape [tags, tags].

    Returns:
      (a list of `time` tags, their score).
    """
    best, before = score[0], []
    for inputs in score[1:]:
        scores = np.expand_dims(best, 1) + transition_params
        before.append(np.argmax(scores, 0))
        best = inputs + np.max(scores, 0)
    tags = [np.argmax(best)]
    for tags_before in reversed(before):
        tags.append(tags_before[tags[-1]])
    return tags[::-1], np.max(best)
