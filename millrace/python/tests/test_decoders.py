"""Decoders of sequences and attention, beside formulas and searches in NumPy."""

import numpy as np
import pytest

import millrace as tf
from millrace._recurrent.beams import gather_tree_from_array

RNG = np.random.default_rng(5)
seq2seq = tf.contrib.seq2seq


def initialized(session):
    session.run(tf.global_variables_initializer())


def waves(shape, dtype=None, partition_info=None):
    """An initializer: the same numbers for the same shape."""
    return tf.constant(of(shape), dtype or tf.float32)


def of(shape):
    return np.sin(np.arange(np.prod(shape), dtype=np.float64) + 1.0).reshape(shape) * 0.5


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


MEMORY = RNG.normal(size=(2, 3, 4)).astype(np.float32)
QUERY = RNG.normal(size=(2, 5)).astype(np.float32)


def test_scores_of_two_mechanisms(session):
    with tf.variable_scope("net", initializer=waves):
        sums = seq2seq.BahdanauAttention(5, MEMORY, memory_sequence_length=[3, 2])
        products = seq2seq.LuongAttention(5, MEMORY, scale=True)
        made = [sums(tf.constant(QUERY), None)[0], products(tf.constant(QUERY), None)[0]]
    initialized(session)
    by_sum, by_product = session.run(made)
    memory = MEMORY * np.array([[1, 1, 1], [1, 1, 0]])[:, :, None]
    scores = np.tanh(memory @ of((4, 5)) + (QUERY @ of((5, 5)))[:, None]) @ of((5,))
    scores[1, 2] = -np.inf
    assert np.allclose(by_sum, softmax(scores), atol=1e-6)
    scores = np.einsum("bu,btu->bt", QUERY, MEMORY @ of((4, 5)))
    assert np.allclose(by_product, softmax(scores), atol=1e-6)
    assert [variable.op.name for variable in tf.global_variables()] == [
        "net/memory_layer/kernel",
        "net/memory_layer_1/kernel",
        "net/bahdanau_attention/query_layer/kernel",
        "net/bahdanau_attention/attention_v",
        "net/luong_attention/attention_g",
    ]


def test_normalized_scores_begin_as_long_as_the_units_say(session):
    with tf.variable_scope("net", initializer=waves):
        mechanism = seq2seq.BahdanauAttention(5, MEMORY, normalize=True)
        made = mechanism(tf.constant(QUERY), None)[0]
    initialized(session)
    v = of((5,)) / np.linalg.norm(of((5,))) * np.sqrt(1 / 5)
    scores = np.tanh(MEMORY @ of((4, 5)) + (QUERY @ of((5, 5)))[:, None]) @ v
    assert np.allclose(session.run(made), softmax(scores), atol=1e-6)


@pytest.mark.parametrize("mode", ["recursive", "parallel"])
def test_attention_that_never_goes_back(session, mode):
    chosen = RNG.uniform(0.1, 0.9, (2, 4)).astype(np.float32)
    before = softmax(RNG.normal(size=(2, 4))).astype(np.float32)
    wanted = np.zeros((2, 4))
    for row in range(2):
        reached = 0.0
        for place in range(4):
            passed = 1 - chosen[row, place - 1] if place else 1.0
            reached = passed * reached + before[row, place]
            wanted[row, place] = chosen[row, place] * reached
    assert np.allclose(
        session.run(seq2seq.monotonic_attention(chosen, before, mode)), wanted, atol=1e-5
    )


def test_a_cell_that_looks_at_a_memory(session):
    cell = tf.nn.rnn_cell.BasicRNNCell(5)
    wrapper = seq2seq.AttentionWrapper(
        cell, seq2seq.LuongAttention(5, MEMORY), attention_layer_size=6, alignment_history=True
    )
    state = wrapper.zero_state(2, tf.float32)
    x = RNG.normal(size=(2, 3)).astype(np.float32)
    with tf.variable_scope("net", initializer=waves):
        output, new = wrapper(tf.constant(x), state)
    initialized(session)
    made, alignments, history, time = session.run(
        [output, new.alignments, new.alignment_history.stack(), new.time]
    )
    kernel = session.run(tf.global_variables()[0])
    hidden = np.tanh(np.concatenate([x, np.zeros((2, 6)), np.zeros((2, 5))], 1) @ of((14, 5)))
    looks = softmax(np.einsum("bu,btu->bt", hidden, MEMORY @ kernel))
    context = np.einsum("bt,btd->bd", looks, MEMORY)
    assert np.allclose(alignments, looks, atol=1e-6) and time == 1
    assert np.allclose(history, looks[None], atol=1e-6)
    assert np.allclose(made, np.concatenate([hidden, context], 1) @ of((9, 6)), atol=1e-6)
    assert wrapper.state_size.attention == 6 and wrapper.output_size == 6


def test_the_batch_of_a_state_must_be_the_memorys():
    mechanism = seq2seq.LuongAttention(5, MEMORY)
    wrapper = seq2seq.AttentionWrapper(tf.nn.rnn_cell.BasicRNNCell(5), mechanism)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="tile_batch"):
        wrapper.zero_state(3, tf.float32)
    with pytest.raises(ValueError, match="expected to be same"):
        state = wrapper.zero_state(2, tf.float32)
        state.clone(cell_state=tf.zeros([2, 7]))


WORDS, UNITS, TIMES, START, END = 6, 8, 4, 1, 0


class Translator:
    """A net from sequences to sequences: encoder, attention, decoder; called again it shares variables."""

    def __init__(self):
        self.x = tf.placeholder(tf.int32, [None, TIMES])
        self.y = tf.placeholder(tf.int32, [None, TIMES])
        self.embedding = tf.get_variable("embedding", [WORDS, UNITS])
        self.batch = tf.shape(self.x)[0]
        self.lengths = tf.fill([self.batch], TIMES)
        self.start = tf.fill([self.batch], START)

    def parts(self, beams=1):
        """(decoding cell, its first state, the layer on top)."""
        inputs = tf.nn.embedding_lookup(self.embedding, self.x)
        memory, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(UNITS), inputs, self.lengths, dtype=tf.float32
        )
        lengths = self.lengths
        if beams > 1:
            memory, state, lengths = seq2seq.tile_batch([memory, state, lengths], beams)
        attention = seq2seq.BahdanauAttention(UNITS, memory, lengths)
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.GRUCell(UNITS), attention, attention_layer_size=UNITS
        )
        first = cell.zero_state(self.batch * beams, tf.float32).clone(cell_state=state)
        return cell, first, tf.layers.Dense(WORDS, name="words")

    def right_inputs(self):
        ids = tf.concat([self.start[:, None], self.y[:, :-1]], 1)
        return tf.nn.embedding_lookup(self.embedding, ids)

    def loss(self, logits):
        return seq2seq.sequence_loss(logits, self.y, tf.ones_like(self.y, tf.float32))


def backwards(count):
    x = RNG.integers(2, WORDS, (count, TIMES))
    y = x[:, ::-1].copy()
    y[:, -1] = END
    return x, y


def shared():
    return tf.variable_scope("net", reuse=tf.AUTO_REUSE)


def test_training_a_decoder_is_training_its_steps_one_by_one_and_it_learns(session):
    net = Translator()
    with shared():
        cell, first, words = net.parts()
        helper = seq2seq.TrainingHelper(net.right_inputs(), net.lengths)
        decoder = seq2seq.BasicDecoder(cell, helper, first, words)
        outputs, _, lengths = seq2seq.dynamic_decode(decoder)
    loss = net.loss(outputs.rnn_output)
    with shared():
        cell, state, words = net.parts()
        logits = []
        with tf.variable_scope("decoder"):
            for time in range(TIMES):
                output, state = cell(net.right_inputs()[:, time], state)
                logits.append(words(output))
    unrolled = net.loss(tf.stack(logits, 1))
    with shared():
        cell, first, words = net.parts()
        helper = seq2seq.GreedyEmbeddingHelper(net.embedding, net.start, END)
        decoder = seq2seq.BasicDecoder(cell, helper, first, words)
        greedy, _, greedy_lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=9)
    with shared():
        cell, first, words = net.parts(beams=3)
        decoder = seq2seq.BeamSearchDecoder(cell, net.embedding, net.start, END, first, 3, words)
        beams, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=9)
    assert "net/decoder/attention_wrapper/gru_cell/gates/kernel" in {
        variable.op.name for variable in tf.global_variables()
    }
    variables = tf.trainable_variables()
    # The other three nets added none.
    assert len(variables) == 15
    gradients = [tf.gradients(each, variables) for each in (loss, unrolled)]
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    tf.set_random_seed(1)
    initialized(session)
    x, y = backwards(8)
    for mine, other in zip(*session.run(gradients, {net.x: x, net.y: y})):
        if hasattr(mine, "indices"):
            mine, other = (
                np.array([each.values[each.indices == word].sum(0) for word in range(WORDS)])
                for each in (mine, other)
            )
        assert np.allclose(mine, other, atol=1e-5)
    assert (session.run(lengths, {net.x: x, net.y: y}) == TIMES).all()
    losses = []
    for _ in range(250):
        x, y = backwards(16)
        losses.append(session.run([loss, train], {net.x: x, net.y: y})[0])
    assert losses[0] > 1.5 and np.mean(losses[-20:]) < 0.25
    x, y = backwards(16)
    ids, ends, best = session.run(
        [greedy.sample_id, greedy_lengths, beams.predicted_ids], {net.x: x}
    )
    good = [(row[:end] == right).all() for row, end, right in zip(ids, ends, y) if end == TIMES]
    assert sum(good) >= 10
    assert best.shape[2] == 3
    agree = [
        (row[: len(found)] == found[: len(row)]).all() for row, found in zip(ids, best[:, :, 0])
    ]
    assert sum(agree) >= 10


class Chain(tf.nn.rnn_cell.RNNCell):
    """Logits that only the last id decides: the input is the row of a table."""

    state_size = output_size = WORDS

    def call(self, inputs, state):
        return inputs, state + inputs


TABLE = (RNG.normal(size=(WORDS, WORDS)) * 2).astype(np.float32)


def continued(beams, width, power):
    """The best `width` continuations of beams (ids, last id, log probability, whether over, length)."""
    table = np.log(softmax(TABLE.astype(np.float64)))
    options = []
    for ids, last, log_prob, over, length in beams:
        for word in range(WORDS):
            if over and word != END:
                continue
            total = log_prob if over else log_prob + table[last, word]
            # A word counts for the score, the end does not until the next step.
            scored = length + (0 if over or word == END else 1)
            score = total / ((5 + scored) / 6) ** power
            after = length if over else length + 1
            options.append((score, ids + [word], word, total, over or word == END, after))
    options.sort(key=lambda option: -option[0])
    return [option[1:] for option in options[:width]], [option[0] for option in options[:width]]


def search(starts, width, steps, power):
    """A search in NumPy: ids [batch, beam, time] and scores of the last step [batch, beam]."""
    members = [[([], start, 0.0, False, 0)] for start in starts]
    for _ in range(steps):
        if all(beam[3] for beams in members for beam in beams):
            break
        members, scores = zip(*(continued(beams, width, power) for beams in members))
    return np.array([[beam[0] for beam in beams] for beams in members]), np.array(scores)


@pytest.mark.parametrize("power", [0.0, 0.8])
def test_a_beam_search_finds_what_numpy_finds(session, power):
    starts, width, steps = [2, 3, 4], 3, 5
    decoder = seq2seq.BeamSearchDecoder(
        Chain(),
        lambda ids: tf.gather(TABLE, ids),
        starts,
        END,
        tf.zeros([9, WORDS]),
        width,
        length_penalty_weight=power,
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, scores, lengths = session.run(
        [outputs.predicted_ids, outputs.beam_search_decoder_output.scores, state.lengths]
    )
    wanted_ids, wanted_scores = search(starts, width, steps, power)
    assert np.allclose(scores[:, -1], wanted_scores, atol=1e-4)
    times = wanted_ids.shape[2]
    ended = [
        [(list(beam).index(END) + 1 if END in beam else times) for beam in member]
        for member in wanted_ids
    ]
    assert (lengths == ended).all()
    assert (np.transpose(ids, [0, 2, 1]) == wanted_ids).all()


def test_alignments_of_beams_come_in_the_order_of_the_sequences(session):
    values = np.arange(12).reshape(3, 2, 2)
    parents = tf.constant([[[0, 0], [0, 0]], [[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    lengths = tf.constant([[3, 3], [3, 2]], tf.int64)
    made = gather_tree_from_array(tf.constant(values), parents, lengths)
    merged = gather_tree_from_array(tf.constant(values.reshape(3, 4)), parents, lengths)
    wanted = [[[1, 0], [3, 2]], [[4, 5], [7, 6]], [[8, 9], [10, 11]]]
    made, merged = session.run([made, merged])
    # The last place of a sequence that is shorter is the beam's own.
    assert made.tolist() == wanted and merged.reshape(3, 2, 2).tolist() == wanted


def test_sampled_inputs_are_taken_as_often_as_asked(session):
    inputs = np.full((4, 3, WORDS), 100.0, np.float32)
    for probability, is_taken in ((0.0, False), (1.0, True)):
        helper = seq2seq.ScheduledEmbeddingTrainingHelper(
            inputs, [3] * 4, lambda ids: tf.gather(TABLE, ids), probability, seed=3
        )
        decoder = seq2seq.BasicDecoder(Chain(), helper, tf.zeros([4, WORDS]))
        outputs, _, _ = seq2seq.dynamic_decode(decoder)
        made, ids = session.run([outputs.rnn_output, outputs.sample_id])
        assert ((ids == -1) != is_taken).all()
        wanted = TABLE[ids[:, :-1]] if is_taken else inputs[:, 1:]
        assert np.allclose(made[:, 1:], wanted)


def test_outputs_as_inputs(session):
    inputs = RNG.normal(size=(3, 4, WORDS)).astype(np.float32)
    helper = seq2seq.ScheduledOutputTrainingHelper(inputs, [4, 2, 3], 1.0, seed=1)
    decoder = seq2seq.BasicDecoder(Chain(), helper, tf.zeros([3, WORDS]))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
    made, ended = session.run([outputs.rnn_output, lengths])
    # The chain gives its input: what came first comes again, until the sequence is over.
    for row, end in enumerate([4, 2, 3]):
        assert np.allclose(made[row, :end], inputs[row, 0]) and (made[row, end:] == 0).all()
    assert ended.tolist() == [4, 2, 3]


def test_ids_that_are_drawn(session):
    certain = np.full((WORDS, WORDS), -50.0, np.float32)
    certain[np.arange(WORDS), (np.arange(WORDS) + 1) % WORDS] = 50.0
    helper = seq2seq.SampleEmbeddingHelper(certain, [2, 4], END, softmax_temperature=0.5, seed=7)
    decoder = seq2seq.BasicDecoder(Chain(), helper, tf.zeros([2, WORDS]))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, output_time_major=True)
    ids, ended = session.run([outputs.sample_id, lengths])
    assert ids.T[0].tolist() == [3, 4, 5, 0] and ids.T[1][:2].tolist() == [5, 0]
    assert ended.tolist() == [4, 2]


def test_what_decoders_are_made_of_is_checked():
    chain, table = Chain(), tf.constant(TABLE)
    with pytest.raises(TypeError, match="Expected decoder to be type Decoder"):
        seq2seq.dynamic_decode(chain)
    with pytest.raises(TypeError, match="helper must be a Helper"):
        seq2seq.BasicDecoder(chain, None, None)
    with pytest.raises(ValueError, match="start_tokens must be a vector"):
        seq2seq.GreedyEmbeddingHelper(table, 1, 0)
    with pytest.raises(ValueError, match="end_token must be a scalar"):
        seq2seq.BeamSearchDecoder(chain, table, [1], [0], tf.zeros([2, WORDS]), 2)
    with pytest.raises(ValueError, match="beam_width"):
        seq2seq.BeamSearchDecoder(chain, table, [1], 0, tf.zeros([3, WORDS]), 2)
    with pytest.raises(ValueError, match="coverage_penalty_weight must be 0.0"):
        decoder = seq2seq.BeamSearchDecoder(
            chain, table, [1], 0, tf.zeros([2, WORDS]), 2, coverage_penalty_weight=0.5
        )
        decoder.initialize()
    with pytest.raises(ValueError, match="statically known rank"):
        seq2seq.tile_batch(tf.placeholder(tf.float32), 2)
