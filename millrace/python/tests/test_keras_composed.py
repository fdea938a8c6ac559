"""Keras's layers inside layers and models: which variables train, and what they are told."""

import numpy as np
import pytest

import millrace as tf

keras, layers = tf.keras, tf.keras.layers


class Block(layers.Layer):
    """Layers as attributes, in a list and in a dictionary."""

    def __init__(self, units):
        super().__init__()
        self._first = layers.Dense(units)
        self.others = []
        self.named = {"norm": layers.BatchNormalization()}
        self.others.append(layers.Dense(units, kernel_regularizer="l2"))

    def call(self, x):
        return self.others[0](self.named["norm"](self._first(x)))


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self._block, self.last = Block(3), layers.Dense(1)

    def call(self, x):
        return self.last(self._block(x))


def test_layers_inside_layers_train_with_them():
    block = Block(3)
    model = keras.Sequential([layers.Dense(2, input_shape=(2,)), block, layers.Dense(1)])
    model.compile("sgd", "mse")
    assert [w.name for w in block.trainable_weights] == [
        f"block/{name}:0"
        for name in (
            "dense/kernel",
            "dense/bias",
            "dense_1/kernel",
            "dense_1/bias",
            "batch_normalization/gamma",
            "batch_normalization/beta",
        )
    ]
    assert len(block.losses) == 1 and len(model.updates) == 2 and len(model.weights) == 12
    before = block.get_weights()
    model.train_on_batch(np.eye(2), np.ones(2))
    assert all((a != b).any() for a, b in zip(before, block.get_weights()) if a.any())


def test_layers_of_a_model_are_its_attributes_whatever_their_names():
    model = Net()
    model(tf.zeros([1, 2]))
    assert [type(each).__name__ for each in model.layers] == ["Block", "Dense"]
    assert len(model.trainable_weights) == 8 and len(model.get_weights()) == 10


def test_a_frozen_model_freezes_what_is_inside():
    base = keras.Sequential([Block(3), layers.Dense(3)])
    base(tf.zeros([1, 2]))
    base = keras.Sequential([layers.Dense(2, input_shape=(2,)), *base.layers])
    base.trainable = False
    head = layers.Dense(1)
    model = keras.Model(base.input, head(base.output))
    assert [w.name for w in model.trainable_weights] == [w.name for w in head.weights]
    base.trainable = True
    base.layers[0].trainable = False
    assert len(model.trainable_weights) == 10


def adversaries():
    """(a generator and the one that judges it as one model, the one that judges)."""
    judge = keras.Sequential(
        [
            layers.Dense(3, input_shape=(2,), activity_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dense(1),
        ]
    )
    judge.compile("sgd", "mse")
    judge.trainable = False
    noise = keras.Input([4])
    both = keras.Model(noise, judge(layers.Dense(2)(noise)))
    both.compile("sgd", "mse")
    return both, judge


def test_what_trains_is_what_did_when_it_was_compiled():
    both, judge = adversaries()
    before = judge.get_weights()
    both.train_on_batch(np.ones((2, 4)), np.ones(2))
    for old, new in zip(before, judge.get_weights()):
        np.testing.assert_array_equal(old, new)
    judge.train_on_batch(np.ones((2, 2)), np.ones(2))
    assert (judge.get_weights()[0] != before[0]).any()
    assert len(both.trainable_weights) == 2


def test_losses_and_updates_of_calls_elsewhere_are_not_a_models():
    both, judge = adversaries()
    judge.trainable = True
    both.compile("sgd", "mse")
    x, noise = np.ones((2, 2)), np.ones((2, 4))
    # Neither asks for the input of the other.
    judge.train_on_batch(x, np.ones(2))
    both.train_on_batch(noise, np.ones(2))
    again = keras.models.clone_model(judge)
    again.compile("sgd", "mse")
    again.set_weights(judge.get_weights())
    np.testing.assert_allclose(
        judge.test_on_batch(x, np.ones(2)), again.test_on_batch(x, np.ones(2)), rtol=1e-5
    )


@pytest.mark.parametrize("is_row", [True, False])
def test_a_model_is_told_whether_it_trains(is_row):
    x, dropout = keras.Input([50]), layers.Dropout(0.5)
    model = (
        keras.Sequential([layers.Dropout(0.5, input_shape=(50,))])
        if is_row
        else keras.Model(x, dropout(x))
    )
    ones = tf.ones([4, 50])
    session, phase = keras.backend.get_session(), keras.backend.learning_phase()
    for asked, fed, drops in ((True, False, True), (False, True, False), (None, True, True)):
        made = session.run(model(ones, training=asked), {phase: fed})
        assert (made == 0).any() == drops
    outer = keras.Model(x, model(x, training=False))
    again = keras.Model.from_config(outer.get_config())
    assert (session.run(again(ones), {phase: True}) == 1).all()


def test_classes_that_derive_from_layers_with_settings_have_their_config():
    class Wide(layers.Dense):
        def __init__(self, units, **kwargs):
            super().__init__(units, **kwargs)

    layer = Wide.from_config(Wide(3, activation="relu").get_config())
    assert layer.units == 3 and layer.get_config()["activation"] == "relu"

    class Own(keras.Model):
        def __init__(self):
            x = keras.Input([2])
            super().__init__(x, layers.Dense(1)(x))

    model = Own()
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    np.testing.assert_allclose(clone.predict(np.eye(2)), model.predict(np.eye(2)))
