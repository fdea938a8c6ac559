"""What objects were made with: get_config gives it in plain values, from_config takes these again."""

import functools
import inspect

import numpy as np

from millrace._keras import activations, constraints, named, objects
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

_OF_ALL_LAYERS = ("trainable", "name", "dtype")
_SHAPES = ("input_shape", "batch_input_shape", "input_dim", "batch_size", "input_length")
_BY_NAME = {
    "_initializer": named.initializer,
    "_regularizer": named.regularizer,
    "_constraint": constraints.get,
    "activation": activations.get,
}


def recorded(function):
    """An __init__ whose object has its settings in `given_settings`: {name: value}, defaults included.

    Of several such, each called by the one of the class above, the first one counts.
    """

    @functools.wraps(function)
    def init(self, *args, **kwargs):
        if "given_settings" not in vars(self):
            vars(self)["given_settings"] = _settings(type(self), init, args, kwargs)
        return function(self, *args, **kwargs)

    return init


def _settings(kind, init, args, kwargs):
    """{name: value} of a call of the __init__ that is in one of the bases of `kind`."""
    bases = list(kind.__mro__)
    while vars(bases[0]).get("__init__") is not init:
        bases.pop(0)
    # An __init__ that passes on whatever it is given has the parameters of the next.
    signature = next(each for each in _signatures(bases) if not _has(each, "VAR_POSITIONAL"))
    try:
        bound = signature.bind(None, *args, **kwargs)
    except TypeError:
        return {}  # the call itself will say what is wrong with it
    bound.apply_defaults()
    settings = {}
    for name in list(signature.parameters)[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            more = bound.arguments[name]
            settings.update((key, more[key]) for key in more if key not in _SHAPES)
        else:
            settings[name] = bound.arguments[name]
    for name, default in defaults_of(bases).items():
        if default not in (None, inspect.Parameter.empty):
            settings.setdefault(name, default)
    return settings


def defaults_of(bases):
    """{name: default} of what the __init__s of a class's bases take, as far as each passes on what it does
    not know to the next, and both are of this package; of names without a default it is Parameter.empty.
    """
    found = {}
    for signature in _signatures(each for each in bases if each.__module__.startswith(__package__)):
        if _has(signature, "VAR_POSITIONAL"):
            continue
        for parameter in list(signature.parameters.values())[1:]:
            if parameter.kind is not parameter.VAR_KEYWORD:
                found.setdefault(parameter.name, parameter.default)
        if not _has(signature, "VAR_KEYWORD"):
            break
    return found


def has_settings(kind):
    """Whether a class's __init__ takes something by name beyond what those of all layers take."""
    return not defaults_of(kind.__mro__).keys() <= {*_OF_ALL_LAYERS, "activity_regularizer"}


def _signatures(bases):
    return (inspect.signature(vars(c)["__init__"]) for c in bases if "__init__" in vars(c))


def _has(signature, kind):
    return any(each.kind.name == kind for each in signature.parameters.values())


def config_of(layer):
    """The settings of a layer that its class has beyond those of all layers, in plain values."""
    made = {}
    for name, value in layer.given_settings.items():
        if name in _OF_ALL_LAYERS or name.startswith("_"):
            continue
        if name == "activity_regularizer" and value is None:
            continue
        # Programs take an activation away from the last layer, and keep the model so; where channels are
        # may depend on a setting of all models.
        live = getattr(layer, name, None) if name in ("activation", "data_format") else None
        made[name] = plain_value(name, value if live is None else live)
    return made


def plain_value(name, value):
    """A setting as a value that JSON has: what it says of objects, numbers, lists and names."""
    for end, of in _BY_NAME.items():
        if name.endswith(end):
            return objects.serialize(of(value))
    if hasattr(value, "get_config"):
        return objects.serialize(value)
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, (list, tuple)):
        return [plain_value("", each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value
