"""tf.estimator.experimental: trainings that end early, and canned models as functions."""

import numpy as np
import pytest

import millrace as tf

est = tf.estimator
experimental = tf.estimator.experimental
X = np.linspace(0, 1, 16, dtype=np.float32)


def rows(epochs=None):
    return est.inputs.numpy_input_fn({"x": X}, 2 * X, 16, epochs, shuffle=False)


def estimator_in(folder, **config):
    columns = [tf.feature_column.numeric_column("x")]
    config = est.RunConfig(str(folder), log_step_count_steps=None, **config)
    return est.LinearRegressor(columns, config=config)


def tell(folder, metrics):
    """Leaves summaries of evaluations as Estimators do: {step: {name: number}}."""
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(str(folder))
        for step, found in metrics.items():
            values = [tf.Summary.Value(tag=name, simple_value=found[name]) for name in found]
            writer.add_summary(tf.Summary(value=values), step)
        writer.close()


def steps_with(estimator, hook):
    estimator.train(rows(), hooks=[hook], max_steps=100)
    return int(estimator.get_variable_value("global_step"))


def test_a_function_ends_the_training(tmp_path):
    asked = iter([False, False, True])
    hook = experimental.make_early_stopping_hook(
        estimator_in(tmp_path), lambda: next(asked), run_every_secs=None, run_every_steps=5
    )
    assert steps_with(estimator_in(tmp_path), hook) == 11  # asked after 1, 6 and 11


@pytest.mark.parametrize(
    "name, arguments, told, ends",
    [
        ("stop_if_higher_hook", ["accuracy", 0.9], {10: 0.8, 20: 0.95}, True),
        ("stop_if_higher_hook", ["accuracy", 0.9], {10: 0.8, 20: 0.9}, False),
        ("stop_if_lower_hook", ["accuracy", 0.3], {10: 0.2}, True),
        ("stop_if_no_decrease_hook", ["accuracy", 20], {10: 1.0, 20: 0.5, 30: 0.6, 40: 0.5}, True),
        ("stop_if_no_decrease_hook", ["accuracy", 20], {10: 1.0, 20: 0.5, 30: 0.6, 40: 0.4}, False),
        ("stop_if_no_increase_hook", ["accuracy", 20], {10: 1.0, 20: 0.5, 30: 0.9}, True),
        ("stop_if_no_increase_hook", ["loss", 20], {10: 1.0, 20: 0.5, 30: 0.9}, False),
    ],
)
def test_metrics_of_evaluations_end_the_training(tmp_path, name, arguments, told, ends):
    estimator = estimator_in(tmp_path)
    tell(estimator.eval_dir(), {step: {"accuracy": value} for step, value in told.items()})
    make = getattr(experimental, name)
    hook = make(estimator, *arguments, run_every_secs=None, run_every_steps=1)
    assert steps_with(estimator, hook) == (1 if ends else 100)


def test_evaluations_of_early_steps_may_be_left_out(tmp_path):
    estimator = estimator_in(tmp_path / "model")
    tell(tmp_path / "told", {10: {"loss": 9.0}, 30: {"loss": 1.0}})
    hook = experimental.stop_if_higher_hook(
        estimator,
        "loss",
        5.0,
        eval_dir=str(tmp_path / "told"),
        min_steps=20,
        run_every_secs=None,
        run_every_steps=1,
    )
    assert steps_with(estimator, hook) == 100


def test_an_evaluation_that_is_being_written_is_left_for_the_next_time(tmp_path):
    estimator = estimator_in(tmp_path)
    tell(estimator.eval_dir(), {10: {"loss": 1.0}, 20: {"loss": 9.0}})
    (path,) = (tmp_path / "eval").iterdir()
    told = path.read_bytes()
    path.write_bytes(told[:-5])
    make = experimental.stop_if_higher_hook
    hook = make(estimator, "loss", 5.0, run_every_secs=None, run_every_steps=1)
    assert steps_with(estimator, hook) == 100
    path.write_bytes(told)
    hook = make(estimator, "loss", 5.0, run_every_secs=None, run_every_steps=1)
    estimator.train(rows(), hooks=[hook], max_steps=200)
    assert estimator.get_variable_value("global_step") == 101


def test_summaries_of_no_number_are_no_metric(tmp_path):
    estimator = estimator_in(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        shown = session.run(tf.summary.histogram("loss", [5.0]))
    with tf.summary.FileWriter(estimator.eval_dir()) as writer:
        writer.add_summary(shown, 10)
    hook = experimental.stop_if_lower_hook(
        estimator, "loss", 1.0, run_every_secs=None, run_every_steps=1
    )
    assert steps_with(estimator, hook) == 100


def test_a_training_goes_on_with_a_hook_that_it_began_without_and_is_not_stopped_for_good(tmp_path):
    estimator = estimator_in(tmp_path)

    def trained(should_stop):
        hook = experimental.make_early_stopping_hook(
            estimator, should_stop, run_every_secs=None, run_every_steps=1
        )
        estimator.train(rows(), hooks=[hook], steps=10)
        return estimator.get_variable_value("global_step")

    estimator.train(rows(), steps=5)
    assert trained(lambda: True) == 6
    assert trained(lambda: False) == 16
    assert "signal_early_stopping/STOP" not in estimator.get_variable_names()


def test_other_workers_end_when_the_chief_has_said_so(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "TF_CONFIG",
        '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}',
    )
    worker = estimator_in(tmp_path)
    assert not worker.config.is_chief
    hook = experimental.make_early_stopping_hook(worker, lambda: pytest.fail("asked a worker"))
    tf.train.create_global_step()
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        (stop,) = tf.get_collection("signal_early_stopping")
        session.run(tf.train.get_global_step())
        assert not session.should_stop()
        stop.load(True, session.raw_session())
        session.run(tf.train.get_global_step())
        assert session.should_stop()


def test_what_makes_no_hook_is_refused(tmp_path):
    with pytest.raises(TypeError, match="must have type `tf.estimator.Estimator`"):
        experimental.make_early_stopping_hook("model", lambda: True)
    with pytest.raises(ValueError, match="Only one of `run_every_secs`"):
        experimental.make_early_stopping_hook(
            estimator_in(tmp_path), lambda: True, run_every_steps=1
        )


def test_canned_models_are_parts_of_ones_own(session):
    columns = [tf.feature_column.numeric_column("x", 2)]
    features = {"x": tf.constant([[1.0, 2.0]])}
    linear = experimental.linear_logit_fn_builder(3, columns)
    network = experimental.dnn_logit_fn_builder(3, [4], columns, tf.nn.relu, None, None, False)
    with tf.variable_scope("mine"):
        first = experimental.call_logit_fn(linear, features, est.ModeKeys.EVAL, {}, None)
        second = experimental.call_logit_fn(network, features, est.ModeKeys.EVAL, {}, None)
    assert [variable.op.name for variable in tf.global_variables()] == [
        "mine/linear_model/x/weights",
        "mine/linear_model/bias_weights",
        "mine/hiddenlayer_0/kernel",
        "mine/hiddenlayer_0/bias",
        "mine/logits/kernel",
        "mine/logits/bias",
    ]
    session.run(tf.global_variables_initializer())
    assert session.run(first).tolist() == [[0, 0, 0]] and session.run(second).shape == (1, 3)
    with pytest.raises(ValueError, match="should return a Tensor"):
        experimental.call_logit_fn(lambda features: 3, features, None, None, None)
