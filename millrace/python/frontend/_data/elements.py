"""What elements of datasets are: tuples, namedtuples and dictionaries of Tensors, of sparse and of ragged
tensors. Lists are values."""

from millrace._data import encodings
from millrace._data.dataset_spec import DatasetSpec
from millrace._data.encodings import encoding_of
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._graph.sparse_tensor import SparseTensor, SparseTensorValue
from millrace._ops.composite_specs import SparseTensorSpec
from millrace._ragged.specs import RaggedTensorSpec
from millrace._values import dtypes
from millrace._values.structure import keys_of, packed_dictionary, pairs_of
from millrace._values.tensor_shape import TensorShape
from millrace._values.tensor_spec import TensorSpec
from millrace._values.type_spec import TypeSpec, common_shape, spec_of

__all__ = [
    "Spec",
    "converted",
    "flatten",
    "is_nested",
    "map_structure",
    "pack",
    "unpacked",
    "unpacked_one",
]


_NOT_NESTED = (TensorShape, SparseTensorValue)


def is_nested(value):
    return isinstance(value, (tuple, dict)) and not isinstance(value, _NOT_NESTED)


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
    """The structure with Tensors for its leaves, or sparse and ragged ones, whatever those are."""
    count = iter(range(len(flatten(structure))))

    def leaf_of(leaf):
        named = f"{name}_{next(count)}"
        composite = encodings.composite_of(leaf)
        return convert(leaf, name=named) if composite is None else composite

    return map_structure(leaf_of, structure)


def unpacked_one(arguments):
    """The element of which a function was given these arguments: a tuple comes as its parts."""
    return arguments[0] if len(arguments) == 1 else arguments


def unpacked(element):
    """How a function is called with an element: a tuple's parts are arguments."""
    return element if type(element) is tuple else (element,)


class Nested:
    """What stands in the place of the class Tensor for components that are datasets."""

    def __init__(self, spec):
        self.spec = spec


class Spec:
    """What is known of the elements of a dataset.

    Nodes know of a Tensor for each leaf. For sparse and ragged ones that is a variant, which `encoded`
    makes and `pack` takes apart.

    Attributes:
      structure: the structure, with what stands for the kind of each leaf: the class Tensor, a Nested, a
        SparseTensorSpec or a RaggedTensorSpec.
      types, shapes: DTypes and TensorShapes of the Tensors of nodes, flat.
    """

    def __init__(self, structure, types, shapes):
        self.structure = structure
        self.types = [dtypes.as_dtype(dtype) for dtype in types]
        self.shapes = [TensorShape(shape) for shape in shapes]

    @classmethod
    def of(cls, tensors):
        """That of elements that look like a structure of Tensors, `converted`."""
        leaves = flatten(tensors)
        kinds = [Tensor if isinstance(leaf, Tensor) else spec_of(leaf) for leaf in leaves]
        plain = [
            (leaf.dtype.base_dtype, leaf.shape) if kind is Tensor else _ENCODED
            for leaf, kind in zip(leaves, kinds)
        ]
        return cls(pack(tensors, kinds), *_columns(plain))

    @classmethod
    def from_specs(cls, structure):
        """That of elements which a structure of TypeSpecs tells.

        Raises:
          TypeError: for specs of what is no component of elements.
        """
        leaves = [_leaf_of_spec(spec) for spec in flatten(structure)]
        kinds, plain = [leaf[0] for leaf in leaves], [leaf[1:] for leaf in leaves]
        return cls(pack(structure, kinds), *_columns(plain))

    @classmethod
    def written(cls, types, shapes=None, classes=None):
        """From what programs write: structures of types, of shapes (None: unknown), of classes."""
        types = map_structure(
            lambda leaf: leaf if _is_whole(leaf) else dtypes.as_dtype(leaf), types
        )
        flat = flatten(types)
        if shapes is None:
            flat_shapes = [None] * len(flat)
        else:
            flat_shapes = _leaves_like(types, shapes)
        if classes is None:
            kinds = [Tensor] * len(flat)
        else:
            assert_same(types, classes, "structures of output_types and output_classes")
            kinds = flatten(classes)
        leaves = [_leaf_written(*leaf) for leaf in zip(flat, flat_shapes, kinds)]
        return cls(
            pack(types, [leaf[0] for leaf in leaves]), *_columns([leaf[1:] for leaf in leaves])
        )

    @property
    def output_types(self):
        return self._told(lambda kind, dtype, shape: kind.dtype if _is_whole(kind) else dtype)

    @property
    def output_shapes(self):
        return self._told(lambda kind, dtype, shape: kind.shape if _is_whole(kind) else shape)

    @property
    def output_classes(self):
        return self._told(
            lambda kind, *_: SparseTensor if isinstance(kind, SparseTensorSpec) else kind
        )

    @property
    def element_spec(self):
        """The structure of the TypeSpecs of the leaves."""
        return self._told(_spec_of_leaf)

    def _told(self, told):
        leaves = zip(flatten(self.structure), self.types, self.shapes)
        return pack(self.structure, [told(*leaf) for leaf in leaves])

    @property
    def has_encoded(self):
        """Whether there are sparse or ragged leaves."""
        return any(_is_whole(kind) for kind in flatten(self.structure))

    def attrs(self):
        """The attributes by which nodes tell it."""
        return {"output_types": self.types, "output_shapes": self.shapes}

    def with_shapes(self, shapes):
        return Spec(self.structure, self.types, shapes)

    def batched(self, size):
        """That of groups of elements; their size may be None."""
        return self._changed(
            lambda kind: encoding_of(kind).batched(kind, size),
            lambda shape: TensorShape([size]).concatenate(shape),
        )

    def unbatched(self):
        """That of the parts of elements along their first axes."""
        return self._changed(
            lambda kind: encoding_of(kind).unbatched(kind),
            lambda shape: shape if shape.ndims is None else shape[1:],
        )

    def loosened(self):
        """The same with no shape known."""
        return self._changed(lambda kind: encoding_of(kind).loosened(kind), lambda shape: None)

    def _changed(self, of_encoded, of_plain):
        leaves = []
        for kind, dtype, shape in zip(flatten(self.structure), self.types, self.shapes):
            if _is_whole(kind):
                leaves.append(_leaf_of_spec(of_encoded(kind)))
            else:
                leaves.append((kind, dtype, of_plain(shape)))
        kinds = [leaf[0] for leaf in leaves]
        return Spec(pack(self.structure, kinds), *_columns([leaf[1:] for leaf in leaves]))

    def common_with(self, other, purpose):
        """What elements of both are; `purpose` says what they come together for.

        Raises:
          TypeError: if structures or types differ.
        """
        if not self._is_like(other):
            raise TypeError(
                f"Two datasets to {purpose} have different types {self.output_types} and "
                f"{other.output_types}"
            )
        kinds = [
            kind.most_specific_compatible_type(theirs) if _is_whole(kind) else kind
            for kind, theirs in zip(flatten(self.structure), flatten(other.structure))
        ]
        shapes = [common_shape(a, b) for a, b in zip(self.shapes, other.shapes)]
        return Spec(pack(self.structure, kinds), self.types, shapes)

    def _is_like(self, other):
        if self.output_types != other.output_types or self.types != other.types:
            return False
        pairs = list(zip(flatten(self.structure), flatten(other.structure)))
        return all(
            type(kind) is type(theirs)
            and (
                not _is_whole(kind)
                or encoding_of(kind).loosened(kind) == encoding_of(theirs).loosened(theirs)
            )
            for kind, theirs in pairs
        )

    def is_compatible_with(self, other):
        whole = zip(flatten(self.structure), flatten(other.structure))
        return all(
            not _is_whole(kind) or kind.is_compatible_with(theirs) for kind, theirs in whole
        ) and all(a.is_compatible_with(b) for a, b in zip(self.shapes, other.shapes))

    def encoded(self, element):
        """The Tensors, flat, that nodes take for an element, `converted`.

        Raises:
          ValueError: if a sparse or ragged leaf is another one.
        """
        return self._by_kind(element, lambda kind, leaf: encoding_of(kind).encode(kind, leaf))

    def rows(self, element):
        """Those for an element whose parts along its first axes are to be elements."""
        return self._by_kind(element, lambda kind, leaf: encoding_of(kind).rows(kind, leaf))

    def _by_kind(self, element, encode):
        leaves = zip(flatten(self.structure), flatten(element), strict=True)
        return [encode(kind, leaf) if _is_whole(kind) else leaf for kind, leaf in leaves]

    def pack(self, tensors):
        """An element of nodes' Tensors, with what is known of their shapes."""
        leaves = []
        for tensor, shape, kind in zip(tensors, self.shapes, flatten(self.structure)):
            tensor.set_shape(shape)
            leaves.append(encoding_of(kind).decode(kind, tensor) if _is_whole(kind) else tensor)
        return pack(self.structure, leaves)


_ENCODED = (dtypes.variant, None)


def _is_whole(kind):
    """Whether a leaf is told by a TypeSpec: it is sparse or ragged."""
    return isinstance(kind, TypeSpec)


def _columns(pairs):
    return [first for first, _ in pairs], [second for _, second in pairs]


def _spec_of_leaf(kind, dtype, shape):
    if isinstance(kind, Nested):
        return DatasetSpec(kind.spec.element_spec, shape)
    return kind if _is_whole(kind) else TensorSpec(shape, dtype)


def _leaf_of_spec(spec):
    """(kind, type, shape) of a leaf that a TypeSpec tells."""
    if isinstance(spec, TensorSpec):
        return Tensor, spec.dtype, spec.shape
    if isinstance(spec, DatasetSpec):
        return Nested(Spec.from_specs(spec.element_spec)), dtypes.variant, spec.dataset_shape
    if encoding_of(spec) is None:
        raise TypeError(f"{spec!r} is no spec of a component of the elements of a dataset")
    return spec, *_ENCODED


def _leaf_written(dtype, shape, kind):
    """(kind, type, shape) of a leaf that a type, a shape and a class tell."""
    if kind is SparseTensor:
        return SparseTensorSpec(shape, dtype), *_ENCODED
    if isinstance(kind, (RaggedTensorSpec, SparseTensorSpec, DatasetSpec)):
        return _leaf_of_spec(kind)
    return kind, dtype, shape


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
