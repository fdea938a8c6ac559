"""Optimizers of tf.keras over the same steps, the same text for TensorFlow and for Millrace.

`python3 keras_optimizer_programs.py tensorflow` (or `millrace`) prints a JSON object: of each a model's weights
and losses. Run by test_keras_layers_beside_tensorflow.py.
"""

import json
import sys

import numpy as np


def optimizers(keras):
    ko = keras.optimizers
    schedules = ko.schedules
    return {
        "adamax": ko.Adamax(0.05),
        "ftrl": ko.Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
        "exponential": ko.SGD(schedules.ExponentialDecay(0.2, 3, 0.5)),
        "stairs": ko.SGD(schedules.ExponentialDecay(0.2, 3, 0.5, staircase=True)),
        "inverse": ko.SGD(schedules.InverseTimeDecay(0.2, 3, 0.5)),
        "polynomial": ko.Adam(schedules.PolynomialDecay(0.2, 5, 0.01, power=2.0)),
        "pieces": ko.SGD(schedules.PiecewiseConstantDecay([2, 5], [0.2, 0.1, 0.01])),
    }


def trained(keras, optimizer):
    random = np.random.RandomState(5)
    x, y = random.normal(size=(12, 3)), random.normal(size=(12, 2))
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    model.layers[-1].set_weights([random.normal(size=(3, 2)) * 0.3, np.zeros(2)])
    model.compile(optimizer, "mse")
    losses = model.fit(x, y, batch_size=6, epochs=5, shuffle=False, verbose=0).history["loss"]
    weights = [np.asarray(each).astype(float).ravel().tolist() for each in model.get_weights()]
    return [float(each) for each in losses] + weights[0] + weights[1]


def main():
    if sys.argv[1] == "tensorflow":
        import tensorflow as tf
    else:
        import millrace as tf
    found = {name: trained(tf.keras, each) for name, each in optimizers(tf.keras).items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
