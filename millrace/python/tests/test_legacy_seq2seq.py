"""tf.contrib.legacy_seq2seq: what looks back, what several decoders share, lengths in buckets."""

import numpy as np
import pytest

import millrace as tf

seq2seq = tf.contrib.legacy_seq2seq
STEPS, BATCH, SYMBOLS, SIZE = 3, 2, 5, 4


def _random(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("begins_reading", [False, True])
def test_a_decoder_reads_means_of_what_was_encoded(session, begins_reading):
    inputs, states = _random(STEPS, BATCH, 3), _random(BATCH, 6, SIZE, seed=1)
    first = _random(BATCH, SIZE, seed=2)
    cell = tf.nn.rnn_cell.BasicRNNCell(SIZE)
    made, last = seq2seq.attention_decoder(
        [tf.constant(each) for each in inputs],
        tf.constant(first),
        tf.constant(states),
        cell,
        output_size=2,
        num_heads=2,
        initial_state_attention=begins_reading,
    )
    session.run(tf.global_variables_initializer())
    held = {v.op.name: v for v in tf.global_variables()}
    v = {name.removeprefix("attention_decoder/"): session.run(held[name]) for name in held}

    def read(state):
        means = []
        for head in (0, 1):
            wanted = state @ v[f"Attention_{head}/kernel"] + v[f"Attention_{head}/bias"]
            features = states @ v[f"AttnW_{head}"][0, 0]
            fits = (v[f"AttnV_{head}"] * np.tanh(features + wanted[:, None])).sum(-1)
            means.append((_softmax(fits)[:, :, None] * states).sum(1))
        return means

    state, expected = first, []
    means = read(first) if begins_reading else [np.zeros_like(first)] * 2
    for given in inputs:
        x = np.concatenate([given, *means], 1) @ v["kernel"] + v["bias"]
        both = np.concatenate([x, state], 1)
        state = np.tanh(both @ v["basic_rnn_cell/kernel"] + v["basic_rnn_cell/bias"])
        means = read(state)
        out = np.concatenate([state, *means], 1)
        expected.append(out @ v["AttnOutputProjection/kernel"] + v["AttnOutputProjection/bias"])
    np.testing.assert_allclose(session.run(made), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(session.run(last), state, rtol=1e-4, atol=1e-5)


def test_attention_needs_inputs_heads_and_a_known_size():
    cell, state = tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([1, 2])
    given, states = [tf.zeros([1, 2])], tf.zeros([1, 3, 2])
    for arguments, text in (
        (([], state, states, cell), "at least 1 input"),
        ((given, state, tf.placeholder(tf.float32, [1, 3, None]), cell), "must be known"),
        ((given, state, states, cell, None, 0), "less than 1 heads"),
    ):
        with pytest.raises(ValueError, match=text):
            seq2seq.attention_decoder(*arguments)


def _symbols(seed):
    return list(np.random.RandomState(seed).randint(0, SYMBOLS, [STEPS, BATCH]).astype(np.int32))


def _models():
    encoder = [tf.constant(each) for each in _symbols(0)]
    decoder = [tf.constant(each) for each in _symbols(1)]
    cell = tf.nn.rnn_cell.GRUCell(SIZE)
    return {
        "attention": lambda feed: seq2seq.embedding_attention_seq2seq(
            encoder, decoder, cell, SYMBOLS, SYMBOLS, 3, num_heads=2, feed_previous=feed
        ),
        "tied": lambda feed: seq2seq.embedding_tied_rnn_seq2seq(
            encoder, decoder, cell, SYMBOLS, 3, feed_previous=feed
        ),
        "plain": lambda feed: seq2seq.embedding_rnn_seq2seq(
            encoder, decoder, cell, SYMBOLS, SYMBOLS, 3, feed_previous=feed
        ),
    }


@pytest.mark.parametrize("kind", ["attention", "tied", "plain"])
def test_what_a_decoder_is_fed_with_may_be_decided_in_a_step(session, kind):
    tf.set_random_seed(1)
    make, feeds = _models()[kind], tf.placeholder(tf.bool, [])
    with tf.variable_scope("model"):
        chosen, state = make(feeds)
    fixed = {}
    for feed in (True, False):
        with tf.variable_scope("model", reuse=True):
            fixed[feed] = make(feed)
    session.run(tf.global_variables_initializer())
    for feed in (True, False):
        ours, theirs = session.run([(chosen, state), fixed[feed]], {feeds: feed})
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)
        assert theirs[0][0].shape == (BATCH, SYMBOLS)
    first, second = session.run([fixed[True][0], fixed[False][0]])
    np.testing.assert_allclose(first[0], second[0], rtol=1e-5)
    # A row goes on alike just where the likeliest class is the one that it is told next.
    is_other = first[0].argmax(1) != _symbols(1)[1]
    assert is_other.any()
    assert np.array_equal(np.isclose(first[1], second[1]).all(1), ~is_other)


def test_several_decoders_share_what_was_encoded(session):
    encoder = [tf.constant(each) for each in _symbols(0)]
    inputs = {
        name: [tf.constant(each) for each in _symbols(seed)] for name, seed in (("a", 1), ("b", 2))
    }
    cells = {name: tf.nn.rnn_cell.GRUCell(SIZE) for name in inputs}
    outputs, states = seq2seq.one2many_rnn_seq2seq(
        encoder, inputs, tf.nn.rnn_cell.GRUCell(SIZE), cells, SYMBOLS, {"a": 5, "b": 6}, 3
    )
    session.run(tf.global_variables_initializer())
    found, ends = session.run([outputs, states])
    assert [found[name][0].shape for name in "ab"] == [(BATCH, 5), (BATCH, 6)]
    assert ends["a"].shape == (BATCH, SIZE) and len(found["b"]) == STEPS
    names = {v.op.name for v in tf.global_variables()}
    assert "one2many_rnn_seq2seq/one2many_decoder_a/embedding_rnn_decoder/embedding" in names
    with pytest.raises(ValueError, match="names have to be the same"):
        seq2seq.one2many_rnn_seq2seq(
            encoder, inputs, cells["a"], {"a": cells["a"]}, SYMBOLS, {"a": 2, "b": 3}, 3
        )


def test_a_model_with_buckets_has_a_loss_for_each_length(session):
    encoder = [tf.constant(each) for each in _symbols(0)]
    targets = [tf.constant(each) for each in _symbols(1)]
    weights = [tf.ones([BATCH])] * STEPS
    cell = tf.nn.rnn_cell.GRUCell(SIZE)

    def model(x, y):
        return seq2seq.embedding_rnn_seq2seq(x, y, cell, SYMBOLS, SYMBOLS, 3)

    given = encoder, targets, targets, weights, [(1, 2), (3, 3)], model
    outputs, losses = seq2seq.model_with_buckets(*given)
    assert [len(each) for each in outputs] == [2, 3]
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        _, each = seq2seq.model_with_buckets(*given, per_example_loss=True)
    session.run(tf.global_variables_initializer())
    means, apart = session.run([losses, each])
    np.testing.assert_allclose(means, [part.mean() for part in apart], rtol=1e-5)
    with pytest.raises(ValueError, match="Length of encoder_inputs"):
        seq2seq.model_with_buckets([], targets, targets, weights, [(1, 2)], model)
