"""Keras's models and weights in HDF5, by a stand-in for the library that writes it."""

import sys
import types

import numpy as np
import pytest

import millrace as tf

keras, layers, models = tf.keras, tf.keras.layers, tf.keras.models


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def trained():
    model = keras.Sequential(
        [layers.Dense(5, activation="relu", input_shape=(3,)), layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.05, beta_1=0.8), "mse", metrics=["mae"])
    model.fit(numbers(16, 3), numbers(16, 1, seed=2), epochs=2, verbose=0)
    return model


def go_on(model):
    history = model.fit(numbers(16, 3), numbers(16, 1, seed=2), epochs=3, verbose=0, shuffle=False)
    return history.history["loss"]


def test_hdf5_files_say_what_they_need(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="need h5py: install it"):
        trained().save(tmp_path / "model.h5")
    with pytest.raises(ImportError, match="need h5py"):
        trained().save_weights(tmp_path / "weights.h5")
    assert not list(tmp_path.iterdir())


class Held:
    """What h5py gives for a group: names, attributes, arrays."""

    def __init__(self, name="/"):
        self.name, self.attrs, self.items = name, {}, {}

    def create_group(self, name):
        return self.items.setdefault(name, Held(name))

    def create_dataset(self, name, data):
        self.items[name] = np.array(data)

    def __getitem__(self, name):
        return self.items[name]

    def __contains__(self, name):
        return name in self.items


class HeldFile(Held):
    files = []

    def __new__(cls, file, mode):
        if mode == "r":
            return cls.files[int(file.read())]
        made = super().__new__(cls)
        file.write(str(len(cls.files)).encode())
        cls.files.append(made)
        return made

    def __init__(self, file, mode):
        if mode == "w":
            super().__init__()
        self.filename = "held"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass


def test_hdf5_files_keep_models_and_weights(tmp_path, monkeypatch):
    # Whatever the library does: here are the names and the order.
    monkeypatch.setitem(sys.modules, "h5py", types.SimpleNamespace(File=HeldFile))
    model = trained()
    model.save(tmp_path / "model.h5")
    made, losses = model.predict(numbers(4, 3)), go_on(model)
    back = models.load_model(tmp_path / "model.h5")
    np.testing.assert_allclose(back.predict(numbers(4, 3)), made, rtol=1e-6)
    np.testing.assert_allclose(go_on(back), losses, rtol=1e-5)
    model.save_weights(tmp_path / "weights.h5")
    file = HeldFile.files[-1]
    assert [each.decode() for each in file.attrs["layer_names"]] == ["dense", "dense_1"]
    assert list(file["dense"].items) == ["dense/kernel:0", "dense/bias:0"]
    inner = keras.Sequential([layers.BatchNormalization(input_shape=(2,)), layers.Dense(2)])
    nested = keras.Sequential([inner, layers.Dense(1)])
    values = [np.full(each.shape, i, np.float32) for i, each in enumerate(nested.get_weights())]
    nested.set_weights(values)
    nested.save_weights(tmp_path / "nested.h5")
    # What trains comes first, though the model has it layer by layer.
    kept = HeldFile.files[-1][inner.name].items
    assert [int(each.flat[0]) for each in kept.values()] == [0, 1, 4, 5, 2, 3]
    nested.set_weights([0 * each for each in values])
    nested.load_weights(tmp_path / "nested.h5")
    assert [int(each.flat[0]) for each in nested.get_weights()] == list(range(8))
    other = keras.Sequential([layers.Dense(1, name="dense_1", input_shape=(5,))])
    other.load_weights(tmp_path / "weights.h5", by_name=True)
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[2])
    file.attrs["layer_names"] = file.attrs["layer_names"][1:]
    other = keras.Sequential([layers.Dense(2, input_shape=(5,))])
    with pytest.raises(ValueError, match=r"of shape \(5, 2\) is of shape \(5, 1\) in dense_1"):
        other.load_weights(tmp_path / "weights.h5")
    other = keras.Sequential([layers.Dense(1, input_shape=(5,)), layers.Dense(1)])
    with pytest.raises(ValueError, match="containing 1 layers into a model with 2"):
        other.load_weights(tmp_path / "weights.h5")


def test_a_state_of_an_optimizer_that_does_not_fit_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", types.SimpleNamespace(File=HeldFile))
    model = trained()
    model.save(tmp_path / "model.h5")
    held = HeldFile.files[-1]["optimizer_weights"]
    held.attrs["weight_names"] = held.attrs["weight_names"][:-1]
    with pytest.warns(
        UserWarning, match="the optimizer begins anew.*has 9 weights and was given 8"
    ):
        back = models.load_model(tmp_path / "model.h5")
    np.testing.assert_allclose(back.predict(numbers(4, 3)), model.predict(numbers(4, 3)))
