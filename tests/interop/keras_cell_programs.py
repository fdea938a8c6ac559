"""Cells, loops over them and attention of tf.keras, the same text for TensorFlow and for Millrace.

`python3 keras_cell_programs.py tensorflow` (or `millrace`) prints a JSON object: of each layer what it makes
of the same weights and inputs. Run by test_keras_layers_beside_tensorflow.py.
"""

import json
import sys

import numpy as np


def data(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


GATES = {"recurrent_activation": "sigmoid"}


def plainly_recurrent(kl):
    """{name: (a layer, the shape of its inputs)}."""
    line, movie = (5, 3), (4, 6, 5, 2)
    lstm, gru = kl.LSTMCell(3, **GATES), kl.GRUCell(2, reset_after=True, **GATES)
    return {
        "cell": (kl.RNN(kl.SimpleRNNCell(4)), line),
        "cell of gates": (kl.RNN(kl.GRUCell(4, reset_after=False, **GATES)), line),
        "cell with a memory": (kl.RNN(kl.LSTMCell(4, **GATES), return_sequences=True), line),
        "cells": (kl.RNN([lstm, gru], return_sequences=True), line),
        "unrolled": (kl.LSTM(3, unroll=True, **GATES), line),
        "unrolled backwards": (
            kl.SimpleRNN(3, unroll=True, go_backwards=True, return_sequences=True),
            line,
        ),
        "both ways": (kl.Bidirectional(kl.RNN(kl.SimpleRNNCell(3)), merge_mode="sum"), line),
        "images": (kl.ConvLSTM2D(3, 3, **GATES), movie),
        "images same": (
            kl.ConvLSTM2D(2, (2, 3), padding="same", return_sequences=True, **GATES),
            movie,
        ),
        "images strides": (kl.ConvLSTM2D(2, 2, strides=2, go_backwards=True, **GATES), movie),
    }


def set_weights(layer):
    layer.set_weights([0.5 * data(*w.shape, seed=w.size) for w in layer.get_weights()])


def attending(keras):
    """Models of a query and values of different lengths."""
    kl = keras.layers
    words, values = keras.Input([4], dtype="int32"), keras.Input([6], dtype="int32")
    table = kl.Embedding(7, 3, mask_zero=True)
    query, value = table(words), table(values)
    key = kl.Dense(3)(value)
    models = {
        "attention": kl.Attention()([query, value]),
        "attention with keys": kl.Attention()([query, value, key]),
        "scaled": kl.Attention(use_scale=True)([query, value]),
        "additive": kl.AdditiveAttention()([query, value]),
        "additive alone": kl.AdditiveAttention(use_scale=False)([query, value]),
    }
    ids = [
        np.array([[3, 1, 2, 0], [2, 0, 0, 0]]),
        np.array([[5, 4, 1, 0, 0, 0], [1, 2, 3, 4, 5, 6]]),
    ]
    for name, outputs in models.items():
        model = keras.Model([words, values], outputs)
        for layer in model.layers:
            set_weights(layer)
        yield name, model.predict(ids, verbose=0)


def kept_between_batches(keras):
    """What a layer with states makes of two batches, and after they were reset."""
    kl = keras.layers
    x = keras.Input(batch_shape=[2, 3, 2])
    layer = kl.GRU(3, stateful=True, reset_after=False, **GATES)
    model = keras.Model(x, layer(x))
    set_weights(layer)
    first, second = data(2, 3, 2), data(2, 3, 2, seed=5)
    made = [model.predict(each, batch_size=2, verbose=0) for each in (first, second)]
    layer.reset_states() if hasattr(layer, "reset_states") else layer.reset_state()
    return [*made, model.predict(second, batch_size=2, verbose=0)]


def with_states(keras):
    """The states of an encoder begin a decoder."""
    kl = keras.layers
    source, target = keras.Input([4, 2]), keras.Input([3, 2])
    encoder = kl.LSTM(3, return_state=True, **GATES)
    _, *states = encoder(source)
    decoder = kl.LSTM(3, return_sequences=True, return_state=True, **GATES)
    outputs, last, memory = decoder(target, initial_state=states)
    model = keras.Model([source, target], [outputs, last, memory])
    set_weights(encoder), set_weights(decoder)
    made = model.predict([data(2, 4, 2), data(2, 3, 2, seed=3)], verbose=0)
    return [each.tolist() for each in made]


def states_of_cells(keras):
    """Each of several cells has its states in a list of its own."""
    kl = keras.layers
    x = keras.Input([4, 2])
    layer = kl.RNN([kl.LSTMCell(3, **GATES), kl.LSTMCell(2, **GATES)], return_state=True)
    output, first, last = layer(x)
    model = keras.Model(x, [output, *first, *last])
    set_weights(layer)
    return [each.tolist() for each in model.predict(data(2, 4, 2), verbose=0)]


def lines_of_words(keras):
    """A layer over time within a layer over time: words that are not there do not count."""
    kl = keras.layers
    words = keras.Input([2, 3], dtype="int32")
    table, lines = kl.Embedding(5, 2, mask_zero=True), kl.LSTM(3, **GATES)
    model = keras.Model(words, kl.TimeDistributed(lines)(table(words)))
    set_weights(table), set_weights(lines)
    ids = np.array([[[1, 2, 0], [3, 0, 0]], [[3, 0, 0], [4, 2, 1]]])
    return model.predict(ids, verbose=0).tolist()


def masked(keras):
    kl = keras.layers
    x = data(3, 5, 2)
    x[0, 2:], x[1, 1], x[2, 0] = 0, 0, 0
    numbers = keras.Input([5, 2])
    kept = kl.Masking()(numbers)
    layers = {
        "masked cells": kl.RNN([kl.SimpleRNNCell(3), kl.LSTMCell(2, **GATES)]),
        "masked unrolled": kl.GRU(
            3, unroll=True, return_sequences=True, reset_after=False, **GATES
        ),
        "masked zeros": kl.RNN(
            kl.SimpleRNNCell(3), return_sequences=True, zero_output_for_mask=True
        ),
    }
    for name, layer in layers.items():
        model = keras.Model(numbers, layer(kept))
        set_weights(layer)
        yield name, model.predict(x, verbose=0)


def main():
    if sys.argv[1] == "tensorflow":
        import tensorflow as tf
    else:
        import millrace as tf
    results = {}
    for name, (layer, shape) in plainly_recurrent(tf.keras.layers).items():
        x = tf.keras.Input(shape)
        model = tf.keras.Model(x, layer(x))
        set_weights(layer)
        results[name] = model.predict(data(2, *shape), verbose=0).tolist()
    for several in (attending, masked):
        for name, values in several(tf.keras):
            results[name] = values.tolist()
    results["kept"] = [each.tolist() for each in kept_between_batches(tf.keras)]
    results["lines"] = lines_of_words(tf.keras)
    output, *of_cells = states_of_cells(tf.keras)
    results["first cell"], results["last cell"] = of_cells[:2], of_cells[2:]
    outputs, *states = with_states(tf.keras)
    results["outputs"], results["states"] = outputs, states
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
