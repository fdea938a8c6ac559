"""Cells of recurrent nets and what unrolls them, beside the formulas in NumPy."""

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(11)
rnn_cell = tf.nn.rnn_cell


def waves(shape, dtype=None, partition_info=None):
    """An initializer: the same numbers for the same shape."""
    values = np.sin(np.arange(np.prod(shape), dtype=np.float64) + 1.0) * 0.5
    return tf.constant(values.reshape(shape), dtype or tf.float32)


def of(shape):
    return np.sin(np.arange(np.prod(shape), dtype=np.float64) + 1.0).reshape(shape) * 0.5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_step(session, cell, x, state, scope="net"):
    with tf.variable_scope(scope, initializer=waves):
        made = cell(tf.constant(x), state)
    session.run(tf.global_variables_initializer())
    return session.run(made)


X = RNG.normal(size=(2, 3))
H = RNG.normal(size=(2, 4))
C = RNG.normal(size=(2, 4))


def names():
    return {variable.op.name: variable.shape.as_list() for variable in tf.global_variables()}


def test_a_basic_cell(session):
    output, state = one_step(session, rnn_cell.BasicRNNCell(4), X, tf.constant(H))
    wanted = np.tanh(np.concatenate([X, H], 1) @ of((7, 4)))
    assert np.allclose(output, wanted) and np.allclose(state, wanted)
    assert names() == {"net/basic_rnn_cell/kernel": [7, 4], "net/basic_rnn_cell/bias": [4]}


def test_gated_units(session):
    output, _ = one_step(session, rnn_cell.GRUCell(4), X, tf.constant(H))
    reset, update = np.split(sigmoid(np.concatenate([X, H], 1) @ of((7, 8)) + 1.0), 2, 1)
    candidate = np.tanh(np.concatenate([X, reset * H], 1) @ of((7, 4)))
    assert np.allclose(output, update * H + (1 - update) * candidate)
    assert names() == {
        "net/gru_cell/gates/kernel": [7, 8],
        "net/gru_cell/gates/bias": [8],
        "net/gru_cell/candidate/kernel": [7, 4],
        "net/gru_cell/candidate/bias": [4],
    }


def lstm(x, c, h, forget_bias=1.0):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ of((x.shape[1] + h.shape[1], 16)), 4, 1)
    c = c * sigmoid(f + forget_bias) + sigmoid(i) * np.tanh(j)
    return c, np.tanh(c) * sigmoid(o)


@pytest.mark.parametrize("kind", [rnn_cell.BasicLSTMCell, rnn_cell.LSTMCell])
def test_long_short_term_memory(session, kind):
    state = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H))
    output, new = one_step(session, kind(4, forget_bias=0.5), X, state)
    c, h = lstm(X, C, H, 0.5)
    assert np.allclose(output, h) and np.allclose(new.c, c) and np.allclose(new.h, h)
    name = "basic_lstm_cell" if kind is rnn_cell.BasicLSTMCell else "lstm_cell"
    assert names() == {f"net/{name}/kernel": [7, 16], f"net/{name}/bias": [16]}


@pytest.mark.parametrize("kind", [rnn_cell.BasicLSTMCell, rnn_cell.LSTMCell])
def test_a_state_that_is_one_tensor(session, kind):
    cell = kind(4, state_is_tuple=False)
    assert cell.state_size == 8
    output, new = one_step(session, cell, X, tf.constant(np.concatenate([C, H], 1)))
    assert np.allclose(new, np.concatenate(lstm(X, C, H), 1)) and np.allclose(output, new[:, 4:])


def test_peepholes_projection_and_clipping(session):
    cell = rnn_cell.LSTMCell(4, True, cell_clip=0.4, num_proj=3, proj_clip=0.2)
    assert cell.state_size == (4, 3) and cell.output_size == 3
    state = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H[:, :3]))
    output, new = one_step(session, cell, X, state)
    i, j, f, o = np.split(np.concatenate([X, H[:, :3]], 1) @ of((6, 16)), 4, 1)
    peep = of((4,))
    c = sigmoid(f + 1 + peep * C) * C + sigmoid(i + peep * C) * np.tanh(j)
    c = np.clip(c, -0.4, 0.4)
    m = np.clip((sigmoid(o + peep * c) * np.tanh(c)) @ of((4, 3)), -0.2, 0.2)
    assert np.allclose(new.c, c) and np.allclose(output, m) and np.allclose(new.h, m)
    assert set(names()) == {
        f"net/lstm_cell/{each}"
        for each in "kernel bias w_f_diag w_i_diag w_o_diag projection/kernel".split()
    }


def test_cells_on_top_of_each_other(session):
    cell = rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(4), rnn_cell.GRUCell(5)])
    assert cell.state_size == ((4, 4), 5) and cell.output_size == 5
    state = cell.zero_state(2, tf.float64)
    output, new = one_step(session, cell, X, state)
    assert np.allclose(new[0].h, lstm(X, C * 0, H * 0)[1]) and np.allclose(new[1], output)
    assert sorted(names())[0] == "net/multi_rnn_cell/cell_0/basic_lstm_cell/bias"
    assert sorted(names())[-1] == "net/multi_rnn_cell/cell_1/gru_cell/gates/kernel"
    assert cell.trainable_variables == tf.trainable_variables()
    joined = rnn_cell.MultiRNNCell([rnn_cell.GRUCell(4), rnn_cell.GRUCell(5)], state_is_tuple=False)
    with tf.variable_scope("joined"):
        _, new = joined(tf.constant(X), joined.zero_state(2, tf.float64))
    assert joined.state_size == 9 and new.shape.as_list() == [2, 9]
    with pytest.raises(ValueError, match="Must specify at least one cell"):
        rnn_cell.MultiRNNCell([])
    with pytest.raises(ValueError, match="tuples of states"):
        rnn_cell.MultiRNNCell([rnn_cell.LSTMCell(4)], state_is_tuple=False)


def test_wrappers(session):
    inner = rnn_cell.BasicRNNCell(3)
    cell = rnn_cell.ResidualWrapper(
        rnn_cell.DropoutWrapper(rnn_cell.DeviceWrapper(inner, "/cpu:0"))
    )
    state = RNG.normal(size=(2, 3))
    output, new = one_step(session, cell, X, tf.constant(state))
    wanted = np.tanh(np.concatenate([X, state], 1) @ of((6, 3)))
    assert np.allclose(output, wanted + X) and np.allclose(new, wanted)
    assert set(names()) == {"net/basic_rnn_cell/kernel", "net/basic_rnn_cell/bias"}


def test_dropout_in_cells_drops_what_it_should(session):
    x, state = np.ones((50, 8)), tf.ones([50, 8], tf.float64)
    plain = rnn_cell.GRUCell(8, name="shared")
    dropped = rnn_cell.DropoutWrapper(plain, output_keep_prob=0.5, seed=3)
    output, new = one_step(session, dropped, x, state)
    zeros = output == 0
    assert 0.3 < zeros.mean() < 0.7 and np.allclose(output[~zeros], 2 * new[~zeros])
    lstm_state = rnn_cell.LSTMStateTuple(state, state)
    of_state = rnn_cell.DropoutWrapper(rnn_cell.LSTMCell(8), state_keep_prob=0.5)
    output, new = one_step(session, of_state, x, lstm_state, "other")
    assert (new.h == 0).any() and not (new.c == 0).any() and not (output == 0).any()
    same = rnn_cell.DropoutWrapper(
        rnn_cell.BasicRNNCell(8), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float64
    )
    outputs, _ = tf.nn.static_rnn(same, [tf.constant(x)] * 3, dtype=tf.float64)
    session.run(tf.global_variables_initializer())
    first, *others = [made == 0 for made in session.run(outputs)]
    assert first.any() and all(np.array_equal(first, other) for other in others)
    with pytest.raises(ValueError, match="between 0 and 1"):
        rnn_cell.DropoutWrapper(plain, input_keep_prob=1.5)


SEQUENCE = RNG.normal(size=(3, 5, 2))
LENGTHS = [2, 5, 0]


def by_hand(lengths):
    c = h = np.zeros((3, 4))
    outputs = np.zeros((3, 5, 4))
    for t in range(5):
        new_c, new_h = lstm(SEQUENCE[:, t], c, h)
        runs = (t < np.asarray(lengths))[:, None]
        outputs[:, t] = np.where(runs, new_h, 0)
        c, h = np.where(runs, new_c, c), np.where(runs, new_h, h)
    return outputs, c, h


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("time_major", [False, True])
def test_a_loop_over_time(session, lengths, time_major):
    x = tf.placeholder(tf.float64, [None, None, 2])
    fed = np.swapaxes(SEQUENCE, 0, 1) if time_major else SEQUENCE
    with tf.variable_scope("net", initializer=waves):
        outputs, state = tf.nn.dynamic_rnn(
            rnn_cell.LSTMCell(4), x, lengths, dtype=tf.float64, time_major=time_major
        )
    assert outputs.shape.as_list() == [None, None, 4]
    session.run(tf.global_variables_initializer())
    made, last = session.run([outputs, state], {x: fed})
    wanted, c, h = by_hand(lengths or [5, 5, 5])
    assert np.allclose(np.swapaxes(made, 0, 1) if time_major else made, wanted)
    assert np.allclose(last.c, c) and np.allclose(last.h, h)
    assert set(names()) == {"net/rnn/lstm_cell/kernel", "net/rnn/lstm_cell/bias"}


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_loops_and_copies_agree_in_values_and_gradients(session, lengths):
    x = tf.constant(SEQUENCE)
    with tf.variable_scope("net", initializer=waves):
        looped, state = tf.nn.dynamic_rnn(rnn_cell.GRUCell(4), x, lengths, dtype=tf.float64)
    with tf.variable_scope("net", reuse=True):
        copies, last = tf.nn.static_rnn(
            rnn_cell.GRUCell(4), tf.unstack(x, axis=1), dtype=tf.float64, sequence_length=lengths
        )
    copied = tf.stack(copies, 1)
    session.run(tf.global_variables_initializer())
    found = []
    for outputs, end in ((looped, state), (copied, last)):
        loss = tf.reduce_sum(outputs * outputs) + tf.reduce_sum(end * 3.0)
        gradients = tf.gradients(loss, [x, *tf.trainable_variables()])
        found.append(session.run([outputs, end, *gradients]))
    for one, other in zip(*found):
        assert np.allclose(one, other)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_both_directions(session, lengths):
    x = tf.constant(SEQUENCE)
    with tf.variable_scope("net", initializer=waves):
        (fw, bw), (_, last) = tf.nn.bidirectional_dynamic_rnn(
            rnn_cell.LSTMCell(4), rnn_cell.LSTMCell(4), x, lengths, dtype=tf.float64
        )
    with tf.variable_scope("net", reuse=True):
        both, _, static_last = tf.nn.static_bidirectional_rnn(
            rnn_cell.LSTMCell(4),
            rnn_cell.LSTMCell(4),
            tf.unstack(x, axis=1),
            dtype=tf.float64,
            sequence_length=lengths,
        )
    session.run(tf.global_variables_initializer())
    forward, backward, end, joined, static_end = session.run([fw, bw, last, both, static_last])
    assert np.allclose(forward, by_hand(lengths or [5, 5, 5])[0])
    assert np.allclose(np.stack(joined, 1), np.concatenate([forward, backward], 2))
    c = h = np.zeros((3, 4))
    for t in reversed(range(5)):
        new_c, new_h = lstm(SEQUENCE[:, t], c, h)
        runs = (t < np.asarray(lengths or [5, 5, 5]))[:, None]
        c, h = np.where(runs, new_c, c), np.where(runs, new_h, h)
        assert np.allclose(backward[:, t], np.where(runs, new_h, 0))
    assert np.allclose(end.c, c) and np.allclose(static_end.h, h)
    assert "net/bidirectional_rnn/fw/lstm_cell/kernel" in names()
    assert "net/bidirectional_rnn/bw/lstm_cell/bias" in names()


def test_a_loop_whose_inputs_a_function_chooses(session):
    cell = rnn_cell.LSTMCell(4)
    x = tf.TensorArray(tf.float64, 5).unstack(tf.constant(np.swapaxes(SEQUENCE, 0, 1)))
    lengths = tf.constant(LENGTHS)

    def choose(time, output, state, loop_state):
        finished = time >= lengths
        given = tf.cond(
            tf.reduce_all(finished),
            lambda: tf.zeros([3, 2], tf.float64),
            lambda: x.read(time),
        )
        given.set_shape([3, 2])
        state = cell.zero_state(3, tf.float64) if output is None else state
        return finished, given, state, output, None

    with tf.variable_scope("net", initializer=waves):
        arrays, state, loop_state = tf.nn.raw_rnn(cell, choose)
    session.run(tf.global_variables_initializer())
    outputs, last = session.run([arrays.stack(), state])
    wanted, c, _ = by_hand(LENGTHS)
    assert np.allclose(np.swapaxes(outputs, 0, 1), wanted) and np.allclose(last.c, c)
    assert loop_state is None


def test_what_does_not_fit_is_refused():
    cell, x = rnn_cell.LSTMCell(4), tf.placeholder(tf.float32, [3, None, 2])
    with pytest.raises(ValueError, match="you must give a dtype"):
        tf.nn.dynamic_rnn(cell, x)
    with pytest.raises(TypeError, match="is not an RNNCell"):
        tf.nn.dynamic_rnn("lstm", x, dtype=tf.float32)
    with pytest.raises(ValueError, match="must be accessible via shape inference"):
        tf.nn.dynamic_rnn(cell, tf.placeholder(tf.float32, [3, 5, None]), dtype=tf.float32)
    with pytest.raises(ValueError, match="must be a vector"):
        tf.nn.dynamic_rnn(cell, x, [[1]], dtype=tf.float32)
    with pytest.raises(TypeError, match="inputs must be a sequence"):
        tf.nn.static_rnn(cell, x, dtype=tf.float32)
    with pytest.raises(ValueError, match="inputs must not be empty"):
        tf.nn.static_rnn(cell, [], dtype=tf.float32)


def test_losses_of_sequences(session):
    logits = RNG.normal(size=(2, 3, 4))
    targets, weights = np.array([[0, 1, 2], [3, 3, 0]]), np.array(
        [[1.0, 0.5, 0.0], [1.0, 2.0, 1.0]]
    )
    each = np.log(np.exp(logits).sum(2)) - np.take_along_axis(logits, targets[..., None], 2)[..., 0]
    each = each * weights
    loss = tf.contrib.seq2seq.sequence_loss

    def value(*flags):
        return session.run(loss(logits, targets, weights, *flags))

    assert np.allclose(value(), each.sum() / weights.sum())
    assert np.allclose(value(True, False), each.sum(1) / weights.sum(1))
    assert np.allclose(value(False, True), each.sum(0) / weights.sum(0))
    assert np.allclose(value(False, False), each)
    assert np.allclose(value(False, False, True, True), each.sum() / 5)
    assert np.allclose(value(False, False, True, False), each.sum(1) / [2, 3])
    with pytest.raises(ValueError, match="cannot be set to True at same time"):
        loss(logits, targets, weights, sum_over_batch=True)
    with pytest.raises(ValueError, match="Logits must be a"):
        loss(logits[0], targets, weights)
    legacy = tf.contrib.legacy_seq2seq
    lists = [list(np.swapaxes(part, 0, 1)) for part in (logits, targets, weights)]
    by_example = session.run(legacy.sequence_loss_by_example(*lists))
    assert np.allclose(by_example, each.sum(1) / weights.sum(1))
    assert np.allclose(session.run(legacy.sequence_loss(*lists)), by_example.sum() / 2)


@pytest.mark.parametrize("feeds", [False, True, "in a step"])
def test_sequences_from_sequences(session, feeds):
    feeds = tf.placeholder_with_default(True, []) if feeds == "in a step" else feeds
    numbers = [tf.constant([1, 2]), tf.constant([0, 3])]
    outputs, state = tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq(
        numbers, [*numbers, tf.constant([2, 2])], rnn_cell.GRUCell(4), 5, 6, 3, feed_previous=feeds
    )
    assert [output.shape.as_list() for output in outputs] == [[2, 6]] * 3
    gradients = tf.gradients(tf.add_n(outputs), tf.trainable_variables())
    assert None not in gradients and len(gradients) == 12
    session.run(tf.global_variables_initializer())
    session.run([state, *map(tf.convert_to_tensor, gradients)])
    base = "embedding_rnn_seq2seq"
    assert f"{base}/rnn/embedding_wrapper/embedding" in names()
    assert f"{base}/embedding_rnn_decoder/embedding" in names()
    assert (
        f"{base}/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/gru_cell/gates/bias"
        in names()
    )


def test_a_model_of_characters_learns(session):
    """In the manner of the char-rnn programs of the time."""
    text = np.array([(i * i) % 7 for i in range(64)])
    batch, length, size = 4, 8, 16
    cell = tf.contrib.rnn.MultiRNNCell([tf.contrib.rnn.LSTMCell(size) for _ in range(2)])
    data = tf.placeholder(tf.int32, [batch, length])
    targets = tf.placeholder(tf.int32, [batch, length])
    state = cell.zero_state(batch, tf.float32)
    with tf.variable_scope("rnnlm"):
        w, b = tf.get_variable("w", [size, 7]), tf.get_variable("b", [7])
        embedding = tf.get_variable("embedding", [7, size])
    inputs = tf.split(tf.nn.embedding_lookup(embedding, data), length, 1)
    inputs = [tf.squeeze(each, [1]) for each in inputs]
    seq2seq = tf.contrib.legacy_seq2seq
    outputs, last = seq2seq.rnn_decoder(inputs, state, cell, scope="rnnlm")
    logits = tf.matmul(tf.reshape(tf.concat(outputs, 1), [-1, size]), w) + b
    loss = seq2seq.sequence_loss_by_example(
        [logits], [tf.reshape(targets, [-1])], [tf.ones([batch * length])]
    )
    cost = tf.reduce_sum(loss) / batch / length
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(cost, variables), 5.0)
    train = tf.train.AdamOptimizer(0.02).apply_gradients(zip(gradients, variables))
    assert "rnnlm/multi_rnn_cell/cell_1/lstm_cell/kernel" in names()
    session.run(tf.global_variables_initializer())
    feed = {data: text[:32].reshape(4, 8), targets: text[1:33].reshape(4, 8)}
    held = session.run(state)
    for i, (c, h) in enumerate(state):
        feed[c], feed[h] = held[i].c, held[i].h
    first, *_ = session.run([cost, last, train], feed)
    for _ in range(40):
        session.run(train, feed)
    assert session.run(cost, feed) < 0.3 * first


def test_normalized_memory(session):
    state = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H))
    cell = tf.contrib.rnn.LayerNormBasicLSTMCell(4)
    output, new = one_step(session, cell, X, state)

    def normalized(x):
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)

    i, j, f, o = map(normalized, np.split(np.concatenate([X, H], 1) @ of((7, 16)), 4, 1))
    c = normalized(C * sigmoid(f + 1) + sigmoid(i) * np.tanh(j))
    assert np.allclose(new.c, c) and np.allclose(output, np.tanh(c) * sigmoid(o))
    assert names()["net/layer_norm_basic_lstm_cell/transform/gamma"] == [4]
    assert len(names()) == 11
    plain = tf.contrib.rnn.LayerNormBasicLSTMCell(4, layer_norm=False)
    one_step(session, plain, X, state, "plain")
    assert "plain/layer_norm_basic_lstm_cell/bias" in names()


def test_the_cell_that_was_found_by_search(session):
    state = rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H[:, :3]))
    cell = tf.contrib.rnn.NASCell(4, num_proj=3, use_bias=True)
    output, new = one_step(session, cell, X, state)
    a, b = np.split(X @ of((3, 32)), 8, 1), np.split(H[:, :3] @ of((3, 32)), 8, 1)
    relu = lambda x: np.maximum(x, 0)
    left = np.tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1]))
    right = np.tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
    shown = np.tanh(np.tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    shown = np.tanh(shown + sigmoid(np.tanh(a[6] + b[6]) + sigmoid(a[7] + b[7])))
    c = np.tanh(left + C) * right
    assert np.allclose(new.c, c) and np.allclose(output, np.tanh(c * shown) @ of((4, 3)))
    assert set(names()) == {
        f"net/nas_cell/{each}"
        for each in ("kernel", "recurrent_kernel", "bias", "projection_weights")
    }


def test_layers_of_both_directions(session):
    x = tf.constant(SEQUENCE)
    kinds = lambda: [rnn_cell.GRUCell(3), tf.contrib.rnn.LSTMBlockCell(4)]
    with tf.variable_scope("net", initializer=waves):
        outputs, fw, bw = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
            kinds(), kinds(), x, dtype=tf.float64, sequence_length=LENGTHS
        )
        copies, _, _ = tf.contrib.rnn.stack_bidirectional_rnn(
            kinds(), kinds(), tf.unstack(x, axis=1), dtype=tf.float64, sequence_length=LENGTHS
        )
    session.run(tf.global_variables_initializer())
    looped, copied = session.run([outputs, tf.stack(copies, 1)])
    assert looped.shape == (3, 5, 8) and np.allclose(looped, copied)
    assert fw[0].shape.as_list() == [3, 3] and bw[1].c.shape.as_list() == [3, 4]
    base = "net/stack_bidirectional_rnn/cell_1/bidirectional_rnn"
    assert f"{base}/bw/lstm_cell/kernel" in names()
    assert "net/stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/gru_cell/gates/bias" in names()
    with pytest.raises(ValueError, match="must have the same depth"):
        tf.contrib.rnn.stack_bidirectional_dynamic_rnn(kinds(), kinds()[:1], x)


def test_the_state_of_a_cell_is_fed_as_it_was_fetched(session):
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    start = cell.zero_state(2, tf.float32)
    x = tf.placeholder(tf.float32, [2, 4])
    _, end = cell(x, start)
    session.run(tf.global_variables_initializer())
    values = np.ones([2, 4], np.float32)
    first = session.run(end, {x: values})
    second = session.run(end, {x: values, start: first})
    third = session.run(end, {x: values, start: second})
    assert not np.allclose(first.c, second.c) and not np.allclose(second.c, third.c)
    by_parts = session.run(end, {x: values, start.c: second.c, start.h: second.h})
    assert np.array_equal(by_parts.c, third.c)
    one = session.run(x, {(x,): [values]})
    assert np.array_equal(session.run(x, {(x,): [one + 1]}), values + 1)
    with pytest.raises(ValueError, match="2 Tensors are fed 1 values"):
        session.run(end, {x: values, start: first.c})
