"""Metrics of tf.keras as objects; tests/interop has their values beside TensorFlow's."""

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(21)
keras, K, km = tf.keras, tf.keras.backend, tf.keras.metrics


def run(x):
    return K.get_session().run(x)


def test_a_metric_counts_each_batch_until_it_is_reset():
    mean = km.Mean()
    batch = K.placeholder((None,))
    value = mean(batch)
    session = K.get_session()
    assert session.run(value, {batch: [1.0, 3.0]}) == 2
    assert session.run(value, {batch: [8.0]}) == 4
    mean.reset_states()
    assert session.run(value, {batch: [5.0]}) == 5
    assert mean.name == "mean" and [v.op.name for v in mean.variables] == [
        "mean/total",
        "mean/count",
    ]
    assert not tf.global_variables() and not tf.trainable_variables()


def test_means_of_tensors_sums_and_relative_errors():
    tensors = km.MeanTensor()
    with pytest.raises(ValueError, match="any result yet"):
        tensors.result()
    run(tensors.update_state([1.0, 2.0], sample_weight=[1.0, 3.0]))
    run(tensors.update_state([3.0, 6.0]))
    assert run(tensors.result()).tolist() == [2, 3]
    with pytest.raises(ValueError, match="same shape"):
        tensors.update_state([1.0])
    total = km.Sum()
    run(total.update_state([[1.0, 2.0], [3.0, 5.0]], sample_weight=[1.0, 2.0]))
    assert run(total.result()) == 1.5 + 8
    relative = km.MeanRelativeError(normalizer=[1.0, 0.0, 2.0])
    run(relative.update_state([1.0, 2.0, 3.0], [2.0, 5.0, 7.0]))
    assert run(relative.result()) == 1


def test_one_rate_at_the_threshold_of_another():
    y = RNG.integers(0, 2, 50).astype(np.float32)
    p = np.clip(0.3 * y + RNG.uniform(size=50) * 0.7, 0, 1).astype(np.float32)
    thresholds = np.array([0, *(np.arange(1, 9) / 9), 1], np.float32)
    above = p > thresholds[:, None]
    sensitivity = (above * y).sum(1) / y.sum()
    specificity = (~above * (1 - y)).sum(1) / (1 - y).sum()
    first = km.SensitivityAtSpecificity(0.7, num_thresholds=10)
    second = km.SpecificityAtSensitivity(0.4, num_thresholds=10)
    run([first.update_state(y, p), second.update_state(y, p)])
    assert np.isclose(run(first.result()), sensitivity[abs(specificity - 0.7).argmin()])
    assert np.isclose(run(second.result()), specificity[abs(sensitivity - 0.4).argmin()])


def test_models_run_metrics_over_all_batches_of_an_epoch():
    class Largest(km.Metric):
        """The largest prediction so far."""

        def __init__(self):
            super().__init__("largest")
            self.seen = self.add_weight("seen")

        def update_state(self, y_true, y_pred, sample_weight=None):
            return self.seen.assign(tf.maximum(self.seen.read_value(), tf.reduce_max(y_pred)))

        def result(self):
            return self.seen.read_value()

    x = RNG.normal(size=(30, 4)).astype(np.float32)
    y = RNG.normal(size=(30, 1)).astype(np.float32)
    model = keras.Sequential([keras.layers.Dense(1, input_dim=4)])
    model.compile("sgd", keras.losses.LogCosh(), metrics=[Largest(), "RootMeanSquaredError", "mae"])
    assert model.metrics_names == [
        "loss",
        "largest",
        "root_mean_squared_error",
        "mean_absolute_error",
    ]
    model.fit(x, y, epochs=2, verbose=0)
    predicted = model.predict(x)
    _, largest, root, mae = model.evaluate(x, y, batch_size=7, verbose=0)
    assert np.isclose(largest, max(predicted.max(), 0))
    assert np.isclose(root, ((predicted - y) ** 2).mean() ** 0.5, atol=1e-5)
    assert np.isclose(mae, abs(predicted - y).mean(), atol=1e-5)
    assert np.isclose(model.test_on_batch(x[:3], y[:3])[1], max(predicted[:3].max(), 0))


def test_metrics_and_losses_come_by_names_and_settings():
    assert isinstance(km.get("AUC"), km.AUC) and km.get("mse") is km.mse
    told = km.serialize(km.BinaryAccuracy(threshold=0.7))
    assert told["class_name"] == "BinaryAccuracy" and km.deserialize(told).settings == {
        "threshold": 0.7
    }
    assert km.serialize(km.mse) == "mean_squared_error"
    loss = keras.losses.deserialize(keras.losses.serialize(keras.losses.Huber(2.0)))
    assert loss.settings == {"delta": 2.0}
    with keras.utils.custom_object_scope({"ours": abs}):
        assert keras.losses.get("ours") is abs
    for wrong, message in [
        (lambda: km.get("nearly"), "Unknown metric function: nearly"),
        (lambda: keras.losses.get("ours"), "Unknown loss function: ours"),
        (lambda: km.AUC(curve="flat"), "Invalid AUC curve"),
        (lambda: km.Precision(1.5), "Threshold values"),
        (lambda: km.SensitivityAtSpecificity(2), "specificity"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
