"""Keras's cells in loops, attention, and windows with filters of their own."""

import numpy as np
import pytest

import millrace as tf

keras, layers, K = tf.keras, tf.keras.layers, tf.keras.backend


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def run(made):
    return K.get_session().run(made)


def test_a_cell_of_a_programs_own_is_looped():
    class Sums(layers.Layer):
        state_size = 3

        def build(self, shape):
            self.scale = self.add_weight("scale", [3], initializer="ones")

        def call(self, inputs, states, constants=None):
            total = states[0] + inputs * self.scale + (0.0 if constants is None else constants[0])
            return total * 2.0, [total]

    x = numbers(2, 5, 3)
    layer = layers.RNN(Sums(), return_sequences=True, return_state=True)
    made, state = run(layer(tf.constant(x)))
    np.testing.assert_allclose(made, 2 * x.cumsum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(state, x.sum(1), rtol=1e-5, atol=1e-5)
    assert [w.op.name for w in layer.weights] == [f"{layer.name}/scale"]
    more = layers.RNN(Sums())(tf.constant(x), constants=[tf.ones([3])])
    np.testing.assert_allclose(run(more), 2 * (x.sum(1) + 5), rtol=1e-5, atol=1e-5)


def test_cells_one_behind_the_other_have_variables_named_after_their_layer():
    layer = layers.RNN([layers.LSTMCell(4), layers.LSTMCell(2)], return_state=True)
    made = layer(tf.zeros([2, 5, 3]))
    output, first, last = made
    flat = [output, *first, *last]
    assert [each.shape.as_list() for each in flat] == [[2, 2], [2, 4], [2, 4], [2, 2], [2, 2]]
    assert [w.op.name.partition("/")[2] for w in layer.weights] == [
        name + end for end in ("", "_1") for name in ("kernel", "recurrent_kernel", "bias")
    ]
    shapes = [each.as_list() for each in layer.compute_output_shape(tf.TensorShape([2, 5, 3]))]
    assert shapes == [each.shape.as_list() for each in flat]
    # Given back, they go on where they ended.
    x = tf.constant(numbers(2, 6, 3))
    whole, half = layer(x), layer(x[:, :3])
    np.testing.assert_allclose(
        *run([whole[0], layer(x[:, 3:], initial_state=half[1:])[0]]), rtol=1e-5, atol=1e-6
    )


def test_constants_of_a_cell_are_kept_with_a_model():
    class Adds(layers.Layer):
        state_size = 3

        def call(self, inputs, states, constants=None):
            made = states[0] + inputs * constants[0]
            return made, [made]

    x, c = keras.Input([4, 3]), keras.Input([3])
    model = keras.Model([x, c], layers.RNN(Adds())(x, constants=[c]))
    again = keras.Model.from_config(model.get_config(), {"Adds": Adds})
    values = [numbers(2, 4, 3), numbers(2, 3, seed=1)]
    np.testing.assert_allclose(again.predict(values), model.predict(values))


def test_each_time_of_a_layer_over_time_has_its_own_mask():
    ids = np.array([[[1, 2, 0], [0, 0, 0]], [[3, 0, 0], [4, 2, 1]]])
    words = keras.Input([2, 3], dtype="int32")
    table, lines = layers.Embedding(5, 2, mask_zero=True), layers.SimpleRNN(3)
    vectors = layers.TimeDistributed(lines)(table(words))
    text = layers.SimpleRNN(2)(vectors)
    model = keras.Model(words, [vectors, text])
    made, last = model.predict(ids)
    line = keras.Input([3], dtype="int32")
    alone = keras.Model(line, lines(table(line))).predict(ids.reshape(4, 3)).reshape(2, 2, 3)
    np.testing.assert_allclose(made, alone, rtol=1e-5, atol=1e-6)
    # A line without words is no time of the text.
    short = ids[:1, :1]
    begin = keras.Input([1, 3], dtype="int32")
    of_one = keras.Model(begin, model.layers[-1](layers.TimeDistributed(lines)(table(begin))))
    np.testing.assert_allclose(last[:1], of_one.predict(short), rtol=1e-5, atol=1e-6)


def test_cells_of_tf_nn_are_looped_too():
    x = tf.constant(numbers(2, 5, 3))
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    layer = layers.RNN(cell, return_sequences=True)
    made = layer(x)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        one, other = session.run([made, outputs])
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert len(layer.trainable_weights) == 2


@pytest.mark.parametrize("unroll", [False, True])
def test_a_function_goes_through_time_with_a_mask(unroll):
    x = numbers(2, 4, 1)
    mask = np.array([[True, False, True, True], [True, True, False, False]])

    def step(now, states):
        total = states[0] + now
        return total, [total]

    last, outputs, (state,) = run(
        K.rnn(step, tf.constant(x), [tf.zeros([2, 1])], mask=tf.constant(mask), unroll=unroll)
    )
    wanted = (x * mask[..., None]).cumsum(1)
    np.testing.assert_allclose(outputs, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, wanted[:, -1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state, wanted[:, -1], rtol=1e-5, atol=1e-6)


def test_what_a_peephole_sees_is_the_memory():
    layer = layers.RNN(keras.experimental.PeepholeLSTMCell(2, recurrent_activation="sigmoid"))
    x = numbers(1, 3, 2)
    made = layer(tf.constant(x))
    weights = [0.5 * numbers(*w.shape, seed=w.size + i) for i, w in enumerate(layer.get_weights())]
    layer.set_weights(weights)
    kernel, recurrent, bias, to_input, to_forget, to_output = weights
    h, c = np.zeros((1, 2)), np.zeros((1, 2))

    def gate(value):
        return 1 / (1 + np.exp(-value))

    for time in range(3):
        i, f, n, o = np.split(x[:, time] @ kernel + h @ recurrent + bias, 4, axis=1)
        before = c
        c = gate(f + to_forget * before) * before + gate(i + to_input * before) * np.tanh(n)
        h = gate(o + to_output * c) * np.tanh(c)
    np.testing.assert_allclose(run(made), h, rtol=1e-4, atol=1e-5)


def test_states_are_kept_between_batches_until_they_are_reset():
    model = keras.Sequential(
        [layers.LSTM(3, stateful=True, batch_input_shape=(2, 4, 1)), layers.Dense(1)]
    )
    assert model.stateful
    x = numbers(2, 8, 1)
    halves = [model.predict(x[:, begin : begin + 4], batch_size=2) for begin in (0, 4)]
    again = model.predict(x[:, 4:], batch_size=2)
    assert not np.allclose(halves[1], again)
    model.reset_states()
    repeated = [model.predict(x[:, begin : begin + 4], batch_size=2) for begin in (0, 4)]
    np.testing.assert_allclose(halves, repeated, rtol=1e-5, atol=1e-6)
    model.layers[0].reset_states([np.zeros((2, 3)), np.zeros((2, 3))])
    with pytest.raises(ValueError, match=r"expected shape \[2, 3\], found \[2, 2\]"):
        model.layers[0].reset_states([np.zeros((2, 2))] * 2)
    with pytest.raises(ValueError, match="expects 2 states, but it received 1"):
        model.layers[0].reset_states([np.zeros((2, 3))])
    model.compile("sgd", "mse")
    model.reset_states()
    model.train_on_batch(x[:, :4], np.zeros((2, 1)))
    assert run(model.layers[0].states[0]).any()
    with pytest.raises(AttributeError, match="must be stateful"):
        layers.GRU(2).reset_states()


def test_windows_have_filters_of_their_own():
    x = numbers(2, 5, 6, 2)
    layer = layers.LocallyConnected2D(3, (2, 3), strides=(1, 2), activation="tanh")
    made = layer(tf.constant(x))
    assert made.shape.as_list() == [2, 4, 2, 3]
    kernel, bias = (numbers(*w.shape, seed=i) for i, w in enumerate(layer.get_weights()))
    layer.set_weights([kernel, bias])
    wanted = np.zeros((2, 4, 2, 3))
    for row in range(4):
        for column in range(2):
            window = x[:, row : row + 2, 2 * column : 2 * column + 3].reshape(2, -1)
            wanted[:, row, column] = window @ kernel[2 * row + column] + bias[row, column]
    np.testing.assert_allclose(run(made), np.tanh(wanted), rtol=1e-3, atol=1e-4)
    first = K.local_conv2d(
        tf.constant(x.transpose(0, 3, 1, 2)),
        tf.constant(kernel.reshape(8, 6, 2, 3).transpose(0, 2, 1, 3).reshape(8, 12, 3)),
        (2, 3),
        (1, 2),
        (4, 2),
        "channels_first",
    )
    np.testing.assert_allclose(
        run(first).transpose(0, 2, 3, 1), wanted - bias, rtol=1e-3, atol=1e-4
    )
    line = layers.LocallyConnected1D(4, 3, use_bias=False)
    made = line(tf.constant(x[:, 0]))
    (kernel,) = line.get_weights()
    wanted = [x[:, 0, at : at + 3].reshape(2, -1) @ kernel[at] for at in range(4)]
    np.testing.assert_allclose(run(made), np.stack(wanted, 1), rtol=1e-4, atol=1e-5)
    with pytest.raises(NotImplementedError, match="padding of 'valid'"):
        layers.LocallyConnected1D(4, 3, padding="same")
    with pytest.raises(ValueError, match="fully-defined"):
        layers.LocallyConnected1D(4, 3)(tf.placeholder("float32", [2, None, 3]))


def test_a_causal_attention_sees_nothing_of_what_is_to_come():
    x = numbers(1, 4, 3)
    made = run(layers.Attention(causal=True)([tf.constant(x), tf.constant(x)]))
    scores = x[0] @ x[0].T
    scores[np.triu_indices(4, 1)] = -np.inf
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(made[0], shares @ x[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="list of inputs, namely"):
        layers.Attention()(tf.constant(x))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: layers.RNN(layers.Dense(3)), "should have `state_size`"),
        (
            lambda: layers.GRU(3, unroll=True)(tf.placeholder("float32", [2, None, 1])),
            "fixed number of timesteps",
        ),
        (
            lambda: layers.RNN(layers.GRUCell(3))(
                tf.zeros([2, 5, 1]), constants=[tf.zeros([2, 3])]
            ),
            "does not support constants",
        ),
        (
            lambda: layers.ConvLSTM2D(3, 2)(tf.placeholder("float32", [2, 5, None, 4, 1])),
            "needs to know height",
        ),
    ],
)
def test_what_does_not_fit_is_said(make, words):
    with pytest.raises(ValueError, match=words):
        make()
