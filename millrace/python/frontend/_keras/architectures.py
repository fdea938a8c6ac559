"""Models without their weights, as JSON and YAML, and copies of them."""

import json
from importlib import import_module

import numpy as np

from millrace._keras import calls
from millrace._keras.inputs import Input, InputLayer
from millrace._keras.layer import deserialize
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import TensorShape

VERSION = "2.2.4-tf"  # of Keras, as TensorFlow 1.15 has it in its files


def _plain(value):
    """What JSON has for objects in a config. TypeError if it has nothing."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, TensorShape):
        return value.as_list()
    if callable(value) and getattr(value, "__name__", "<lambda>") != "<lambda>":
        return value.__name__
    raise TypeError(
        f"{value!r} cannot be written down in a model's config. A function without a name is to have one, "
        "and to be given by it in custom_objects when the model is loaded."
    )


def dumped(value, **options):
    """A config as JSON. TypeError for what it has no form of."""
    return json.dumps(value, default=_plain, **options)


def config_of(model):
    """{"class_name", "config", "keras_version", "backend"} of a model."""
    return {
        "class_name": type(model).__name__,
        "config": model.get_config(),
        "keras_version": VERSION,
        "backend": "tensorflow",
    }


def to_json(model, **options):
    """A model's class and config as JSON."""
    return dumped(config_of(model), **options)


def to_yaml(model, **options):
    """A model's class and config as YAML. ImportError without PyYAML."""
    return _yaml().dump(json.loads(to_json(model)), **options)


def _yaml():
    try:
        return import_module("yaml")
    except ImportError:
        raise ImportError("models as YAML need PyYAML: install it, or use to_json") from None


def model_from_config(config, custom_objects=None):
    """The model, or layer, of {"class_name", "config"}, with variables of its own.

    Raises:
      TypeError: for a list, which Sequential.from_config takes; ValueError: for unknown names.
    """
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    return deserialize(config, custom_objects)


def model_from_json(json_string, custom_objects=None):
    """The model that to_json gave. ValueError if it is no JSON, or for unknown names."""
    return model_from_config(json.loads(json_string), custom_objects)


def model_from_yaml(yaml_string, custom_objects=None):
    """The model that to_yaml gave; the YAML's plain values alone are read. ImportError without PyYAML."""
    return model_from_config(_yaml().safe_load(yaml_string), custom_objects)


def clone_model(model, input_tensors=None, clone_function=None):
    """A model of the same layers, with variables of their own, which begin anew.

    Args:
      model: a Model between inputs and outputs, or a Sequential.
      input_tensors: Tensors, one or a list, to be its inputs; new ones if None.
      clone_function: called with each layer that is no input and gives what stands in its place; a copy if
        None. What is not given a new layer for is shared.

    Raises:
      ValueError: if it is no model, is one with a `call` of its own, or there is another number of inputs.
    """
    if not hasattr(model, "made_again"):
        raise ValueError(f"Expected `model` argument to be a Model instance, got {model!r}")
    return model.made_again(_Cloning(input_tensors, clone_function))


class _Cloning:
    """How a model is made again: what its inputs and its layers become."""

    def __init__(self, tensors, function):
        self._tensors = None if tensors is None else structure.flatten(tensors)
        self._function = function or (lambda layer: layer.copy())

    def layer(self, layer):
        """What stands in the place of a layer."""
        return self._function(layer)

    def inputs(self, old):
        """New inputs in place of a list of Tensors. ValueError for another number of them."""
        if self._tensors is None:
            return [
                Input(
                    batch_shape=each.shape.as_list(), dtype=each.dtype.base_dtype, name=_name(each)
                )
                for each in old
            ]
        if len(self._tensors) != len(old):
            raise ValueError(
                f"The model has {len(old)} inputs and was given {len(self._tensors)} input_tensors"
            )
        return [each if calls.is_remembered(each) else Input(tensor=each) for each in self._tensors]


def _name(tensor):
    call = calls.call_of(tensor)
    return call.layer.name if call and isinstance(call.layer, InputLayer) else None
