"""Dimension and TensorShape: what is known of a shape before anything runs."""

import operator


class Dimension:
    """One dimension: a size, or None if it is not known. Arithmetic with None gives None."""

    __slots__ = ("_value",)

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value._value
        if value is not None:
            value = value.__index__()
            if value < 0:
                raise ValueError(f"Dimension {value} must be >= 0")
        self._value = value

    @property
    def value(self):
        return self._value

    def __int__(self):
        return self._value

    def __index__(self):
        if self._value is None:
            raise TypeError("this dimension is not known until the graph runs")
        return self._value

    def __eq__(self, other):
        """None (unknown) if either is unknown."""
        try:
            other = as_dimension(other)
        except (TypeError, AttributeError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return self._value == other._value

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same in (None, NotImplemented) else not same

    def __hash__(self):
        return hash(self._value)

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return None in (self._value, other._value) or self._value == other._value

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other):
        """What both say. ValueError if they contradict each other."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def _combine(self, other, compute):
        try:
            other = as_dimension(other)
        except (TypeError, AttributeError):
            return NotImplemented
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(compute(self._value, other._value))

    def __add__(self, other):
        return self._combine(other, lambda a, b: a + b)

    def __radd__(self, other):
        return self._combine(other, lambda a, b: b + a)

    def __sub__(self, other):
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._combine(other, lambda a, b: a * b)

    def __rmul__(self, other):
        return self._combine(other, lambda a, b: b * a)

    def __floordiv__(self, other):
        return self._combine(other, lambda a, b: a // b)

    def __rfloordiv__(self, other):
        return self._combine(other, lambda a, b: b // a)

    def __mod__(self, other):
        return self._combine(other, lambda a, b: a % b)

    def __rmod__(self, other):
        return self._combine(other, lambda a, b: b % a)

    def _compare(self, other, compute):
        other = as_dimension(other)
        if self._value is None or other._value is None:
            return None
        return compute(self._value, other._value)

    def __lt__(self, other):
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._compare(other, lambda a, b: a >= b)


def as_dimension(value):
    """A Dimension from a Dimension, an int or None."""
    return value if isinstance(value, Dimension) else Dimension(value)


class TensorShape:
    """The dimensions of a tensor, of which some, or the rank, may be unknown.

    Made from None (unknown rank), an int (a vector), or a sequence of ints, None and Dimensions.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims=None):
        if isinstance(dims, TensorShape):
            dims = dims._dims
        elif dims is not None:
            if isinstance(dims, (int, Dimension)) or hasattr(dims, "__index__"):
                dims = (dims,)
            dims = tuple(_size(dim) for dim in dims)
        self._dims = dims

    @classmethod
    def of_plain(cls, dims):
        """From what `plain` gives, unchecked."""
        made = cls.__new__(cls)
        made._dims = dims
        return made

    @property
    def plain(self):
        """A tuple of ints and None, or None: what the C++ side takes and gives for a shape."""
        return self._dims

    @property
    def dims(self):
        """A list of Dimensions; None if the rank is unknown."""
        return None if self._dims is None else [Dimension(dim) for dim in self._dims]

    @property
    def ndims(self):
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self):
        """A list of ints and None. ValueError if the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self):
        """The number of elements; None if it is not known."""
        if not self.is_fully_defined():
            return None
        count = 1
        for dim in self._dims:
            count *= dim
        return count

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other):
        """True if a tensor could have both shapes."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims)
        )

    def merge_with(self, other):
        """What both say. ValueError if they contradict each other."""
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        return TensorShape.of_plain(
            tuple(b if a is None else a for a, b in zip(self._dims, other._dims))
        )

    def concatenate(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape.of_plain(self._dims + other._dims)

    def with_rank(self, rank):
        """This shape, known to have `rank` dimensions. ValueError if it has another number."""
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank):
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank):
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other):
        other = as_shape(other)
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of a shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims)

    def __getitem__(self, key):
        """A Dimension, or a TensorShape for a slice."""
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        if isinstance(key, slice):
            return TensorShape.of_plain(self._dims[key])
        return Dimension(self._dims[key])

    def __eq__(self, other):
        try:
            return self._dims == as_shape(other)._dims
        except (TypeError, ValueError, AttributeError):
            return NotImplemented

    def __hash__(self):
        return hash(self._dims)

    def __add__(self, other):
        return self.concatenate(other)

    def __repr__(self):
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({[Dimension(dim) for dim in self._dims]})"

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        if len(self._dims) == 1:
            return f"({'?' if self._dims[0] is None else self._dims[0]},)"
        return "(" + ", ".join("?" if dim is None else str(dim) for dim in self._dims) + ")"

    def __reduce__(self):
        return TensorShape, (self._dims,)


def _size(value):
    if value is None or isinstance(value, Dimension):
        return value and value.value
    size = operator.index(value)
    if size == -1:
        return None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def as_shape(value):
    """A TensorShape from anything that one can be made from."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def scalar():
    return TensorShape(())


def vector(length):
    return TensorShape((length,))


def matrix(rows, columns):
    return TensorShape((rows, columns))


def unknown_shape(ndims=None):
    """A shape of which at most the rank is known."""
    return TensorShape(None if ndims is None else (None,) * ndims)


def dimension_value(dimension):
    """The number of a Dimension, or None if it is unknown; anything else as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    """The Dimension of a TensorShape at a place; an unknown one if its rank is unknown."""
    return Dimension(None) if shape.ndims is None else shape.dims[index]
