"""Models that are trained by tf.keras, the same text for TensorFlow and for Millrace.

`python3 keras_programs.py tensorflow` (or `millrace`) prints a JSON object: of each model the numbers that
its training gave. Run by test_keras_beside_tensorflow.py.
"""

import json
import sys

import numpy as np


def data(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def set_weights(model):
    """The same weights in both, layer by layer: their own random numbers differ."""
    for layer in model.layers:
        weights = layer.get_weights()
        if len(weights) < 3:  # a normalization begins with its own
            layer.set_weights([data(*w.shape, seed=w.size) * 0.3 for w in weights])


# What TensorFlow 1 calls metrics that TensorFlow 2 calls as compile was told.
NAMES_OF_1 = {"accuracy": "acc", "mae": "mean_absolute_error"}


def numbers_of(history, name):
    """What a history has of a metric, by either of its names."""
    return [float(n) for n in history[name if name in history else NAMES_OF_1[name]]]


def trained(model, x, y, metrics=()):
    """What the history, an evaluation and predictions say."""
    history = model.fit(x, y, batch_size=8, epochs=4, shuffle=False, verbose=0)
    found = {name: numbers_of(history.history, name) for name in ("loss", *metrics)}
    evaluated = model.evaluate(x, y, batch_size=8, verbose=0)
    found["evaluated"] = np.ravel(evaluated).astype(float).tolist()
    found["predicted"] = np.asarray(model.predict(x[:3], verbose=0)).astype(float).tolist()
    return found


def classes(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input([5]),
            layers.Dense(7, activation="relu", kernel_regularizer="l2"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    set_weights(model)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return trained(model, data(20, 5), np.arange(20) % 3, ["accuracy"])


def one_hot_classes(keras):
    model = keras.Sequential([keras.Input([5]), keras.layers.Dense(3, activation="softmax")])
    set_weights(model)
    model.compile(
        keras.optimizers.SGD(0.3, momentum=0.9, nesterov=True),
        "categorical_crossentropy",
        metrics=["accuracy"],
    )
    return trained(model, data(20, 5), np.eye(3, dtype=np.float32)[np.arange(20) % 3], ["accuracy"])


def two_classes(keras):
    layers = keras.layers
    x = keras.Input([4])
    left, right = layers.Dense(3, activation="tanh")(x), layers.Dense(3, activation="elu")(x)
    made = layers.Dense(1, activation="sigmoid")(layers.concatenate([left, right]))
    model = keras.Model(x, made)
    set_weights(model)
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
    return trained(model, data(24, 4), np.arange(24) % 2, ["accuracy"])


def images(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input([8, 8, 2]),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.BatchNormalization(momentum=0.8),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1),
        ]
    )
    set_weights(model)
    model.compile(keras.optimizers.SGD(0.05), "mse")
    # The fused op's moving variance is the population's in one version, the batch's in another.
    return {"loss": trained(model, data(16, 8, 8, 2), data(16, 1, seed=4))["loss"]}


def words(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input([6], dtype="int32"),
            layers.Embedding(9, 4),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )
    set_weights(model)
    # Others square the parts of a gradient that come from one row alone in one version, their sum in another.
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mae")
    ids = np.random.RandomState(3).randint(0, 9, (16, 6))
    return trained(model, ids, data(16, 2, seed=2))


def of_time(keras, *recurrent):
    layers = keras.layers
    model = keras.Sequential([keras.Input([6, 3]), *recurrent, layers.Dense(1)])
    # A recurrent layer has three weights of its own.
    for layer in model.layers:
        layer.set_weights([data(*w.shape, seed=w.size) * 0.3 for w in layer.get_weights()])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return trained(model, data(16, 6, 3), data(16, 1, seed=4))


def simple_recurrent(keras):
    return of_time(keras, keras.layers.SimpleRNN(4))


def long_memory(keras):
    layers = keras.layers
    first = layers.LSTM(4, return_sequences=True, recurrent_activation="sigmoid")
    return of_time(keras, first, layers.LSTM(3, recurrent_activation="sigmoid", go_backwards=True))


def gates_before(keras):
    gated = keras.layers.GRU(4, recurrent_activation="sigmoid", reset_after=False)
    return of_time(keras, gated)


def gates_after(keras):
    gated = keras.layers.GRU(4, recurrent_activation="sigmoid", reset_after=True)
    return of_time(keras, gated)


def both_ways(keras):
    layers = keras.layers
    inner = layers.LSTM(3, return_sequences=True, recurrent_activation="sigmoid")
    outer = layers.SimpleRNN(2)
    return of_time(
        keras,
        layers.Bidirectional(inner),
        layers.TimeDistributed(layers.Dense(4, activation="tanh")),
        layers.Bidirectional(outer, merge_mode="sum"),
    )


PROGRAMS = [
    classes,
    one_hot_classes,
    two_classes,
    images,
    words,
    simple_recurrent,
    long_memory,
    gates_before,
    gates_after,
    both_ways,
]


def main():
    if sys.argv[1] == "tensorflow":
        import tensorflow as tf
    else:
        import millrace as tf
    results = {}
    for program in PROGRAMS:
        tf.keras.backend.clear_session()
        results[program.__name__] = program(tf.keras)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
