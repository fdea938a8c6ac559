"""tf.contrib.crf beside all sequences of tags, one by one."""

import itertools

import numpy as np
import pytest

import millrace as tf

crf = tf.contrib.crf
RANDOM = np.random.RandomState(0)
INPUTS = RANDOM.randn(4, 5, 3).astype(np.float32)
TAGS = RANDOM.randint(0, 3, [4, 5]).astype(np.int32)
LENGTHS = np.array([5, 1, 3, 0], np.int32)
TRANSITIONS = RANDOM.randn(3, 3).astype(np.float32)


def _score(member, tags):
    inputs = sum(INPUTS[member, place, tag] for place, tag in enumerate(tags))
    return inputs + sum(TRANSITIONS[pair] for pair in itertools.pairwise(tags))


def _all(member, allowed=None):
    """(tags, score) of all sequences of a member of the batch."""
    places = range(LENGTHS[member])
    choices = [[t for t in range(3) if allowed is None or allowed[member, p, t]] for p in places]
    return [(tags, _score(member, tags)) for tags in itertools.product(*choices)]


def _norm(member, allowed=None):
    return np.log(sum(np.exp(score) for _, score in _all(member, allowed)))


def test_scores_are_sums_of_inputs_and_transitions_up_to_the_end(check):
    expected = np.array([_score(i, TAGS[i, : LENGTHS[i]]) for i in range(4)], np.float32)
    for tags in (TAGS, TAGS.astype(np.int64)):
        score = crf.crf_sequence_score(INPUTS, tags, LENGTHS, TRANSITIONS)
        check(score, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_norm_is_over_all_sequences(check, kind):
    expected = np.array([_norm(i) for i in range(4)], np.float32)
    check(crf.crf_log_norm(INPUTS, LENGTHS.astype(kind), TRANSITIONS), expected, rtol=1e-5)


def test_a_bitmap_tells_which_sequences_are_allowed(check):
    allowed = RANDOM.rand(4, 5, 3) < 0.6
    allowed[..., 1] = True
    expected = np.array([_norm(i, allowed) for i in range(4)], np.float32)
    score = crf.crf_multitag_sequence_score(INPUTS, allowed, LENGTHS, TRANSITIONS)
    check(score, expected, rtol=1e-5)


@pytest.mark.parametrize("times", [5, 1])
def test_the_best_sequences_are_found_in_the_graph_and_outside(session, times):
    inputs = tf.placeholder(tf.float32, [None, None, 3])
    lengths = np.minimum(LENGTHS, times)
    decoded = crf.crf_decode(inputs, TRANSITIONS, tf.constant(lengths))
    tags, scores = session.run(decoded, {inputs: INPUTS[:, :times]})
    assert tags.dtype == np.int32 and tags.shape == (4, times)
    for member in range(3):
        length = lengths[member]
        every = itertools.product(range(3), repeat=length)
        best = max(every, key=lambda tags: _score(member, tags))
        assert list(tags[member]) == [*best, *[0] * (times - length)]
        assert scores[member] == pytest.approx(_score(member, best), rel=1e-5)
        outside = crf.viterbi_decode(INPUTS[member, :length], TRANSITIONS)
        assert outside[0] == list(best) and outside[1] == pytest.approx(scores[member], rel=1e-5)


def test_the_gradient_of_a_likelihood_is_what_is_there_less_what_is_expected(session):
    inputs = tf.constant(INPUTS)
    with tf.variable_scope("tagger"):
        likelihood, transitions = crf.crf_log_likelihood(inputs, TAGS, LENGTHS)
    assert [v.op.name for v in tf.trainable_variables()] == ["tagger/transitions"]
    session.run(transitions.assign(TRANSITIONS))
    slopes = tf.gradients(likelihood, [inputs, transitions])
    value, of_inputs, of_transitions = session.run([likelihood, *slopes])
    expected = np.zeros_like(INPUTS)
    moved = np.zeros((3, 3))
    for member in range(4):
        own = tuple(TAGS[member, : LENGTHS[member]])
        assert value[member] == pytest.approx(_score(member, own) - _norm(member), abs=1e-5)
        for tags, score in [*_all(member), (own, None)]:
            share = 1 if score is None else -np.exp(score - _norm(member))
            for place, tag in enumerate(tags):
                expected[member, place, tag] += share
            for pair in itertools.pairwise(tags):
                moved[pair] += share
    np.testing.assert_allclose(of_inputs, expected, atol=1e-5)
    np.testing.assert_allclose(of_transitions, moved, atol=1e-5)


def test_training_reaches_the_tags_it_was_shown(session):
    likelihood, transitions = crf.crf_log_likelihood(tf.constant(INPUTS), TAGS, LENGTHS)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(-tf.reduce_mean(likelihood))
    session.run(tf.global_variables_initializer())
    first = session.run(likelihood).mean()
    for _ in range(20):
        session.run(train)
    assert session.run(likelihood).mean() > first + 0.1


def test_an_unknown_number_of_tags_is_refused_for_new_transitions():
    inputs = tf.placeholder(tf.float32, [None, 5, None])
    with pytest.raises(ValueError, match="known number of tags"):
        crf.crf_log_likelihood(inputs, TAGS, LENGTHS)


def test_an_output_may_have_another_type_than_the_state(session):
    cell = crf.CrfDecodeForwardRnnCell(TRANSITIONS)
    start = tf.zeros([4, 3])
    outputs, state = tf.nn.dynamic_rnn(cell, INPUTS, LENGTHS, start, tf.int32)
    assert outputs.dtype == tf.int32 and state.dtype == tf.float32
