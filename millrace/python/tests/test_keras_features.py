"""Feature columns as layers of Keras's, and the models that are ready."""

import numpy as np
import pytest

import millrace as tf

keras, layers, experimental = tf.keras, tf.keras.layers, tf.keras.experimental
columns = tf.feature_column


def features():
    return {
        "age": tf.constant([[3.0], [5.0]]),
        "town": tf.constant([["a"], ["b"]]),
    }


def test_columns_are_the_first_layer_and_share_their_variables():
    town = columns.categorical_column_with_vocabulary_list("town", ["a", "b"])
    layer = layers.DenseFeatures([columns.numeric_column("age"), columns.embedding_column(town, 2)])
    first, second = layer(features()), layer(features())
    assert first.shape.as_list() == [2, 3]
    assert [w.op.name for w in layer.trainable_weights] == [
        f"{layer.name}/town_embedding/embedding_weights"
    ]
    run = keras.backend.get_session().run
    keras.backend.get_session().run(tf.tables_initializer())
    one, other, table = run([first, second, layer.weights[0]])
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[:, 0], [3, 5])
    np.testing.assert_allclose(one[:, 1:], table)
    with pytest.raises(ValueError, match="must be a DenseColumn"):
        layers.DenseFeatures([town])
    with pytest.raises(ValueError, match="expected a dictionary"):
        layer(tf.zeros([2, 2]))
    with pytest.raises(NotImplementedError, match="cannot be written down"):
        layer.get_config()


def test_columns_of_sequences_give_their_lengths():
    words = columns.sequence_categorical_column_with_identity("words", 5)
    layer = experimental.SequenceFeatures([columns.embedding_column(words, 2)])
    given = {"words": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 4, 1], [2, 2])}
    made, lengths = layer(given)
    found, counts, table = keras.backend.get_session().run([made, lengths, layer.weights[0]])
    assert counts.tolist() == [2, 1] and found.shape == (2, 2, 2)
    np.testing.assert_allclose(found[0], table[[3, 4]])
    assert not found[1, 1].any()


def test_a_linear_model_learns_a_sum():
    x = [np.random.RandomState(i).normal(size=(64, 2)).astype(np.float32) for i in range(2)]
    y = x[0] @ [1.0, 2.0] - x[1] @ [3.0, 0.0] + 0.5
    model = experimental.LinearModel()
    model.compile(keras.optimizers.SGD(0.2), "mse")
    model.fit(x, y, epochs=40, verbose=0)
    assert model.evaluate(x, y, verbose=0) < 1e-3
    assert len(model.weights) == 3


def test_a_wide_and_a_deep_model_are_trained_by_an_optimizer_each():
    x = np.random.RandomState(0).normal(size=(64, 2)).astype(np.float32)
    y = x[:, :1] * x[:, 1:] + x[:, :1]
    wide = experimental.LinearModel()
    deep = keras.Sequential(
        [layers.Dense(16, activation="tanh", input_shape=(2,)), layers.Dense(1)]
    )
    model = experimental.WideDeepModel(wide, deep)
    model.compile([keras.optimizers.SGD(0.0), keras.optimizers.Adam(0.05)], "mse")
    model.predict([x, x])
    before = wide.get_weights(), deep.get_weights()
    losses = model.fit([x, x], y, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2
    assert all((a == b).all() for a, b in zip(before[0], wide.get_weights()))
    assert any((a != b).any() for a, b in zip(before[1], deep.get_weights()))
