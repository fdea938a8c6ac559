"""tf.contrib.learn: estimators with fit and arrays, metrics that programs choose, experiments."""

import numpy as np
import pytest

import millrace as tf

learn, layers = tf.contrib.learn, tf.contrib.layers
X = np.random.RandomState(0).uniform(-1, 1, [200, 2])
CLASSES = (X[:, 0] > X[:, 1]).astype(np.int64)
NUMBERS = (X[:, 0] - 2 * X[:, 1] + 0.5).astype(np.float32)


def model(features, labels, mode, params):
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    y = tf.reduce_sum(features * w, 1) + tf.get_variable("b", initializer=0.0)
    if mode == learn.ModeKeys.INFER:
        return learn.ModelFnOps(mode, {"y": y, "double": 2 * y})
    loss = tf.reduce_mean(tf.square(y - labels))
    descent = tf.train.GradientDescentOptimizer(params["rate"])
    train = descent.minimize(loss, tf.train.get_global_step())
    return learn.ModelFnOps(mode, {"y": y, "double": 2 * y}, loss, train)


def fitted(tmp_path, steps=100):
    estimator = learn.Estimator(model, str(tmp_path), params={"rate": 0.3})
    return estimator.fit(X, NUMBERS, steps=steps, batch_size=100)


def test_a_model_of_ones_own_fits_arrays(tmp_path):
    estimator = fitted(tmp_path)
    assert estimator.get_variable_value("w") == pytest.approx([1, -2], abs=0.05)
    assert "b" in estimator.get_variable_names() and estimator.model_dir == str(tmp_path)
    found = estimator.evaluate(X, NUMBERS)
    assert found["loss"] < 1e-2 and found["global_step"] == 100
    each = list(estimator.predict(X, outputs=["y"]))
    assert len(each) == 200 and set(each[0]) == {"y"}
    whole = estimator.predict(X, batch_size=60, as_iterable=False)
    np.testing.assert_allclose(whole["double"], [2 * one["y"] for one in each], rtol=1e-5)
    batches = list(estimator.predict(X, batch_size=60, iterate_batches=True))
    assert [len(batch["y"]) for batch in batches] == [60, 60, 60, 20]
    estimator.fit(X, NUMBERS, max_steps=100)  # that is done
    estimator.partial_fit(X, NUMBERS)
    assert estimator.evaluate(X, NUMBERS)["global_step"] == 101


def test_a_model_function_may_return_three_things(tmp_path):
    def plain(features, labels):
        w = tf.get_variable("w", initializer=1.0)
        loss = tf.reduce_mean(tf.square(features["x"] * w - labels["y"]))
        step = tf.train.get_global_step()
        return features["x"] * w, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss, step)

    def engineered(features, labels):
        return {"x": features["x"] * 2.0}, labels

    estimator = learn.Estimator(plain, str(tmp_path), feature_engineering_fn=engineered)
    given = {"x": np.ones(4, np.float32)}, {"y": np.full(4, 6, np.float32)}
    skilled = learn.SKCompat(estimator).fit(*given, steps=1)
    # The slope at w = 1 is 2 * (2 - 6) * 2.
    assert estimator.get_variable_value("w") == pytest.approx(9.0)
    assert skilled.predict(given[0]).tolist() == [18.0] * 4
    assert skilled.score(*given) == {"loss": pytest.approx(144.0)}


def test_programs_choose_metrics(tmp_path):
    estimator = fitted(tmp_path)
    metrics = {
        "error": learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error, "y"),
        "twice": learn.MetricSpec(tf.metrics.mean_absolute_error, prediction_key="double"),
        "mean": learn.MetricSpec(tf.contrib.metrics.streaming_mean, "y"),
        ("own", "y"): lambda guessed, wanted: tf.metrics.mean(guessed - wanted),
    }
    found = estimator.evaluate(X, NUMBERS, metrics=metrics)
    guessed = estimator.predict(X, as_iterable=False)["y"]
    assert found["error"] == pytest.approx(np.abs(guessed - NUMBERS).mean(), rel=1e-3)
    assert found["twice"] == pytest.approx(np.abs(2 * guessed - NUMBERS).mean(), rel=1e-3)
    assert found["mean"] == pytest.approx(guessed.mean(), rel=1e-3)
    assert found["own"] == pytest.approx((guessed - NUMBERS).mean(), abs=1e-4)
    for spec, error, text in (
        (learn.MetricSpec(tf.metrics.mean), ValueError, "without specified prediction_key"),
        (learn.MetricSpec(tf.metrics.mean, "z"), KeyError, "missing from"),
        (learn.MetricSpec(tf.metrics.mean, "y", "l"), ValueError, "requires labels dict"),
        (tf.metrics.mean_absolute_error, ValueError, "no prediction, but predictions are"),
    ):
        with pytest.raises(error, match=text):
            estimator.evaluate(X, NUMBERS, metrics={"m": spec})
    assert "prediction_key=y" in str(metrics["error"])


def test_what_is_not_trained_or_makes_no_sense_is_refused(tmp_path):
    estimator = learn.Estimator(model, str(tmp_path), params={"rate": 0.3})
    for call in (lambda: estimator.evaluate(X, NUMBERS), lambda: estimator.predict(X)):
        with pytest.raises(learn.NotFittedError, match="Couldn't find trained model"):
            call()
    for call, text in (
        (lambda: estimator.fit(X, NUMBERS), "say steps="),
        (lambda: estimator.fit(steps=1), "Either x or input_fn"),
        (lambda: estimator.fit(X, input_fn=lambda: None, steps=1), "Either x or input_fn"),
        (lambda: estimator.fit(iter([]), NUMBERS, steps=1), "arrays or dictionaries"),
        (lambda: learn.Estimator(lambda features, labels: None, params={}), "params"),
        (lambda: learn.ModelFnOps("train"), "Missing train_op"),
        (lambda: learn.ModelFnOps("other"), "Invalid mode"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def columns():
    return [layers.real_valued_column("", dimension=2)]


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: learn.LinearClassifier(columns(), folder, gradient_clip_norm=5.0),
        lambda folder: learn.DNNClassifier([8], columns(), folder),
        lambda folder: learn.DNNLinearCombinedClassifier(
            folder,
            linear_feature_columns=columns(),
            dnn_feature_columns=columns(),
            dnn_hidden_units=[8],
        ),
    ],
)
def test_canned_models_tell_classes_apart(tmp_path, make):
    classifier = make(str(tmp_path)).fit(X, CLASSES, steps=150)
    found = classifier.evaluate(X, CLASSES)
    assert found["accuracy"] > 0.85 and found["loss"] < 0.6
    classes = list(classifier.predict(X))
    assert np.mean(classes == CLASSES) == pytest.approx(found["accuracy"])
    shares = classifier.predict_proba(X, as_iterable=False)
    assert shares.shape == (200, 2) and np.array_equal(shares.argmax(1), classes)
    (one,) = classifier.predict(X[:1], outputs=["logits"])
    assert set(one) == {"logits"}


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: learn.LinearRegressor(columns(), folder),
        lambda folder: learn.DNNRegressor([8], columns(), folder),
        lambda folder: learn.DNNLinearCombinedRegressor(
            folder,
            linear_feature_columns=columns(),
            dnn_feature_columns=columns(),
            dnn_hidden_units=[8],
        ),
    ],
)
def test_canned_models_give_numbers(tmp_path, make):
    regressor = make(str(tmp_path)).fit(X, NUMBERS, steps=200)
    guessed = np.array(list(regressor.predict(X)))
    assert guessed.shape == (200,) and np.mean((guessed - NUMBERS) ** 2) < 0.5 * NUMBERS.var()
    assert regressor.predict_scores(X, as_iterable=False) == pytest.approx(guessed, rel=1e-4)


def test_metrics_are_of_what_canned_models_predict(tmp_path):
    three = CLASSES + (X[:, 0] > 0.5)
    key, metrics = learn.PredictionKey, tf.contrib.metrics
    classifier = learn.DNNClassifier([8], columns(), str(tmp_path / "of classes"), n_classes=3)
    classifier.fit(X, three, steps=20)
    (one,) = classifier.predict(X[:1], outputs=[key.CLASSES, key.PROBABILITIES, key.LOGITS])
    assert one["classes"].shape == () and one["classes"] == one["probabilities"].argmax()
    found = classifier.evaluate(
        X, three, metrics={"hits": learn.MetricSpec(metrics.streaming_accuracy, key.CLASSES)}
    )
    assert found["hits"] == pytest.approx(found["accuracy"])
    regressor = learn.LinearRegressor(columns(), str(tmp_path / "of numbers"))
    regressor.fit(X, NUMBERS, steps=20)
    squares = metrics.streaming_mean_squared_error
    found = regressor.evaluate(
        X,
        NUMBERS,
        metrics={
            "one": learn.MetricSpec(squares, key.SCORES),
            "other": learn.MetricSpec(squares),
            ("old", "scores"): squares,
        },
    )
    for name in ("one", "other", "old"):
        assert found[name] == pytest.approx(found["average_loss"], rel=1e-4)


def test_a_config_has_what_is_not_said():
    config = learn.RunConfig(save_checkpoints_steps=7, tf_random_seed=3)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (7, None)
    assert config.tf_random_seed == 3 and config.keep_checkpoint_max == 5
    plain = learn.RunConfig()
    assert (plain.save_checkpoints_steps, plain.save_checkpoints_secs) == (None, 600)
    model = learn.LinearClassifier(columns(), config=config)
    assert (model.config.save_checkpoints_steps, model.config.tf_random_seed) == (7, 3)


def test_labels_may_be_words(tmp_path):
    words = np.array(["no", "yes"])[CLASSES]
    inferred = learn.infer_real_valued_columns_from_input({"x": X})
    classifier = learn.LinearClassifier(inferred, str(tmp_path), label_keys=["no", "yes"])
    classifier.fit({"x": X}, words, steps=50)
    assert set(classifier.predict({"x": X})) == {b"no", b"yes"}
    with pytest.raises(NotImplementedError, match="enable_centered_bias"):
        learn.LinearClassifier(inferred, enable_centered_bias=True)


def inputs():
    return tf.constant(X, tf.float32), tf.constant(NUMBERS)


def experiment(output_dir, **arguments):
    config = learn.RunConfig(model_dir=output_dir, save_checkpoints_steps=5)
    estimator = learn.Estimator(model, config=config, params={"rate": 0.3})
    return learn.Experiment(estimator, inputs, inputs, train_steps=20, eval_steps=1, **arguments)


def test_an_experiment_trains_and_evaluates(tmp_path):
    metrics = {"error": learn.MetricSpec(tf.metrics.mean_absolute_error, "y")}
    found, exported = learn.learn_runner.run(
        lambda output_dir: experiment(output_dir, eval_metrics=metrics), str(tmp_path)
    )
    assert found["global_step"] == 20 and found["error"] < 1 and exported == []
    events = {
        event.step
        for event in tf.train.summary_iterator(str(next((tmp_path / "eval").iterdir())))
        if event.summary.value
    }
    assert len(events) > 1 or len(list((tmp_path / "eval").iterdir())) > 1
    made = experiment(str(tmp_path), eval_delay_secs=0)
    assert made.evaluate()["global_step"] == 20
    with pytest.raises(ValueError, match="schedules are .*'train_and_evaluate'"):
        learn.learn_runner.run(lambda output_dir: made, str(tmp_path), "dance")
    with pytest.raises(TypeError, match="did not return an Experiment"):
        learn.learn_runner.run(lambda output_dir: None, str(tmp_path))
    with pytest.raises(NotImplementedError, match="export_strategies="):
        experiment(str(tmp_path), export_strategies=[1])


def test_a_monitor_stops_what_gets_no_better(tmp_path):
    def worse(features, labels, mode):
        step = tf.train.get_global_step()
        loss = tf.cast(step, tf.float32) + tf.get_variable("w", initializer=0.0)
        return features, loss, tf.assign_add(step, 1).op

    config = learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=2)
    monitor = learn.monitors.ValidationMonitor(
        input_fn=inputs, eval_steps=1, every_n_steps=1, early_stopping_rounds=6
    )
    estimator = learn.Estimator(worse, config=config)
    estimator.fit(input_fn=inputs, steps=100, monitors=[monitor])
    assert monitor.early_stopped and monitor.best_metrics["loss"] == monitor.best_value
    assert 6 <= int(estimator.get_variable_value("global_step")) < 20
    with pytest.raises(ValueError, match="Either x or input_fn"):
        learn.monitors.ValidationMonitor()


def test_a_model_is_exported_and_served(tmp_path):
    estimator = fitted(tmp_path, steps=1)

    def serving():
        x = tf.placeholder(tf.float32, [None, 2])
        return learn.InputFnOps(x, None, {"x": x})

    path = estimator.export_savedmodel(str(tmp_path / "out"), serving)
    predict = tf.contrib.predictor.from_saved_model(path.decode())
    ours = estimator.predict(X[:3], as_iterable=False)
    np.testing.assert_allclose(predict({"x": X[:3]})["y"], ours["y"], rtol=1e-5)
    predict.session.close()
