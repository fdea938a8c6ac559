"""tf.keras.preprocessing.sequence: windows of series and pairs of words; names of what layers take."""

import numpy as np
import pytest

import millrace as tf

keras = tf.keras
sequence = keras.preprocessing.sequence


def test_windows_of_a_series_come_in_batches():
    data = np.arange(20)[:, None]
    windows = sequence.TimeseriesGenerator(
        data, 10 * data, length=6, sampling_rate=2, stride=3, start_index=2, batch_size=2
    )
    x, y = windows[0]
    assert len(windows) == 2 and x[..., 0].tolist() == [[2, 4, 6], [5, 7, 9]]
    assert y[:, 0].tolist() == [80, 110]
    back = sequence.TimeseriesGenerator(data, data, length=3, reverse=True)
    assert back[0][0][0, :, 0].tolist() == [2, 1, 0] and len(back[0][0]) == 17
    model = keras.Sequential([keras.layers.Flatten(input_shape=(3, 1)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    drawn = sequence.TimeseriesGenerator(data / 20, data / 20, 3, shuffle=True, batch_size=4)
    losses = model.fit(drawn, epochs=3, verbose=0).history["loss"]
    assert len(losses) == 3
    with pytest.raises(ValueError, match="same length"):
        sequence.TimeseriesGenerator(data, data[1:], 3)
    with pytest.raises(ValueError, match="disallowed"):
        sequence.TimeseriesGenerator(data, data, 25)


def test_pairs_are_of_words_that_stand_near():
    pairs, labels = sequence.skipgrams([1, 2, 3, 0, 4], 9, window_size=1, negative_samples=0)
    assert sorted(map(tuple, pairs)) == [(1, 2), (2, 1), (2, 3), (3, 2)] and labels == [1] * 4
    words = list(range(1, 9))
    pairs, labels = sequence.skipgrams(words, 9, window_size=2, categorical=True, seed=3)
    near = [pair for pair, label in zip(pairs, labels) if label == [0, 1]]
    assert all(0 < abs(a - b) <= 2 for a, b in near) and len(near) * 2 == len(pairs)
    assert all(1 <= word < 9 for pair in pairs for word in pair)
    table = sequence.make_sampling_table(1000)
    assert table.shape == (1000,) and (np.diff(table[1:]) > 0).all() and table[-1] < 1
    assert np.isclose(table[9], np.sqrt(1e-5 * (9 * (np.log(9) + 0.577) + 0.5 - 1 / 108)))


def test_what_layers_take_comes_by_names_and_settings():
    regularizers, initializers = keras.regularizers, keras.initializers
    told = regularizers.serialize(regularizers.l1_l2(0.5, 0.25))
    assert told == {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.25}}
    assert regularizers.deserialize(told).l2 == regularizers.get(told).l2 == 0.25
    assert regularizers.get("l2").l1 == 0 and regularizers.get(None) is None
    made = initializers.get({"class_name": "RandomUniform", "config": {"minval": 2, "maxval": 3}})
    assert made.minval == 2 and isinstance(initializers.get("Zeros"), initializers.Zeros)
    activations = keras.activations
    assert activations.serialize(activations.relu) == "relu"
    assert activations.deserialize("tanh") is activations.tanh
    with pytest.raises(ValueError, match="Unknown initializer: some"):
        initializers.get("some")
    with pytest.raises(ValueError, match="Unknown activation function: sharp"):
        keras.layers.Dense(1, activation="sharp")
