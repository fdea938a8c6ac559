"""Programs that were written for TPUs, on CPUs: estimators with use_tpu=False, and what belongs to them."""

import numpy as np
import pytest

import millrace as tf

tpu = tf.contrib.tpu
X = np.random.RandomState(0).rand(64, 2).astype(np.float32)
Y = (X @ [[2.0], [-1.0]] + 0.5).astype(np.float32)


def measured(labels, predictions):
    return {"error": tf.metrics.mean_absolute_error(labels, predictions)}


def line(features, labels, mode, params):
    assert params["use_tpu"] is False
    y = tf.layers.dense(features, 1, name="line")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    calls = tf.get_variable("calls", [], tf.int64, tf.zeros_initializer(), trainable=False)
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))
    return tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metrics=(measured, [labels, y]),
        host_call=(lambda step: tf.assign_add(calls, step), [tf.constant(2, tf.int64)]),
        scaffold_fn=tf.train.Scaffold,
    )


def rows(params):
    data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat()
    return data.batch(params["batch_size"], drop_remainder=True)


def make(tmp_path, use_tpu=False):
    config = tpu.RunConfig(
        model_dir=str(tmp_path),
        tf_random_seed=1,
        tpu_config=tpu.TPUConfig(
            iterations_per_loop=100,
            num_shards=8,
            per_host_input_for_training=tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    return tpu.TPUEstimator(
        line,
        config=config,
        params={"rate": 0.3},
        use_tpu=use_tpu,
        train_batch_size=16,
        eval_batch_size=32,
        predict_batch_size=8,
    )


def test_a_line_is_learned_measured_and_asked(tmp_path):
    estimator = make(tmp_path)
    estimator.train(rows, max_steps=150)
    found = estimator.evaluate(rows, steps=2)
    assert found["global_step"] == 150 and found["loss"] < 1e-2 and found["error"] < 0.1
    assert estimator.get_variable_value("calls") == 300
    batch = next(estimator.predict(rows, yield_single_examples=False))
    np.testing.assert_allclose(batch["y"], Y[:8], atol=0.2)


def test_what_only_tpus_can_do_is_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="use_tpu=False"):
        make(tmp_path, use_tpu=True)
    with pytest.raises(NotImplementedError, match="no TPU 'grpc://10.0.0.1:8470'"):
        tf.contrib.cluster_resolver.TPUClusterResolver("grpc://10.0.0.1:8470")


def test_slips_are_named(tmp_path):
    with pytest.raises(ValueError, match="reserved keys"):
        tpu.TPUEstimator(line, config=tpu.RunConfig(), params={"batch_size": 1}, use_tpu=False)
    with pytest.raises(ValueError, match="does not include params"):
        tpu.TPUEstimator(lambda features: None, config=tpu.RunConfig(), use_tpu=False)
    with pytest.raises(ValueError, match="tpu_config.RunConfig"):
        tpu.TPUEstimator(line, config=tf.estimator.RunConfig(), use_tpu=False)
    with pytest.raises(ValueError, match="eval_metrics should be a tuple"):
        tpu.TPUEstimatorSpec("eval", eval_metrics={})
    with pytest.raises(RuntimeError, match="length of tensors is 3"):
        tpu.TPUEstimatorSpec("eval", eval_metrics=(measured, [1, 2, 3]))
    with pytest.raises(RuntimeError, match="length of tensors is 1, while the function takes 2"):
        tpu.TPUEstimatorSpec("eval", eval_metrics=(measured, [1]))
    tpu.TPUEstimatorSpec("eval", eval_metrics=(lambda labels, *rest: {}, [1, 2, 3]))
    with pytest.raises(ValueError, match="must be positive"):
        tpu.TPUConfig(num_shards=0)
    with pytest.raises(ValueError, match="Both master and cluster"):
        tpu.RunConfig(master="grpc://a:1", cluster=object())


def test_a_config_says_where_to_connect_to():
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"]})
    resolver = tf.contrib.cluster_resolver.SimpleClusterResolver(
        spec, master="a:1", rpc_layer="grpc"
    )
    config = tpu.RunConfig(cluster=resolver)
    assert (config.master, config.evaluation_master) == ("grpc://a:1", "grpc://a:1")
    assert resolver.master("worker", 1) == "grpc://b:2"
    changed = config.replace(save_summary_steps=7, tpu_config=tpu.TPUConfig(num_shards=2))
    assert (changed.save_summary_steps, changed.tpu_config.num_shards) == (7, 2)
    assert config.tpu_config.num_shards is None
