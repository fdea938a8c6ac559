"""One task of a job that trains and evaluates an Estimator, for tests: estimating.py FOLDER STEPS [canned].

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


def canned(config):
    """A linear model and a network over words as well, with tables in parts on two parameter servers."""
    column = tf.feature_column
    x = column.numeric_column("x", 2)
    word = column.categorical_column_with_vocabulary_list("word", ["a", "b"], num_oov_buckets=1)
    return tf.estimator.DNNLinearCombinedRegressor(
        linear_feature_columns=[x, word, column.crossed_column(["word", "other"], 8)],
        linear_optimizer=tf.train.FtrlOptimizer(0.1),
        dnn_feature_columns=[x, column.embedding_column(word, 2)],
        dnn_optimizer=tf.train.AdagradOptimizer(0.05),
        dnn_hidden_units=[8],
        input_layer_partitioner=tf.fixed_size_partitioner(2),
        config=config,
        loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
    )


def main():
    tf.logging.set_verbosity(tf.logging.INFO)
    folder, steps = sys.argv[1], int(sys.argv[2])
    x = np.random.RandomState(0).rand(64, 2).astype(np.float32)
    y = x @ np.array([[2.0], [-1.0]], np.float32)
    words = np.where(x[:, :1] > 0.5, ["a"], ["c"])
    features = {"x": x, "word": words, "other": words}
    give = tf.estimator.inputs.numpy_input_fn
    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=50)
    found = tf.estimator.train_and_evaluate(
        canned(config) if "canned" in sys.argv else tf.estimator.Estimator(line, config=config),
        tf.estimator.TrainSpec(give(features, y, 16, None, True), max_steps=steps),
        tf.estimator.EvalSpec(give(features, y, 16, 1, False), start_delay_secs=0, throttle_secs=0),
    )
    result = found[0] if found else None
    print(f"done {result['global_step']} {result['loss']:.6f}" if result else "done")


if __name__ == "__main__":
    main()
