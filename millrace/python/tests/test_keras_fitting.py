"""What fit and evaluate make of data: weights, masks, losses of some outputs, datasets and iterators."""

import numpy as np
import pytest

import millrace as tf

keras, layers = tf.keras, tf.keras.layers


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def of_two_outputs(**options):
    x = keras.Input([2])
    model = keras.Model(x, [layers.Dense(1, name="a")(x), layers.Dense(1, name="b")(x)])
    model.compile("sgd", "mse", **options)
    return model


def line(*args, **options):
    model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", *(args or ["mse"]), **options)
    return model


def test_what_a_mask_leaves_out_is_not_measured():
    model = keras.Sequential(
        [
            layers.Embedding(5, 3, mask_zero=True, input_length=4),
            layers.Dense(2, activation="softmax"),
        ]
    )
    metrics = ["accuracy", keras.metrics.SparseCategoricalAccuracy(name="running")]
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=metrics)
    model.set_weights([np.zeros((5, 3)), np.zeros((3, 2)), np.array([1.0, 0.0])])
    ids = np.array([[1, 2, 0, 0], [1, 2, 3, 4], [1, 0, 0, 0]])
    labels = np.array([[0, 1, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0]])[..., None]
    # Four of the seven that are there are right, in whatever batches they come.
    for size in (1, 3):
        _, *measured = model.evaluate(ids, labels, batch_size=size, verbose=0)
        np.testing.assert_allclose(measured, [4 / 7, 4 / 7], rtol=1e-6)


def test_each_output_has_weights_of_its_own():
    model, x = of_two_outputs(), numbers(4, 2)
    y = [made + 1 for made in model.predict(x)]
    first, second = np.array([1.0, 0.0, 2.0, 1.0]), np.array([3.0, 1.0, 0.0, 0.0])
    for given in ([first, second], {"a": first, "b": second}):
        losses = model.test_on_batch(x, y, sample_weight=given)
        np.testing.assert_allclose(losses, [2.0, 1.0, 1.0], rtol=1e-5)
    losses = model.test_on_batch(x, y, sample_weight={"b": 2 * second})
    np.testing.assert_allclose(losses, [3.0, 1.0, 2.0], rtol=1e-5)
    classes = [np.array([0, 0, 1, 1])] * 2
    model.fit(x, classes, class_weight={"a": {0: 1.0, 1: 2.0}}, verbose=0)
    with pytest.raises(ValueError, match="There are 3 for 2 outputs"):
        model.fit(x, classes, sample_weight=[first] * 3, verbose=0)


def test_times_of_a_sample_have_weights():
    model = keras.Sequential([layers.Dense(1, input_shape=(3, 2))])
    model.compile(
        "sgd", "mse", sample_weight_mode="temporal", metrics=["mae"], weighted_metrics=["mae"]
    )
    x = numbers(2, 3, 2)
    y = model.predict(x) + np.arange(1, 4)[:, None]
    weights = np.array([[1, 0, 0], [0, 0, 1]])
    assert model.metrics_names == ["loss", "mean_absolute_error", "weighted_mean_absolute_error"]
    made = model.evaluate(x, y, sample_weight=weights, verbose=0)
    np.testing.assert_allclose(made, [(1 + 9) / 6, 2.0, 2.0], rtol=1e-5)
    weights[1, 2] = 3
    made = model.evaluate(x, y, sample_weight=weights, verbose=0)
    np.testing.assert_allclose(made, [(1 + 27) / 6, 2.0, 10 / 4], rtol=1e-5)
    with pytest.raises(ValueError, match=r"it must be \(2, 3\)"):
        model.fit(x, y, sample_weight=[1, 2], verbose=0)


def test_outputs_without_a_loss_take_no_labels():
    x = keras.Input([2])
    model = keras.Model(x, [layers.Dense(1, name="a")(x), layers.Dense(3, name="b")(x)])
    model.compile("sgd", {"a": "mse"}, metrics={"a": ["mae"]})
    assert model.metrics_names == ["loss", "a_loss", "a_mean_absolute_error"]
    history = model.fit(numbers(4, 2), {"a": numbers(4, 1)}, verbose=0).history
    np.testing.assert_allclose(history["loss"], history["a_loss"])
    with pytest.raises(ValueError, match="no labels for these"):
        model.fit(numbers(4, 2), verbose=0)
    with pytest.raises(ValueError, match=r"no outputs \['c'\]"):
        model.compile("sgd", {"c": "mse"})
    model = keras.Model(x, layers.Dense(1)(x))
    with pytest.raises(ValueError, match="no loss to optimize"):
        model.compile("sgd")
    model.add_loss(tf.reduce_mean(tf.square(model.output - 1.0)))
    model.compile(keras.optimizers.SGD(0.1))
    losses = model.fit(np.ones((8, 2)), epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 1e-3 and model.evaluate(np.ones((8, 2)), verbose=0) < 1e-3


def test_two_outputs_do_not_count_into_one_metric():
    model = of_two_outputs(metrics=[keras.metrics.MeanAbsoluteError(name="mae")])
    x = numbers(4, 2)
    a, b = model.predict(x)
    measured = dict(zip(model.metrics_names, model.test_on_batch(x, [a + 1, b + 3])))
    np.testing.assert_allclose([measured["a_mae"], measured["b_mae"]], [1.0, 3.0], rtol=1e-5)


def test_a_dataset_without_steps_is_gone_through_in_each_epoch():
    x, y = numbers(8, 2), numbers(8, 1)
    model = line()
    begin = model.get_weights()
    wanted = model.fit(x, y, batch_size=3, epochs=2, shuffle=False, verbose=0).history["loss"]
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(3)
    model.set_weights(begin)
    history = model.fit(dataset, epochs=2, verbose=0, validation_data=dataset).history
    np.testing.assert_allclose(history["loss"], wanted, rtol=1e-5)
    nodes = tf.get_default_graph().version
    for _ in range(3):
        np.testing.assert_allclose(
            model.evaluate(dataset, verbose=0), history["val_loss"][-1], rtol=1e-5
        )
        np.testing.assert_allclose(model.predict(dataset), model.predict(x), rtol=1e-5)
    assert tf.get_default_graph().version == nodes


def test_data_that_runs_out_ends_training_with_a_word():
    model = line()
    pairs = ((numbers(4, 2), numbers(4, 1)) for _ in range(5))
    with pytest.warns(UserWarning, match="ran out after 1 of 2 batches"):
        history = model.fit(pairs, steps_per_epoch=2, epochs=9, verbose=0)
    assert history.epoch == [0, 1, 2]
    with pytest.warns(UserWarning, match="ran out after 0"):
        with pytest.raises(ValueError, match="no samples"):
            model.fit(pairs, steps_per_epoch=2, verbose=0)


def test_what_is_validated_is_looked_at_before_training():
    model, seen = line(), []
    watch = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: seen.append(epoch))
    x, y = numbers(4, 2), numbers(4, 1)
    endless = iter([(x, y)])
    for options, words in [
        ({"validation_data": endless}, "how many steps"),
        ({"validation_data": (x, y[:2])}, "same number of samples"),
        ({"validation_split": 0.9}, "leaves no samples"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(x, y, verbose=0, callbacks=[watch], **options)
    with pytest.raises(ValueError, match="for arrays alone"):
        model.fit(iter([(x, y)]), steps_per_epoch=1, validation_split=0.5)
    assert not seen
    history = model.fit(x, y, epochs=4, verbose=0, validation_split=0.5, validation_freq=2)
    assert len(history.history["loss"]) == 4 and len(history.history["val_loss"]) == 2
    history = model.fit(x, y, epochs=4, verbose=0, validation_split=0.5, validation_freq=[1, 3, 4])
    assert len(history.history["val_loss"]) == 3


def test_weights_of_classes_are_for_batches_too():
    x, y = numbers(4, 2), np.array([0.0, 1.0, 1.0, 0.0])
    model = line()
    weighted = {0: 1.0, 1: 3.0}
    begin = model.get_weights()
    wanted = model.fit(x, y, class_weight=weighted, verbose=0, shuffle=False).history["loss"]
    model.set_weights(begin)
    found = model.fit_generator(iter([(x, y)]), 1, class_weight=weighted, verbose=0)
    np.testing.assert_allclose(found.history["loss"], wanted, rtol=1e-6)


def test_metrics_are_called_as_in_tensorflow_1():
    def distance(y_true, y_pred):
        return keras.backend.mean(y_true - y_pred)

    model = keras.Sequential([layers.Dense(2, activation="softmax", input_shape=(3,))])
    asked = ["accuracy", "acc", "mae", "MSE", "crossentropy", "ce", distance, "cosine"]
    model.compile("sgd", "categorical_crossentropy", metrics=asked, weighted_metrics=["acc"])
    names = "acc mean_absolute_error mean_squared_error ce distance cosine_proximity weighted_acc"
    assert model.metrics_names == ["loss", *names.split()]
    x, y = np.ones((8, 3), np.float32), np.eye(2)[np.arange(8) % 2]
    told = model.fit(x, y, verbose=0, validation_split=0.5).history
    assert sorted(told) == sorted(
        [*model.metrics_names, *(f"val_{name}" for name in model.metrics_names)]
    )
    np.testing.assert_allclose(told["ce"], told["loss"], rtol=1e-5)
    # The entropy that fits the loss.
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["ce"])
    loss, entropy = model.evaluate(x, np.arange(8) % 2, verbose=0)
    assert entropy == pytest.approx(loss, rel=1e-5)
