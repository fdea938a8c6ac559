"""Optionals: elements that may be missing, as what an iterator gives behind its last one."""

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.elements import Spec
from millrace._values.tensor_spec import TensorSpec

__all__ = ["Optional", "get_next_as_optional", "get_structure"]


def get_structure(dataset_or_iterator):
    """The structure of TensorSpecs of what a Dataset or Iterator gives.

    Raises:
      TypeError: for anything else.
    """
    spec = getattr(dataset_or_iterator, "spec", None)
    if not isinstance(spec, Spec):
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        )
    leaves = [TensorSpec(shape, dtype) for shape, dtype in zip(spec.shapes, spec.types)]
    return elements.pack(spec.structure, leaves)


def get_next_as_optional(iterator):
    """The next element of an Iterator as an Optional, empty behind the last."""
    variant = gen_ops.iterator_get_next_as_optional(iterator.handle, **iterator.spec.attrs())
    return Optional(variant, iterator.spec)


class Optional:
    """An element, or none. Made by get_next_as_optional, from_value or none_from_structure.

    Attributes:
      variant: the Tensor that stands for it.
      spec: the Spec of the element.
    """

    def __init__(self, variant, spec):
        self.variant, self.spec = variant, spec

    @staticmethod
    def from_value(value):
        """One with a structure of Tensors."""
        made = elements.converted(value)
        return Optional(gen_ops.optional_from_value(elements.flatten(made)), Spec.of(made))

    @staticmethod
    def none_from_structure(value_structure):
        """An empty one for a structure of TensorSpecs."""
        types = elements.map_structure(lambda leaf: leaf.dtype, value_structure)
        shapes = elements.map_structure(lambda leaf: leaf.shape, value_structure)
        return Optional(gen_ops.optional_none(), Spec.written(types, shapes))

    def has_value(self, name=None):
        """Whether there is an element: a bool scalar."""
        return gen_ops.optional_has_value(self.variant, name=name)

    def get_value(self, name=None):
        """The element; a step fails with InvalidArgumentError if there is none."""
        return self.spec.pack(
            gen_ops.optional_get_value(self.variant, **self.spec.attrs(), name=name)
        )

    @property
    def value_structure(self):
        """The structure of TensorSpecs of the element."""
        return get_structure(self)
