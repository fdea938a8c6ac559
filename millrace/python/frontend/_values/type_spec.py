"""TypeSpec: what is known of a value of a graph, of whatever class, before it is there."""

from millrace._values.dtypes import DType
from millrace._values.tensor_shape import TensorShape

__all__ = ["TypeSpec", "register_specs", "spec_of"]

_makers = {}  # class of values -> what makes the spec of one


def register_specs(kind, maker):
    """Says how the spec is made of a value of a class."""
    _makers[kind] = maker


def spec_of(value):
    """The TypeSpec of a value; None if its class has none, or has not been asked for."""
    for kind in type(value).__mro__:
        if kind in _makers:
            return _makers[kind](value)
    return None


class TypeSpec:
    """What is known of a value: its class, types and shapes. Equal if all of it is.

    Attributes:
      value_type: the class of the values.
    """

    value_type = None

    def serialized(self):
        """All that it says as a tuple of DTypes, TensorShapes, TypeSpecs and plain values: its arguments."""
        raise NotImplementedError

    def component_specs(self):
        """The specs of the Tensors that a value is made of, in order."""
        raise NotImplementedError

    def components(self, value):
        """The Tensors that a value is made of."""
        raise NotImplementedError

    def from_components(self, tensors):
        """The value that is made of Tensors."""
        raise NotImplementedError

    def is_compatible_with(self, spec_or_value):
        """Whether a value, or one that another spec is of, may be what this says."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        return type(self) is type(other) and _fits(self.serialized(), other.serialized())

    def most_specific_compatible_type(self, other):
        """The spec that says what this and another have in common.

        Raises:
          ValueError: if it is of another class, or they differ in more than shapes.
        """
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self!r} and {other!r}")
        return type(self)(*_common(self.serialized(), other.serialized(), self, other))

    def __eq__(self, other):
        return type(other) is type(self) and _key(self.serialized()) == _key(other.serialized())

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self), _key(self.serialized())))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, self.serialized()))})"


def _key(part):
    """Something that can be compared and hashed: unknown shapes equal each other."""
    if isinstance(part, TensorShape):
        return ("shape", None if part.ndims is None else tuple(part.as_list()))
    if isinstance(part, DType):
        return ("dtype", part.name)
    if isinstance(part, dict):
        return ("dict", tuple((key, _key(part[key])) for key in sorted(part)))
    if isinstance(part, (list, tuple)):
        return (type(part).__name__, *map(_key, part))
    return part


def _fits(first, second):
    if isinstance(first, (TensorShape, DType, TypeSpec)):
        return type(first) is type(second) and first.is_compatible_with(second)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_fits(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_fits, first, second))
    return first == second


def _common(first, second, whole, other):
    if isinstance(first, TensorShape) and isinstance(second, TensorShape):
        return common_shape(first, second)
    if isinstance(first, TypeSpec):
        return first.most_specific_compatible_type(second)
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return {key: _common(first[key], second[key], whole, other) for key in first}
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        parts = [_common(a, b, whole, other) for a, b in zip(first, second)]
        return first._make(parts) if hasattr(first, "_make") else tuple(parts)
    if _key(first) != _key(second):
        raise ValueError(f"No TypeSpec is compatible with both {whole!r} and {other!r}")
    return first


def common_shape(first, second):
    """What two shapes have in common: sizes that differ are unknown."""
    if first.ndims is None or first.ndims != second.ndims:
        return TensorShape(None)
    sizes = zip(first.as_list(), second.as_list())
    return TensorShape([a if a == b else None for a, b in sizes])
