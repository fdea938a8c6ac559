"""tf.keras.estimator.model_to_estimator: compiled models of Keras as Estimators."""

import numpy as np
import pytest

import millrace as tf

_X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(16, 4)
_Y = (_X.sum(1) > 0).astype(np.int32)


def _model(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=("accuracy",)):
    layers = tf.keras.layers
    model = tf.keras.models.Sequential(
        [
            layers.Dense(8, activation="tanh", input_shape=(4,), name="hidden"),
            layers.Dropout(0.1),
            layers.Dense(2, activation="softmax", name="classes"),
        ]
    )
    model.compile(optimizer, loss, metrics=list(metrics))
    return model


def _estimator(model, folder, **others):
    config = tf.estimator.RunConfig(tf_random_seed=1)
    return tf.keras.estimator.model_to_estimator(
        model, model_dir=str(folder), config=config, **others
    )


def _input_fn(name="hidden_input", epochs=1):
    return tf.estimator.inputs.numpy_input_fn(
        {name: _X}, _Y, batch_size=8, num_epochs=epochs, shuffle=False
    )


def test_a_model_trains_is_evaluated_and_asked(tmp_path):
    metrics = ["accuracy", tf.keras.metrics.SparseCategoricalAccuracy(name="right")]
    estimator = _estimator(_model(tf.keras.optimizers.Adam(0.05), metrics=metrics), tmp_path)
    estimator.train(_input_fn(epochs=None), steps=60)
    found = estimator.evaluate(_input_fn())
    assert found["global_step"] == 60 and found["loss"] < 0.2
    assert found["acc"] == found["right"] == 1
    answers = [each["classes"] for each in estimator.predict(_input_fn())]
    assert np.argmax(answers, 1).tolist() == _Y.tolist()
    kept = estimator.get_variable_names()
    assert {"hidden/kernel", "classes/bias", "global_step"} <= set(kept)


def test_training_begins_with_the_values_that_the_model_has(tmp_path):
    model = _model(tf.train.GradientDescentOptimizer(0.0))
    values, before = model.get_weights(), model.predict(_X)
    estimator = _estimator(model, tmp_path)
    estimator.train(_input_fn(epochs=None), steps=1)
    assert np.array_equal(estimator.get_variable_value("hidden/kernel"), values[0])
    after = np.array([each["classes"] for each in estimator.predict(_input_fn())])
    np.testing.assert_allclose(after, before, rtol=1e-5)


def test_training_keeps_moving_means(tmp_path):
    norm = tf.keras.layers.BatchNormalization(momentum=0.5, input_shape=(4,), name="norm")
    model = tf.keras.models.Sequential([norm, tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    estimator = _estimator(model, tmp_path)
    estimator.train(_input_fn("norm_input"), steps=1)
    kept = estimator.get_variable_value("norm/moving_mean")
    np.testing.assert_allclose(kept, _X[:8].mean(0) / 2, rtol=1e-5)


def test_metrics_count_batches_by_their_rows(tmp_path):
    estimator = _estimator(_model(metrics=["mae"], loss="mse"), tmp_path)

    def rows(count):
        def input_fn():
            labels = np.eye(2, dtype=np.float32)[_Y[:count]]
            return tf.data.Dataset.from_tensor_slices((_X[:count], labels)).batch(8)

        return input_fn

    estimator.train(rows(16), steps=1)
    whole = estimator.evaluate(rows(11))["mean_absolute_error"]
    answers = np.array([each["classes"] for each in estimator.predict(rows(11))])
    expected = np.abs(answers - np.eye(2)[_Y[:11]]).mean()
    np.testing.assert_allclose(whole, expected, rtol=1e-5)


def test_a_model_of_several_inputs_and_outputs_takes_dictionaries(tmp_path):
    layers = tf.keras.layers
    left, right = (tf.keras.Input((4,), name=name) for name in ("left", "right"))
    both = layers.concatenate([left, right])
    outputs = [layers.Dense(1, name="sum")(both), layers.Dense(1, name="difference")(both)]
    model = tf.keras.models.Model([left, right], outputs)
    model.compile(tf.train.AdamOptimizer(0.1), "mse")
    estimator = _estimator(model, tmp_path)

    def input_fn():
        a, b = _X.sum(1), _X[::-1].sum(1)
        labels = {"sum": a + b, "difference": a - b}
        features = {"right": _X[::-1], "left": _X}
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(300).batch(16)

    estimator.train(input_fn)
    found = estimator.evaluate(input_fn, steps=1)
    assert found["sum_loss"] < 0.1 and found["difference_loss"] < 0.1
    missing = tf.estimator.inputs.numpy_input_fn({"left": _X}, _Y, shuffle=False)
    with pytest.raises(KeyError, match=r"no \['right'\] in \['left'\]"):
        estimator.train(missing, steps=1)


def test_a_saved_model_with_an_activation_of_the_programs_own_is_loaded(tmp_path):
    def half(x):
        return x / 2

    model = tf.keras.models.Sequential([tf.keras.layers.Dense(1, half, input_shape=(4,), name="d")])
    model.compile("sgd", "mse")
    path = str(tmp_path / "kept")
    model.save(path, save_format="tf")
    estimator = tf.keras.estimator.model_to_estimator(
        keras_model_path=path, custom_objects={"half": half}, model_dir=str(tmp_path / "made")
    )
    estimator.train(_input_fn("d_input"), steps=1)
    assert estimator.get_variable_value("global_step") == 1


def test_replicas_train_one_model(tmp_path):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    model = _model(tf.keras.optimizers.Adam(0.05))
    config = tf.estimator.RunConfig(train_distribute=strategy, tf_random_seed=1)
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path), config=config)

    def input_fn():
        return tf.data.Dataset.from_tensor_slices((_X, _Y)).repeat(30).batch(16)

    estimator.train(input_fn)
    found = estimator.evaluate(input_fn, steps=1)
    assert found["global_step"] == 30 and found["acc"] == 1


def test_what_can_not_become_an_estimator_is_told(tmp_path):
    make = tf.keras.estimator.model_to_estimator
    with pytest.raises(ValueError, match="Either `keras_model` or `keras_model_path` needs"):
        make()
    with pytest.raises(ValueError, match="but not both"):
        make(_model(), "path")
    plain = tf.keras.models.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    with pytest.raises(ValueError, match="has not been compiled yet"):
        make(plain)
    unknown = tf.keras.models.Sequential([tf.keras.layers.Dense(1)])
    unknown.compile("sgd", "mse")
    with pytest.raises(ValueError, match="does not know its inputs yet"):
        make(unknown)
    with pytest.raises(ValueError, match="checkpoint_format"):
        make(_model(), checkpoint_format="other")
