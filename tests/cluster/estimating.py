"""One task of a job that trains and evaluates an Estimator, for tests: estimating.py FOLDER STEPS.

Prints "done" and the global step of the last evaluation, if it made one.
"""

import sys

import numpy as np

import millrace as tf


def line(features, labels, mode):
    y = tf.layers.dense(features["x"], 1, name="line")
    loss = tf.losses.mean_squared_error(labels, y)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, y, loss, train)


def main():
    tf.logging.set_verbosity(tf.logging.INFO)
    folder, steps = sys.argv[1], int(sys.argv[2])
    x = np.random.RandomState(0).rand(64, 2).astype(np.float32)
    y = x @ np.array([[2.0], [-1.0]], np.float32)
    give = tf.estimator.inputs.numpy_input_fn
    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=50)
    found = tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(line, config=config),
        tf.estimator.TrainSpec(give({"x": x}, y, 16, None, True), max_steps=steps),
        tf.estimator.EvalSpec(give({"x": x}, y, 16, 1, False), start_delay_secs=0, throttle_secs=0),
    )
    result = found[0] if found else None
    print(f"done {result['global_step']} {result['loss']:.6f}" if result else "done")


if __name__ == "__main__":
    main()
