"""Constraints: what becomes of a variable after each step of training."""

from millrace import _gen as gen_ops
from millrace._keras import objects
from millrace._keras.settings import epsilon
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import pad
from millrace._ops.clipping import clip_by_value
from millrace._ops.reductions import reduce_sum


class Constraint:
    """The base of constraints: called with a variable's value they give the one that it is to have."""

    def __call__(self, w):
        return w

    def get_config(self):
        """{name: value} of its settings."""
        return dict(vars(self))


def _norms(w, axis):
    return gen_ops.sqrt(reduce_sum(gen_ops.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """Norms along an axis are at most max_value; axis: a number or a list."""

    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        norms = _norms(w, self.axis)
        return w * (clip_by_value(norms, 0.0, float(self.max_value)) / (epsilon() + norms))


class NonNeg(Constraint):
    """Negative numbers become 0."""

    def __call__(self, w):
        return w * cast(w >= 0.0, w.dtype.base_dtype)


class UnitNorm(Constraint):
    """Norms along an axis are 1."""

    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        return w / (epsilon() + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    """Norms along an axis are between two numbers; `rate` of the way there in each step."""

    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        norms = _norms(w, self.axis)
        bounded = clip_by_value(norms, float(self.min_value), float(self.max_value))
        return w * ((self.rate * bounded + (1 - self.rate) * norms) / (epsilon() + norms))


class RadialConstraint(Constraint):
    """Filters [height, width, channels, outputs] depend only on how far from the middle a number is.

    All numbers of one square ring have the value of the one on its vertical half-line, in the upper
    half of the filter.
    """

    def __call__(self, w):
        shape = w.shape.as_list()
        if len(shape) != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape {w.shape}")
        height, width, channels, outputs = shape
        if height != width:
            raise ValueError(f"Filters must be square, but are {height} x {width}")
        w = gen_ops.reshape(w, [height, width, channels * outputs])
        middle = (height - 1) // 2 if height % 2 else height // 2 - 1
        size = 1 if height % 2 else 2
        made = w[middle : middle + 1, middle : middle + 1, :]
        made = gen_ops.tile(made, [size, size, 1])
        for ring in range(1, middle + 1):
            size += 2
            value = w[middle - ring : middle - ring + 1, middle : middle + 1, :]
            inner = pad(made, [[1, 1], [1, 1], [0, 0]])
            hole = pad(gen_ops.ones_like(made), [[1, 1], [1, 1], [0, 0]])
            made = inner + (1.0 - hole) * gen_ops.tile(value, [size, size, 1])
        return gen_ops.reshape(made, shape)


max_norm, non_neg, unit_norm, min_max_norm, radial_constraint = (
    MaxNorm,
    NonNeg,
    UnitNorm,
    MinMaxNorm,
    RadialConstraint,
)
_NAMED = {
    name: each
    for each, names in (
        (Constraint, ["Constraint"]),
        (MaxNorm, ["MaxNorm", "max_norm"]),
        (NonNeg, ["NonNeg", "non_neg"]),
        (UnitNorm, ["UnitNorm", "unit_norm"]),
        (MinMaxNorm, ["MinMaxNorm", "min_max_norm"]),
        (RadialConstraint, ["RadialConstraint", "radial_constraint"]),
    )
    for name in names
}


def get(identifier):
    """A constraint: by its name, its serialize()d form, a function itself, or None."""
    return objects.get(identifier, _NAMED, "constraint")


def serialize(constraint):
    """{"class_name", "config"} of a constraint."""
    return objects.serialize(constraint)


def deserialize(config, custom_objects=None):
    """The constraint that serialize was given. ValueError for unknown names."""
    return objects.deserialize(config, _NAMED, custom_objects, "constraint")
