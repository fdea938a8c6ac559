"""tf.estimator: a model's function trained, evaluated, asked, exported; alone here, in clusters elsewhere."""

import json
import os

import numpy as np
import pytest

import millrace as tf

est = tf.estimator
RNG = np.random.RandomState(0)
X = RNG.rand(64, 2).astype(np.float32)
Y = (X @ [[2.0], [-1.0]] + 0.5).astype(np.float32)


def line(features, labels, mode, params):
    """A regression; `params` has the rate."""
    x = features["x"] if isinstance(features, dict) else features
    y = tf.layers.dense(x, 1, name="line")
    predictions = {"y": y, "double": 2 * y}
    if mode == est.ModeKeys.PREDICT:
        return est.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.mean_squared_error(labels, y)
    step = tf.train.get_global_step()
    train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, step)
    metrics = {"error": tf.metrics.mean_absolute_error(labels, y)}
    return est.EstimatorSpec(mode, predictions, loss, train, metrics)


def rows(epochs=None, shuffle=False, batch_size=16):
    return est.inputs.numpy_input_fn({"x": X}, Y, batch_size, epochs, shuffle)


@pytest.fixture
def estimator(tmp_path):
    config = est.RunConfig(str(tmp_path / "model"), tf_random_seed=1, save_checkpoints_steps=50)
    return est.Estimator(line, config=config, params={"rate": 0.3})


def test_a_line_is_learned_measured_and_asked(estimator):
    before = estimator.evaluate(rows(1))
    assert before["global_step"] == 0 and before["loss"] > 0.1
    assert estimator.train(rows(), steps=200) is estimator
    after = estimator.evaluate(rows(1))
    assert after["global_step"] == 200 and after["loss"] < 1e-3
    assert after["error"] == pytest.approx(np.sqrt(after["loss"]), rel=1)
    found = list(estimator.predict(rows(1)))
    assert len(found) == len(X) and set(found[0]) == {"y", "double"}
    np.testing.assert_allclose([item["y"] for item in found], Y, atol=0.1)
    np.testing.assert_allclose([2 * item["y"] for item in found], [i["double"] for i in found])
    assert "line/kernel" in estimator.get_variable_names()
    kernel = estimator.get_variable_value("line/kernel")
    np.testing.assert_allclose(kernel, [[2.0], [-1.0]], atol=0.2)
    events = os.listdir(estimator.eval_dir())
    values = [
        value.tag
        for name in events
        for event in tf.train.summary_iterator(os.path.join(estimator.eval_dir(), name))
        for value in event.summary.value
    ]
    assert {"loss", "error"} <= set(values)


def test_training_goes_on_where_it_was(estimator):
    estimator.train(rows(), steps=3)
    estimator.train(rows(), max_steps=5)
    assert estimator.latest_checkpoint().endswith("-5")
    estimator.train(rows(), max_steps=5)  # is there already: nothing happens
    estimator.train(rows(epochs=1), steps=100)  # ends with the input
    assert estimator.latest_checkpoint().endswith("-9")
    with pytest.raises(ValueError, match="both steps and max_steps"):
        estimator.train(rows(), steps=1, max_steps=1)
    with pytest.raises(ValueError, match="steps > 0, given: 0"):
        estimator.train(rows(), steps=0)


def test_predictions_are_chosen_by_name_and_come_in_batches_too(estimator):
    estimator.train(rows(), steps=1)
    (batch,) = estimator.predict(
        rows(1, batch_size=100), predict_keys=["y"], yield_single_examples=False
    )
    assert set(batch) == {"y"} and batch["y"].shape == (64, 1)
    with pytest.raises(ValueError, match="at least one output"):
        next(estimator.predict(rows(1), predict_keys=["z"]))


def test_evaluations_have_steps_names_and_checkpoints(estimator):
    estimator.train(rows(), steps=2)
    first = estimator.latest_checkpoint()
    estimator.train(rows(), steps=2)
    found = estimator.evaluate(rows(), steps=3, checkpoint_path=first, name="train")
    assert found["global_step"] == 2
    assert os.listdir(estimator.eval_dir("train"))


def receiver():
    x = tf.placeholder(tf.float32, [None, 2], name="given")
    return est.export.ServingInputReceiver({"x": x}, x)


def test_an_exported_model_is_served(estimator, tmp_path, session):
    estimator.train(rows(), steps=5)
    extra = tmp_path / "notes"
    extra.write_text("five steps")
    folder = estimator.export_savedmodel(str(tmp_path / "out"), receiver, {"a/notes": str(extra)})
    folder = folder.decode()
    assert os.listdir(tmp_path / "out") == [os.path.basename(folder)]
    assert open(os.path.join(folder, "assets.extra", "a", "notes")).read() == "five steps"
    loaded = tf.saved_model.loader.load(session, ["serve"], folder)
    signature = loaded.signature_def["serving_default"]
    assert set(signature.inputs) == {"input"} and set(signature.outputs) == {"y", "double"}
    served = session.run(signature.outputs["y"].name, {signature.inputs["input"].name: X[:2]})
    asked = [item["y"] for item in estimator.predict(rows(1))][:2]
    np.testing.assert_allclose(served, asked, rtol=1e-6)
    again = estimator.export_saved_model(str(tmp_path / "out"), receiver, as_text=True).decode()
    assert again != folder and os.path.exists(os.path.join(again, "saved_model.pbtxt"))


def test_raw_and_parsed_inputs_are_received(estimator, tmp_path, session):
    estimator.train(rows(), steps=1)
    raw = est.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [1, 2])})
    folder = estimator.export_savedmodel(str(tmp_path / "raw"), raw).decode()
    loaded = tf.saved_model.loader.load(session, ["serve"], folder)
    info = loaded.signature_def["serving_default"].inputs["x"]
    assert [dim.size for dim in info.tensor_shape.dim] == [-1, 2]
    parsed = est.export.build_parsing_serving_input_receiver_fn(
        {"x": tf.FixedLenFeature([2], tf.float32)}
    )
    folder = estimator.export_savedmodel(str(tmp_path / "parsed"), parsed).decode()
    with tf.Graph().as_default(), tf.Session() as other:
        loaded = tf.saved_model.loader.load(other, ["serve"], folder)
        signature = loaded.signature_def["serving_default"]
        example = tf.train.Example()
        example.features.feature["x"].float_list.value.extend([1.0, 0.0])
        texts = {signature.inputs["examples"].name: [example.SerializeToString()]}
        assert other.run(signature.outputs["y"].name, texts).shape == (1, 1)


def test_training_and_evaluation_together(tmp_path):
    config = est.RunConfig(save_checkpoints_steps=10, log_step_count_steps=None)
    estimator = est.Estimator(line, str(tmp_path), config, {"rate": 0.1})
    seen = []

    class Noting(tf.train.SessionRunHook):
        def end(self, session):
            seen.append(int(session.run(tf.train.get_global_step())))

    result, exported = est.train_and_evaluate(
        estimator,
        est.TrainSpec(rows(), max_steps=25),
        est.EvalSpec(
            rows(1),
            steps=None,
            hooks=[Noting()],
            throttle_secs=0,
            exporters=[est.FinalExporter("final", receiver), est.LatestExporter("all", receiver)],
        ),
    )
    assert seen == [10, 20, 25] and result["global_step"] == 25
    assert len(os.listdir(tmp_path / "export" / "final")) == 1
    assert len(os.listdir(tmp_path / "export" / "all")) == 3
    assert all(os.path.isdir(folder.decode()) for folder in exported)


def test_a_model_begins_with_what_another_learned(estimator, tmp_path):
    estimator.train(rows(), steps=50)
    learned = estimator.get_variable_value("line/kernel")
    config = est.RunConfig(str(tmp_path / "second"))
    second = est.Estimator(
        line, config=config, params={"rate": 0.0}, warm_start_from=estimator.model_dir
    )
    second.train(rows(), steps=1)
    np.testing.assert_array_equal(second.get_variable_value("line/kernel"), learned)
    with pytest.raises(ValueError, match="not used"):
        settings = est.WarmStartSettings(
            estimator.model_dir, var_name_to_prev_var_name={"lime/kernel": "line/kernel"}
        )
        est.Estimator(
            line, str(tmp_path / "third"), params={"rate": 0.0}, warm_start_from=settings
        ).train(rows(), steps=1)


def test_rows_come_in_order_or_shuffled_and_end(session):
    x, y = np.arange(10), np.array([str(i) for i in range(10)])
    features, labels = est.inputs.numpy_input_fn(x, y, 4, 2, False)()
    shuffled = est.inputs.numpy_input_fn({"b": x, "a": y}, None, 5, 1, True)()
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    found = [session.run((features, labels)) for _ in range(5)]
    assert [item[0].tolist() for item in found[:3]] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]
    assert found[0][1].tolist() == [b"0", b"1", b"2", b"3"]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(features)
    assert list(shuffled) == ["a", "b"]
    batches = [session.run(shuffled) for _ in range(2)]
    numbers = [number for batch in batches for number in batch["b"].tolist()]
    assert sorted(numbers) == list(range(10))
    assert [int(text) for batch in batches for text in batch["a"]] == numbers
    coord.request_stop()
    coord.join(threads)


def test_arrays_that_do_not_go_together_are_refused():
    make = est.inputs.numpy_input_fn
    with pytest.raises(ValueError, match="shuffle must be provided"):
        make(X, Y)
    with pytest.raises(ValueError, match="Length of tensors in x and y is mismatched"):
        make(X, Y[:3], shuffle=False)
    with pytest.raises(ValueError, match="empty dict"):
        make({}, shuffle=False)
    with pytest.raises(TypeError, match="x must be a dict or array; got list"):
        make([1, 2], shuffle=False)


def test_a_spec_lacks_nothing():
    spec, mode = est.EstimatorSpec, est.ModeKeys
    loss = tf.constant(1.0)
    with pytest.raises(ValueError, match="Missing loss"):
        spec(mode.EVAL)
    with pytest.raises(ValueError, match="Missing train_op"):
        spec(mode.TRAIN, loss=loss)
    with pytest.raises(ValueError, match="Missing predictions"):
        spec(mode.PREDICT)
    with pytest.raises(ValueError, match="Loss must be scalar"):
        spec(mode.EVAL, loss=tf.constant([1.0, 2.0]))
    assert spec(mode.EVAL, loss=tf.constant([1.0])).loss.shape.ndims == 0
    with pytest.raises(TypeError, match=r"predictions\[a\] must be Tensor"):
        spec(mode.PREDICT, predictions={"a": 1.0})
    with pytest.raises(TypeError, match="must be \\(metric_value, update_op\\) tuples"):
        spec(mode.EVAL, loss=loss, eval_metric_ops={"m": loss})
    with pytest.raises(TypeError, match="SessionRunHook"):
        spec(mode.EVAL, loss=loss, evaluation_hooks=[1])
    outputs = {name: est.export.PredictOutput(loss) for name in ("a", "b")}
    with pytest.raises(ValueError, match="none of them is specified as the default"):
        spec(mode.PREDICT, loss, export_outputs=outputs)
    only = spec(mode.PREDICT, loss, export_outputs={"a": outputs["a"]}).export_outputs
    assert set(only) == {"a", "serving_default"}


def test_a_model_function_is_called_with_what_it_names(tmp_path):
    def bare(features):
        return est.EstimatorSpec(est.ModeKeys.PREDICT, predictions=features)

    found = est.Estimator(bare, str(tmp_path)).predict(
        est.inputs.numpy_input_fn(np.arange(3.0), None, num_epochs=1, shuffle=False)
    )
    assert list(found) == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="does not take labels"):
        est.Estimator(bare, str(tmp_path)).train(rows(), steps=1)
    with pytest.raises(ValueError, match="must include features argument"):
        est.Estimator(lambda labels: None)
    with pytest.raises(ValueError, match=r"not expected args: \['more'\]"):
        est.Estimator(lambda features, more: None)
    with pytest.raises(ValueError, match="does not include params argument"):
        est.Estimator(bare, params={"a": 1})
    with pytest.raises(ValueError, match="with different values"):
        est.Estimator(bare, "one", est.RunConfig("two"))
    with pytest.raises(ValueError, match="should return an EstimatorSpec"):
        est.Estimator(lambda features, labels: 3, str(tmp_path)).train(rows(), steps=1)


def test_data_sets_are_initialized_by_a_hook(tmp_path):
    """By the two methods that a data set has, whatever else it is."""

    class Iterator:
        def __init__(self):
            self.variable = tf.Variable([[1.0, 2.0]], collections=["local"])
            self.initializer = self.variable.initializer

        def get_next(self):
            return {"x": self.variable}, tf.constant([[1.0]])

    class Rows:
        def make_initializable_iterator(self):
            return Iterator()

    estimator = est.Estimator(line, str(tmp_path), params={"rate": 0.1})
    estimator.train(Rows, steps=2)
    assert estimator.evaluate(Rows, steps=1)["global_step"] == 2


def test_a_config_knows_its_task(monkeypatch):
    alone = est.RunConfig()
    assert (alone.task_type, alone.task_id, alone.is_chief, alone.master) == ("worker", 0, True, "")
    assert alone.save_checkpoints_secs == 600 and alone.save_checkpoints_steps is None
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    task = {"type": "worker", "index": 1}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    config = est.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 1, False)
    assert config.master == "grpc://c:1"
    assert (config.num_worker_replicas, config.num_ps_replicas) == (3, 1)
    assert config.session_config.device_filters == ["/job:ps", "/job:worker/task:1"]
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "evaluator"}}))
    assert est.RunConfig().task_type == "evaluator" and not est.RunConfig().is_chief
    changed = config.replace(save_checkpoints_steps=7, model_dir="m")
    assert changed.save_checkpoints_secs is None and changed.model_dir == "m"
    assert config.model_dir is None
    with pytest.raises(ValueError, match="cannot be both set"):
        est.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        config.replace(master="x")
    with pytest.raises(ValueError, match="save_summary_steps should be >= 0, it is -1"):
        est.RunConfig(save_summary_steps=-1)


def test_specs_of_training_are_checked():
    with pytest.raises(ValueError, match="max_steps > 0, given: 0"):
        est.TrainSpec(rows(), max_steps=0)
    with pytest.raises(TypeError, match="must be callable"):
        est.TrainSpec(3)
    with pytest.raises(ValueError, match="throttle_secs >= 0"):
        est.EvalSpec(rows(), throttle_secs=-1)
    twice = [est.FinalExporter("a", receiver), est.LatestExporter("a", receiver)]
    with pytest.raises(ValueError, match="unique names"):
        est.EvalSpec(rows(), exporters=twice)
    with pytest.raises(TypeError, match="tf.estimator.Estimator"):
        est.train_and_evaluate(3, None, None)
