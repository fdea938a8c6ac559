"""Initializers and regularizers by Keras's names, as layers take them."""

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


def initializer(identifier):
    """An initializer: by its name, an object itself, or None. ValueError for unknown names."""
    return _named(_INITIALIZERS, identifier, "initializer")


def regularizer(identifier):
    """A regularizer: by its name, a function itself, or None. ValueError for unknown names."""
    return _named(_REGULARIZERS, identifier, "regularizer")


def _named(known, identifier, what):
    if identifier is None:
        return None
    if isinstance(identifier, type):
        return identifier()
    if not isinstance(identifier, str):
        return identifier
    if identifier not in known:
        raise ValueError(f"Unknown {what}: {identifier}; there are {sorted(known)}")
    return known[identifier]()
