"""Initializers and regularizers by Keras's names, as layers take them."""

from millrace._keras import objects
from millrace._layers import regularizers
from millrace._state import initializers, keras_initializers, scaled_initializers

_INITIALIZERS = {
    "zeros": initializers.Zeros,
    "zero": initializers.Zeros,
    "ones": initializers.Ones,
    "one": initializers.Ones,
    "constant": initializers.Constant,
    "identity": scaled_initializers.Identity,
    "orthogonal": scaled_initializers.Orthogonal,
    "normal": keras_initializers.RandomNormal,
    "random_normal": keras_initializers.RandomNormal,
    "uniform": keras_initializers.RandomUniform,
    "random_uniform": keras_initializers.RandomUniform,
    "truncated_normal": keras_initializers.TruncatedNormal,
    "glorot_normal": initializers.glorot_normal_initializer,
    "glorot_uniform": initializers.glorot_uniform_initializer,
    "he_normal": scaled_initializers.he_normal,
    "he_uniform": scaled_initializers.he_uniform,
    "lecun_normal": scaled_initializers.lecun_normal,
    "lecun_uniform": scaled_initializers.lecun_uniform,
}
_REGULARIZERS = {
    "l1": regularizers.l1,
    "l2": regularizers.l2,
    "l1_l2": regularizers.l1_l2,
}


# Some are functions that give an object of a more general class.
_KNOWN_INITIALIZERS = {
    **{each.__name__: each for each in _INITIALIZERS.values() if isinstance(each, type)},
    "VarianceScaling": initializers.VarianceScaling,
    **_INITIALIZERS,
}


def initializer(identifier):
    """An initializer: by its name or serialized form, an object itself, or None.

    Raises:
      ValueError: for unknown names.
    """
    return objects.get(identifier, _KNOWN_INITIALIZERS, "initializer", makes=True)


def serialize_initializer(initializer):
    """{"class_name", "config"} of an initializer."""
    return objects.serialize(initializer)


def deserialize_initializer(config, custom_objects=None):
    """The initializer that serialize was given. ValueError for unknown names."""
    return objects.deserialize(
        config, _KNOWN_INITIALIZERS, custom_objects, "initializer", makes=True
    )


def regularizer(identifier):
    """A regularizer: by its name or serialized form, a function itself, or None.

    Raises:
      ValueError: for unknown names.
    """
    known = {"L1L2": regularizers.L1L2, **_REGULARIZERS}
    return objects.get(identifier, known, "regularizer", makes=True)


def serialize_regularizer(regularizer):
    """{"class_name", "config"} of a regularizer."""
    return objects.serialize(regularizer)


def deserialize_regularizer(config, custom_objects=None):
    """The regularizer that serialize was given. ValueError for unknown names."""
    known = {"L1L2": regularizers.L1L2, **_REGULARIZERS}
    return objects.deserialize(config, known, custom_objects, "regularizer", makes=True)
