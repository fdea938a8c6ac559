"""Callbacks of tf.keras, and data that comes batch by batch: Sequences, iterators, Datasets."""

import csv
import re

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(33)
keras, callbacks = tf.keras, tf.keras.callbacks


def values(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def compiled(rate=0.1):
    model = keras.Sequential([keras.layers.Dense(1, input_dim=3)])
    model.compile(keras.optimizers.SGD(rate), "mse", metrics=["mae"])
    return model


def test_the_rate_becomes_smaller_where_nothing_becomes_better(capsys):
    model = compiled(0.5)
    plateau = callbacks.ReduceLROnPlateau(
        monitor="loss", factor=0.5, patience=2, min_delta=1e9, cooldown=1, min_lr=0.1, verbose=1
    )
    history = model.fit(values(8, 3), values(8, 1), epochs=9, verbose=0, callbacks=[plateau])
    # The first epoch is the best; two later the rate falls, one more does not count, and so on.
    assert np.allclose(history.history["lr"], [0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.1, 0.1])
    assert "reducing learning rate to 0.25" in capsys.readouterr().out
    with pytest.raises(ValueError, match="factor"):
        callbacks.ReduceLROnPlateau(factor=1.5)
    for each in (
        callbacks.ReduceLROnPlateau(),
        callbacks.EarlyStopping(),
        callbacks.ModelCheckpoint("nowhere", save_best_only=True),
    ):
        with pytest.warns(UserWarning, match=f"{type(each).__name__} looks at `val_loss`"):
            model.fit(values(8, 3), values(8, 1), verbose=0, callbacks=[each])


def test_losses_are_lines_of_a_file(tmp_path):
    model, path = compiled(), tmp_path / "log.csv"
    x, y = values(8, 3), values(8, 1)
    first = model.fit(x, y, epochs=2, verbose=0, callbacks=[callbacks.CSVLogger(str(path))])
    more = callbacks.CSVLogger(str(path), append=True)
    model.fit(x, y, epochs=3, initial_epoch=2, verbose=0, callbacks=[more])
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "2"] and set(rows[0]) > {
        "loss",
        "mean_absolute_error",
    }
    assert np.allclose([float(row["loss"]) for row in rows[:2]], first.history["loss"])


def test_tensorboard_gets_the_graph_and_what_epochs_and_batches_say(tmp_path):
    model = compiled()
    board = callbacks.TensorBoard(str(tmp_path), update_freq="batch")
    history = model.fit(
        values(8, 3), values(8, 1), batch_size=4, epochs=2, verbose=0, callbacks=[board]
    )
    (file,) = tmp_path.iterdir()
    events = list(tf.train.summary_iterator(str(file)))
    assert any(event.graph_def for event in events)
    found = {}
    for event in events:
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert [step for step, _ in found["batch_loss"]] == [1, 2, 3, 4]
    assert [step for step, _ in found["epoch_mean_absolute_error"]] == [0, 1]
    assert np.allclose([value for _, value in found["epoch_loss"]], history.history["loss"])
    with pytest.raises(NotImplementedError, match="tf.summary"):
        callbacks.TensorBoard(histogram_freq=1)


def test_training_ends_where_the_loss_is_no_number(capsys):
    model = compiled(1e30)
    history = model.fit(
        values(8, 3), values(8, 1), epochs=9, verbose=0, callbacks=[callbacks.TerminateOnNaN()]
    )
    assert len(history.epoch) < 9 and "Invalid loss" in capsys.readouterr().out
    # With the batch, not with the epoch.
    seen = []
    watch = callbacks.LambdaCallback(on_batch_end=lambda batch, logs: seen.append(batch))
    model.fit(
        values(8, 3),
        values(8, 1),
        batch_size=2,
        verbose=0,
        callbacks=[callbacks.TerminateOnNaN(), watch],
    )
    assert seen == [0]


class Batches(keras.utils.Sequence):
    """Batches of two, and how often an epoch ended."""

    def __init__(self, x, y):
        self.x, self.y, self.ends = x, y, 0

    def __len__(self):
        return len(self.x) // 2

    def __getitem__(self, index):
        rows = slice(2 * index, 2 * index + 2)
        return self.x[rows], self.y[rows]

    def on_epoch_end(self):
        self.ends += 1


def test_sequences_iterators_and_datasets_train_as_arrays_do():
    x, y = values(8, 3), values(8, 1)
    model = compiled()
    begin = model.get_weights()
    wanted = model.fit(x, y, batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"]
    loss, weights = model.evaluate(x, y, batch_size=2, verbose=0), model.get_weights()
    sequence = Batches(x, y)

    def forever():
        while True:
            yield from sequence

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(2).repeat()
    for data, options in [
        (sequence, {}),
        (forever(), {"steps_per_epoch": 4}),
        (dataset, {"steps_per_epoch": 4}),
    ]:
        model.set_weights(begin)
        found = model.fit(data, epochs=2, shuffle=False, verbose=0, **options).history["loss"]
        assert np.allclose(found, wanted, atol=1e-6)
        assert np.allclose(model.get_weights()[0], weights[0], atol=1e-6)
    assert sequence.ends == 2
    assert np.allclose(model.evaluate_generator(sequence), loss, atol=1e-6)
    assert np.allclose(model.evaluate(dataset, steps=4, verbose=0), loss, atol=1e-6)
    predicted = model.predict(x)
    assert np.allclose(model.predict_generator(sequence), predicted, atol=1e-6)
    assert np.allclose(model.predict(dataset, steps=4), predicted, atol=1e-6)
    model.set_weights(begin)
    history = model.fit_generator(
        sequence, epochs=1, verbose=0, workers=4, validation_data=sequence
    )
    measured = ["loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error"]
    assert sorted(history.history) == measured
    with pytest.raises(ValueError, match="steps"):
        model.predict(forever())
    with pytest.raises(ValueError, match="labels and weights itself"):
        model.fit(sequence, y)


class Told(callbacks.Callback):
    """What is told, in its order."""

    def __init__(self):
        self.words = []

    def __getattribute__(self, name):
        if name.startswith("on_") and "train_batch" not in name:
            self.words.append(name.removeprefix("on_"))
        return super().__getattribute__(name)


def test_callbacks_are_told_of_training_evaluation_and_prediction():
    model, told, x, y = compiled(), Told(), values(4, 3), values(4, 1)
    model.fit(x, y, batch_size=2, verbose=0, callbacks=[told], validation_data=(x[:2], y[:2]))
    assert told.words == [
        "train_begin",
        "epoch_begin",
        *["batch_begin", "batch_end"] * 2,
        "test_begin",
        "test_batch_begin",
        "test_batch_end",
        "test_end",
        "epoch_end",
        "train_end",
    ]
    assert told.params == {
        "batch_size": 2,
        "epochs": 1,
        "steps": None,
        "samples": 4,
        "verbose": 0,
        "do_validation": True,
        "metrics": ["loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error"],
    }
    told.words.clear()
    model.evaluate(x, y, verbose=0, callbacks=[told])
    model.predict(x, callbacks=[told])
    assert told.words == [
        f"{what}{end}"
        for what in ("test", "predict")
        for end in ("_begin", "_batch_begin", "_batch_end", "_end")
    ]


def test_a_model_is_saved_after_epochs_or_samples(tmp_path):
    model, x, y = compiled(), values(8, 3), values(8, 1)
    for options, names in [
        ({"period": 2}, ["2", "4"]),
        ({"save_freq": 12}, ["2", "3"]),
    ]:
        folder = tmp_path / names[0] / names[1]
        keeps = callbacks.ModelCheckpoint(
            folder / "{epoch}.model", save_weights_only=True, **options
        )
        model.fit(x, y, batch_size=4, epochs=4, verbose=0, callbacks=[keeps])
        found = {each.name.partition(".")[0] for each in folder.glob("*.index")}
        assert sorted(found) == names, options
    with pytest.raises(ValueError, match="save_freq"):
        callbacks.ModelCheckpoint("x", save_freq="day")


def test_what_is_printed_is_what_tensorflow_1_prints(tmp_path, capsys):
    def printed(text=None):
        found = (capsys.readouterr().out if text is None else text).replace("\b", "")
        # The last of what a line said, without times and rates.
        lines = [line.rpartition("\r")[2].rstrip() for line in found.split("\n")]
        return [re.sub(r" - \d+s( \d+[mu]?s/)?", " - ", line) for line in lines]

    model, x, y = compiled(0.0), values(70, 3), values(70, 1)
    loss, error = model.evaluate(x, y, verbose=0)
    numbers = f"loss: {loss:.4f} - mean_absolute_error: {error:.4f}"
    model.fit(x, y, epochs=2, batch_size=35, validation_data=(x, y))
    told = f"70/70 [{'=' * 30}] - sample - {numbers} - val_loss: {loss:.4f}"
    told += f" - val_mean_absolute_error: {error:.4f}"
    start = "Train on 70 samples, validate on 70 samples"
    assert printed() == [start, "Epoch 1/2", told, "Epoch 2/2", told, ""]
    model.fit(x, y, batch_size=35, verbose=2)
    assert printed() == ["Train on 70 samples", f"70/70 -  - {numbers}", ""]
    steps = f"2/2 [{'=' * 30}] - step - {numbers}"
    model.fit_generator(iter([(x, y)] * 2), steps_per_epoch=2)
    assert printed() == [steps, ""]
    model.evaluate(iter([(x, y)] * 2), steps=2)
    assert printed() == [steps, ""]
    twice = tf.data.Dataset.from_tensors((x, y)).repeat(2)
    model.fit(twice)
    assert printed() == ["Train on 2 steps", steps, ""]
    model.fit(twice.filter(lambda *_: True))  # how much there is shows at the end
    assert printed() == ["Train on None steps", steps, ""]
    with pytest.raises(ValueError, match="When passing an infinitely repeating dataset"):
        model.fit(twice.repeat())
    model.predict(x, verbose=1)
    assert printed() == [f"70/70 [{'=' * 30}] - sample", ""]
    keeps = callbacks.ModelCheckpoint(
        str(tmp_path / "kept"), "loss", verbose=1, save_best_only=True, save_weights_only=True
    )
    model.fit(x, y, batch_size=70, epochs=2, callbacks=[keeps])
    found = printed()
    said = f"Epoch 00001: loss improved from inf to {loss:.5f}, saving model to {tmp_path / 'kept'}"
    assert said in found and f"Epoch 00002: loss did not improve from {loss:.5f}" in found
