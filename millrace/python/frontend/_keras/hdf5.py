"""Keras's HDF5 files: a model's architecture, weights and training, or its weights alone.

    attributes: model_config, training_config, backend, keras_version
    model_weights/                  attribute layer_names; without this group where the weights are alone
        <layer>/                    attribute weight_names
            <name of a weight>      an array
    optimizer_weights/              attribute weight_names, and the arrays

Names are lists of bytes; one that is too long for an attribute is in several, with numbers behind theirs.
"""

import io
import json
import warnings
from importlib import import_module

import numpy as np

from millrace._files import paths
from millrace._keras import architectures, sessions

ENDINGS = (".h5", ".hdf5", ".keras")
_MAGIC = b"\x89HDF\r\n\x1a\n"
_MOST = 64512  # bytes of an attribute


def library():
    """The module h5py. ImportError if it is not installed."""
    try:
        return import_module("h5py")
    except ImportError:
        raise ImportError(
            "HDF5 files need h5py: install it, or give a name without .h5 to save in a format that needs "
            "nothing else"
        ) from None


def is_one(path):
    """Whether a file is there that begins as HDF5 does."""
    if not paths.isfile(path):
        return False
    with paths.open_file(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _put_names(group, key, names):
    encoded = [name.encode() for name in names]
    size = max(map(len, encoded), default=1)
    if size > _MOST:
        raise ValueError(f"A name of {size} bytes is too long for {key} of an HDF5 file")
    at_once = _MOST // size
    if len(encoded) <= at_once:
        group.attrs[key] = np.array(encoded, f"S{size}")
        return
    for i, begin in enumerate(range(0, len(encoded), at_once)):
        group.attrs[f"{key}{i}"] = np.array(encoded[begin : begin + at_once], f"S{size}")


def _names(group, key):
    """A list of names. ValueError if there is none."""
    if key in group.attrs:
        found = list(group.attrs[key])
    else:
        found, i = [], 0
        while f"{key}{i}" in group.attrs:
            found += list(group.attrs[f"{key}{i}"])
            i += 1
        if not i:
            raise ValueError(
                f"{group.file.filename}: {group.name} has no {key}: no file of Keras's"
            )
    return [name.decode() if isinstance(name, bytes) else str(name) for name in found]


def _put_arrays(group, names, values):
    _put_names(group, "weight_names", names)
    for name, value in zip(names, values):
        group.create_dataset(name, data=np.asarray(value))


def _arrays(group):
    return [np.asarray(group[name]) for name in _names(group, "weight_names")]


def _ordered(layer):
    """A layer's variables in the order of files: those that train first, also where it is a model, whose own
    order is layer by layer."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def _put_layers(group, model):
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = architectures.VERSION.encode()
    _put_names(group, "layer_names", [layer.name for layer in model.layers])
    for layer in model.layers:
        weights = _ordered(layer)
        names = [weight.name for weight in weights]
        values = sessions.batch_get_value(weights)
        _put_arrays(group.create_group(layer.name), names, values)


def _written(path, fill):
    """Writes a file whole, by what `fill` does to an open one."""
    held = io.BytesIO()
    with library().File(held, "w") as file:
        fill(file)
    paths.write_whole(path, held.getvalue())


def _opened(path):
    h5py = library()
    with paths.open_file(path, "rb") as file:
        held = io.BytesIO(file.read())
    try:
        return h5py.File(held, "r")
    except OSError as error:
        raise ValueError(f"{path} is no HDF5 file: {error}") from None


def save_weights(model, path):
    """Writes the weights of a model's layers."""
    _written(path, lambda file: _put_layers(file, model))


def save_model(model, path, include_optimizer):
    """Writes a model whole; how it is trained too, with the optimizer's state, if it is asked for."""
    config = architectures.config_of(model)
    training = model.training_config() if include_optimizer else None

    def fill(file):
        file.attrs["backend"] = b"tensorflow"
        file.attrs["keras_version"] = architectures.VERSION.encode()
        whole = {"class_name": config["class_name"], "config": config["config"]}
        file.attrs["model_config"] = architectures.dumped(whole).encode()
        _put_layers(file.create_group("model_weights"), model)
        if training is not None:
            file.attrs["training_config"] = architectures.dumped(training).encode()
            weights = model.optimizer.weights
            _put_arrays(
                file.create_group("optimizer_weights"),
                [weight.name for weight in weights],
                model.optimizer.get_weights(),
            )

    _written(path, fill)


def load_weights(model, path, by_name=False):
    """Gives a model's layers the weights of a file.

    Args:
      path: what save_weights or save_model wrote; by_name: whether layers have what is there under their name,
        and others stay as they are, instead of all in their order.

    Raises:
      ValueError: if the numbers of layers or of weights, or shapes, differ.
    """
    with _opened(path) as file:
        group = file["model_weights"] if "model_weights" in file else file
        found = [(name, _arrays(group[name])) for name in _names(group, "layer_names")]
    if by_name:
        found = dict(found)
        for layer in model.layers:
            if layer.weights and layer.name in found:
                _give(layer, layer.name, found[layer.name])
        return
    held = [layer for layer in model.layers if layer.weights]
    found = [each for each in found if each[1]]
    if len(held) != len(found):
        raise ValueError(
            f"You are trying to load a weight file containing {len(found)} layers into a model with "
            f"{len(held)} layers: {path}"
        )
    for layer, (name, arrays) in zip(held, found):
        _give(layer, name, arrays)


def _give(layer, name, arrays):
    held = _ordered(layer)
    if len(held) != len(arrays):
        raise ValueError(
            f"Layer {layer.name} has {len(held)} weights, and {name} in the file {len(arrays)}"
        )
    for variable, array in zip(held, arrays):
        if variable.shape.as_list() != list(array.shape):
            raise ValueError(
                f"Weight {variable.name} of shape {variable.shape} is of shape {array.shape} in {name} of the file"
            )
    sessions.batch_set_value(zip(held, arrays))


def _json_of(file, key):
    text = file.attrs.get(key)
    if text is None:
        return None
    return json.loads(text.decode() if isinstance(text, bytes) else text)


def load_model(path, custom_objects=None, compiles=True):
    """The model that save_model wrote, compiled if it was, unless told not to. A state of the optimizer that
    does not fit is warned of.

    Raises:
      ValueError: if the file has no model, or for unknown names.
    """
    with _opened(path) as file:
        config, training = _json_of(file, "model_config"), _json_of(file, "training_config")
        state = None
        if "optimizer_weights" in file:
            state = _arrays(file["optimizer_weights"])
    if config is None:
        raise ValueError(
            f"No model found in config file: {path} has weights alone, or is another's"
        )
    model = architectures.model_from_config(config, custom_objects)
    load_weights(model, path)
    if compiles and training is not None:
        model.compile_from(training, custom_objects)
        try:
            model.give_optimizer_state(state or [])
        except ValueError as error:  # as Keras does: the weights are there, whatever else differs
            warnings.warn(f"{path}: the optimizer begins anew, as its state does not fit: {error}")
    return model


class HDF5Matrix:
    """An array in an HDF5 file, as data for fit and evaluate: what is asked for of it is read.

    Args:
      datapath: the file; dataset: the name of the array in it.
      start, end: the rows that it is of; normalizer: a function of what was read.

    Attributes:
      shape, dtype, ndim, size: as of an array.

    Raises:
      ImportError: without h5py; IndexError: for rows beyond `end`.
    """

    def __init__(self, datapath, dataset, start=0, end=None, normalizer=None):
        self.data = library().File(datapath, "r")[dataset]
        self.start, self.normalizer = start, normalizer
        self.end = self.data.shape[0] if end is None else end

    def __len__(self):
        return self.end - self.start

    def __getitem__(self, key):
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            found = self.data[begin + self.start : end + self.start : step]
        elif isinstance(key, (int, np.integer)):
            if not -len(self) <= key < len(self):
                raise IndexError(f"row {key} of {len(self)}")
            found = self.data[self.start + key % len(self)]
        else:
            # The file gives rows in rising order, each once.
            places, back = np.unique(np.asarray(key), return_inverse=True)
            if len(places) and not 0 <= places[0] <= places[-1] < len(self):
                raise IndexError(f"rows {places[0]} to {places[-1]} of {len(self)}")
            found = self.data[list(places + self.start)][back]
        return found if self.normalizer is None else self.normalizer(found)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype)

    @property
    def shape(self):
        return self._of_one(lambda one: (len(self), *one.shape))

    @property
    def dtype(self):
        return self._of_one(lambda one: one.dtype)

    def _of_one(self, fact):
        return fact(np.asarray(self[:1])[0] if len(self) else np.zeros(self.data.shape[1:]))

    @property
    def ndim(self):
        return self.data.ndim

    @property
    def size(self):
        return int(np.prod(self.shape))
