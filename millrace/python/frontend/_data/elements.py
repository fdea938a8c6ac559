"""What elements of datasets are: tuples, namedtuples and dictionaries of Tensors. Lists are values."""

from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._values import dtypes
from millrace._values.structure import keys_of, packed_dictionary, pairs_of
from millrace._values.tensor_shape import TensorShape

__all__ = ["Spec", "converted", "flatten", "is_nested", "map_structure", "pack", "unpacked"]


def is_nested(value):
    return isinstance(value, (tuple, dict)) and not isinstance(value, TensorShape)


def flatten(structure):
    """The leaves, in order; those of a dictionary in the order of its sorted keys."""
    if not is_nested(structure):
        return [structure]
    if isinstance(structure, dict):
        parts = [structure[key] for key in keys_of(structure)]
    else:
        parts = structure
    return [leaf for part in parts for leaf in flatten(part)]


def pack(structure, leaves):
    """A structure like `structure` with other leaves."""
    return _packed(structure, iter(leaves))


def _packed(structure, leaves):
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, dict):
        return packed_dictionary(structure, lambda value: _packed(value, leaves))
    items = [_packed(item, leaves) for item in structure]
    return structure._make(items) if hasattr(structure, "_make") else tuple(items)


def map_structure(function, structure):
    return pack(structure, [function(leaf) for leaf in flatten(structure)])


def assert_same(first, second, what):
    """Raises TypeError or ValueError if one is nested otherwise than the other."""
    if is_nested(first) != is_nested(second):
        raise TypeError(f"The two {what} don't have the same nesting: {first!r} and {second!r}")
    if not is_nested(first):
        return
    for a, b in pairs_of(first, second, what):
        assert_same(a, b, what)


def converted(structure, name="component"):
    """The structure with Tensors for its leaves, whatever those are."""
    count = iter(range(len(flatten(structure))))
    return map_structure(lambda leaf: convert(leaf, name=f"{name}_{next(count)}"), structure)


def unpacked(element):
    """How a function is called with an element: a tuple's parts are arguments."""
    return element if type(element) is tuple else (element,)


class Nested:
    """What stands in the place of the class Tensor for components that are datasets."""

    def __init__(self, spec):
        self.spec = spec


class Spec:
    """What is known of the elements of a dataset.

    Attributes:
      structure: the structure, with a class for each leaf: Tensor, or a Nested.
      types, shapes: DTypes and TensorShapes of the leaves, flat.
    """

    def __init__(self, structure, types, shapes):
        self.structure = structure
        self.types = [dtypes.as_dtype(dtype) for dtype in types]
        self.shapes = [TensorShape(shape) for shape in shapes]

    @classmethod
    def of(cls, tensors):
        """That of elements that look like a structure of Tensors."""
        leaves = flatten(tensors)
        return cls(
            map_structure(lambda leaf: Tensor, tensors),
            [leaf.dtype.base_dtype for leaf in leaves],
            [leaf.shape for leaf in leaves],
        )

    @classmethod
    def written(cls, types, shapes=None, classes=None):
        """From what programs write: structures of types, of shapes (None: unknown), of classes."""
        types = map_structure(dtypes.as_dtype, types)
        flat = flatten(types)
        if shapes is None:
            flat_shapes = [TensorShape(None)] * len(flat)
        else:
            flat_shapes = [TensorShape(shape) for shape in _leaves_like(types, shapes)]
        if classes is None:
            structure = map_structure(lambda _: Tensor, types)
        else:
            assert_same(types, classes, "structures of output_types and output_classes")
            structure = pack(types, flatten(classes))
        return cls(structure, flat, flat_shapes)

    @property
    def output_types(self):
        return pack(self.structure, self.types)

    @property
    def output_shapes(self):
        return pack(self.structure, self.shapes)

    @property
    def output_classes(self):
        return self.structure

    def attrs(self):
        """The attributes by which nodes tell it."""
        return {"output_types": self.types, "output_shapes": self.shapes}

    def with_shapes(self, shapes):
        return Spec(self.structure, self.types, shapes)

    def common_with(self, other, purpose):
        """What elements of both are; `purpose` says what they come together for.

        Raises:
          TypeError: if structures or types differ.
        """
        if self.output_types != other.output_types:
            raise TypeError(
                f"Two datasets to {purpose} have different types {self.output_types} and "
                f"{other.output_types}"
            )
        return self.with_shapes([_common(a, b) for a, b in zip(self.shapes, other.shapes)])

    def is_compatible_with(self, other):
        return all(a.is_compatible_with(b) for a, b in zip(self.shapes, other.shapes))

    def pack(self, tensors):
        """An element of Tensors, with what is known of their shapes."""
        for tensor, shape in zip(tensors, self.shapes):
            tensor.set_shape(shape)
        return pack(self.structure, tensors)


def _common(first, second):
    """What two shapes have in common."""
    if first.ndims is None or first.ndims != second.ndims:
        return TensorShape(None)
    sizes = zip(first.as_list(), second.as_list())
    return TensorShape([a if a == b else None for a, b in sizes])


def _leaves_like(structure, values):
    """The parts of `values` for the leaves of a structure; parts may be sequences themselves."""
    if not is_nested(structure):
        return [values]
    if isinstance(structure, dict):
        return [
            leaf for key in keys_of(structure) for leaf in _leaves_like(structure[key], values[key])
        ]
    if len(structure) != len(values):
        raise ValueError(f"{values!r} is not built like {structure!r}")
    return [leaf for part, value in zip(structure, values) for leaf in _leaves_like(part, value)]
