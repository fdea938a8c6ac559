"""Keras's recurrent layers: loops over time, in one direction or both."""

import numpy as np
import pytest

import millrace as tf

keras = tf.keras
layers = tf.keras.layers


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def run(made):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(made)


def test_a_simple_one_goes_through_time_by_its_formula():
    x = numbers(2, 5, 3)
    layer = layers.SimpleRNN(4, return_sequences=True)
    made, *weights = run([layer(tf.constant(x)), *layer.weights])
    kernel, recurrent, bias = weights
    state = np.zeros((2, 4))
    for time in range(5):
        state = np.tanh(x[:, time] @ kernel + bias + state @ recurrent)
        np.testing.assert_allclose(made[:, time], state, rtol=1e-4, atol=1e-5)


def test_a_long_memory_begins_with_open_gates_and_gives_its_states():
    x = numbers(2, 3, 3)
    layer = layers.LSTM(2, recurrent_activation="sigmoid", return_state=True)
    (made, last, memory), *weights = run([layer(tf.constant(x)), *layer.weights])
    kernel, recurrent, bias = weights
    assert bias.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    h, c = np.zeros((2, 2)), np.zeros((2, 2))
    for time in range(3):
        i, f, n, o = np.split(x[:, time] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
        h = sigmoid(o) * np.tanh(c)
    np.testing.assert_allclose(made, h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last, h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(memory, c, rtol=1e-4, atol=1e-5)


def test_two_calls_with_the_state_between_them_are_as_one():
    x = tf.constant(numbers(2, 6, 3))
    for kind in (layers.SimpleRNN, layers.GRU, layers.LSTM):
        layer = kind(4, return_state=True)
        whole = layer(x)
        _, *state = layer(x[:, :2])
        rest = layer(x[:, 2:], initial_state=state)
        for one, other in zip(*run([whole, rest])):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_backwards_is_forwards_through_what_is_turned_round():
    x = numbers(2, 6, 3)
    layer = layers.GRU(4, go_backwards=True, return_sequences=True)
    back = layer(tf.constant(x))
    layer.go_backwards = False
    forth = layer(tf.constant(x[:, ::-1].copy()))
    one, other = run([back, forth])
    np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(
    "mode, size", [("concat", 8), ("sum", 4), ("ave", 4), ("mul", 4), (None, 4)]
)
def test_both_ways_are_merged(mode, size):
    layer = layers.Bidirectional(layers.LSTM(4, return_sequences=True), merge_mode=mode)
    made = run(layer(tf.constant(numbers(2, 5, 3))))
    assert np.shape(made if mode else made[0]) == (2, 5, size)
    assert len(layer.trainable_weights) == 6
    assert layer.forward_layer.name == f"forward_{layer.layer.name}"
    assert layer.backward_layer.name == f"backward_{layer.layer.name}"


def test_a_model_with_a_state_from_its_inputs_is_made_and_called_again():
    x, state = keras.Input([None, 3]), keras.Input([4])
    layer = layers.SimpleRNN(4)
    model = keras.Model([x, state], layer(x, initial_state=[state]))
    assert layer.output_shape == (None, 4)
    values = [numbers(2, 5, 3), numbers(2, 4)]
    assert model.predict(values).shape == (2, 4)
    again = model([tf.constant(value) for value in values])
    np.testing.assert_allclose(
        keras.backend.get_session().run(again), model.predict(values), rtol=1e-6
    )


def test_what_is_dropped_is_the_same_at_all_times_and_only_in_training():
    x = np.ones((1, 40, 50), np.float32)
    layer = layers.SimpleRNN(
        50,
        activation="linear",
        kernel_initializer="identity",
        recurrent_initializer="zeros",
        dropout=0.5,
        return_sequences=True,
    )
    trained, used = run(
        [layer(tf.constant(x), training=True), layer(tf.constant(x), training=False)]
    )
    assert (used == 1).all()
    assert set(np.unique(trained)) == {0, 2}
    assert (trained == trained[:, :1]).all()


def test_a_layer_at_each_time_is_one_over_all_of_them():
    x = numbers(2, 5, 3)
    layer = layers.TimeDistributed(layers.Dense(4))
    made, kernel = run([layer(tf.constant(x)), layer.trainable_weights[0]])
    np.testing.assert_allclose(made, x @ kernel, rtol=1e-4, atol=1e-5)


def test_variables_of_layers_around_layers_have_the_names_that_tensorflow_gives_them():
    x = keras.Input([5, 4])
    both, timed = layers.Bidirectional(layers.SimpleRNN(2)), layers.TimeDistributed(layers.Dense(2))
    both(x), timed(x)
    assert [variable.op.name for variable in both.weights + timed.weights] == [
        f"{both.name}/{way}_{both.layer.name}/{name}"
        for way in ("forward", "backward")
        for name in ("kernel", "recurrent_kernel", "bias")
    ] + [f"{timed.name}/kernel", f"{timed.name}/bias"]


def test_a_program_has_wrappers_of_its_own():
    class Scaled(layers.Wrapper):
        def build(self, input_shape):
            self.scale = self.add_weight("scale", [], initializer="ones")

        def call(self, inputs):
            return self.layer(inputs) * self.scale

    layer = Scaled(layers.Dense(3))
    assert layer(tf.zeros([2, 3])).shape.as_list() == [2, 3]
    assert layer.trainable_weights == [layer.scale, *layer.layer.weights]
    layer.trainable = False
    assert layer.non_trainable_weights == [layer.scale, *layer.layer.weights]
    assert not layer.trainable_weights


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda: layers.LSTM(3, stateful=True)(tf.placeholder("float32", [None, 5, 1])),
            "needs to know its batch size",
        ),
        (lambda: layers.LSTM(3, dropout=1.5), r"dropout must be in the range \[0, 1\)"),
        (lambda: layers.Bidirectional(layers.Dense(3)), "with a recurrent layer"),
        (lambda: layers.Bidirectional(layers.GRU(3), merge_mode="mean"), "Invalid merge mode"),
        (lambda: layers.GRU(3)(tf.zeros([2, 5])), "ndim"),
        (lambda: layers.GRU(3)(tf.placeholder("float32", [2, 5, None])), "should be defined"),
        (
            lambda: layers.LSTM(3)(tf.zeros([2, 5, 1]), initial_state=[tf.zeros([2, 3])]),
            "has 2 states and was given 1",
        ),
        (
            lambda: layers.Bidirectional(layers.GRU(3))(
                tf.zeros([2, 5, 1]), initial_state=[tf.zeros([2, 3])]
            ),
            "was given 1 states; it takes as many",
        ),
        (lambda: layers.TimeDistributed(layers.Dense(3))(tf.zeros([2, 5])), "batch, time"),
    ],
)
def test_what_does_not_fit_is_said(make, words):
    with pytest.raises((ValueError, NotImplementedError), match=words):
        make()


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (2, 3, 4)])
def test_orthogonal_values_are(shape):
    made = run(tf.orthogonal_initializer(gain=2.0, seed=1)(shape)).reshape(-1, shape[-1])
    rows, columns = made.shape
    product = made @ made.T if rows < columns else made.T @ made
    np.testing.assert_allclose(product, 4 * np.eye(min(rows, columns)), atol=1e-5)
