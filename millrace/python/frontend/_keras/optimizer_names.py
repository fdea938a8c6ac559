"""Optimizers by their names."""

from millrace._keras import objects
from millrace._keras.adaptive_optimizers import Adamax, Ftrl, Nadam
from millrace._keras.optimizers import SGD, Adadelta, Adagrad, Adam, RMSprop
from millrace._keras.schedule_names import deserialize as schedule_of

_CLASSES = (SGD, Adam, RMSprop, Adagrad, Adadelta, Adamax, Nadam, Ftrl)
_NAMED = {each.__name__.lower(): each for each in _CLASSES}


def get(identifier):
    """An optimizer: by its name or serialized form, or an object that has apply_gradients.

    Raises:
      ValueError: for others.
    """
    if hasattr(identifier, "apply_gradients") and not isinstance(identifier, type):
        return identifier
    if isinstance(identifier, dict) and "class_name" in identifier:
        return deserialize(identifier)
    if isinstance(identifier, str) and identifier.lower() in _NAMED:
        return _NAMED[identifier.lower()]()
    raise ValueError(
        f"Could not interpret optimizer identifier: {identifier}; there are {sorted(_NAMED)}"
    )


def serialize(optimizer):
    """{"class_name", "config"} of an optimizer."""
    return objects.serialize(optimizer)


def deserialize(config, custom_objects=None):
    """The optimizer of a name and settings. ValueError for unknown names."""
    settings = dict(config.get("config") or {})
    if isinstance(settings.get("learning_rate"), dict):
        settings["learning_rate"] = schedule_of(settings["learning_rate"])
    known = {name: each for each in _CLASSES for name in (each.__name__, each.__name__.lower())}
    whole = {"class_name": config["class_name"], "config": settings}
    return objects.deserialize(whole, known, custom_objects, "optimizer")
