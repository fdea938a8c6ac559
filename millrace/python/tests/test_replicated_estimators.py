"""Estimators whose models train as replicas of a strategy."""

import numpy as np
import pytest

import millrace as tf

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
Y = (X @ [[1.0], [-2.0], [0.5]] + 0.3).astype(np.float32)
CPUS = tf.ConfigProto(device_count={"CPU": 2})


def batches(size):
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(size)


def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1, kernel_initializer=tf.ones_initializer())
    loss = tf.losses.mean_squared_error(labels, y, reduction=params["reduction"])
    loss = tf.reduce_mean(loss)  # of what has no reduction yet
    tf.summary.scalar("error", loss)
    train = tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode, y, loss, train, {"error": tf.metrics.mean_absolute_error(labels, y)}
    )


def trained(folder, strategy, size, reduction):
    config = tf.estimator.RunConfig(
        str(folder), train_distribute=strategy, session_config=CPUS, tf_random_seed=1
    )
    estimator = tf.estimator.Estimator(model_fn, config=config, params={"reduction": reduction})
    estimator.train(lambda: batches(size), steps=6)
    return estimator


@pytest.mark.parametrize("reduction", ["weighted_sum_by_nonzero_weights", "weighted_sum", "none"])
def test_two_replicas_train_an_estimator_as_one_does_with_twice_the_batch(reduction, tmp_path):
    alone = trained(tmp_path / "alone", None, 8, reduction)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    together = trained(tmp_path / "together", strategy, 4, reduction)
    assert alone.get_variable_names() == together.get_variable_names()
    for name in alone.get_variable_names():
        np.testing.assert_allclose(
            together.get_variable_value(name), alone.get_variable_value(name), rtol=1e-5, atol=1e-6
        )
    assert together.get_variable_value("global_step") == 6
    first, second = (one.evaluate(lambda: batches(8), steps=1) for one in (alone, together))
    assert first == pytest.approx(second, rel=1e-5)
    tags = [
        value.tag
        for path in (tmp_path / "together").glob("events*")
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    assert tags.count("error") == 1 and "replica_1/error" not in tags


def test_what_an_estimator_does_not_take_for_a_strategy(tmp_path):
    two = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with pytest.raises(TypeError, match="train_distribute must be"):
        tf.estimator.RunConfig(train_distribute="mirrored")
    with pytest.raises(NotImplementedError, match="metrics would have to be joined"):
        tf.estimator.RunConfig(eval_distribute=two)
    whole = tf.contrib.distribute.DistributeConfig(train_distribute=two)
    assert tf.estimator.RunConfig(experimental_distribute=whole).train_distribute is two
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=two)
    estimator = tf.estimator.Estimator(model_fn, config=config, params={"reduction": "none"})
    with pytest.raises(ValueError, match="must return a tf.data.Dataset"):
        estimator.train(lambda: ({"x": X}, Y), steps=1)
