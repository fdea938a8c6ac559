"""Optionals: elements that may be missing, as what an iterator gives behind its last one."""

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.dataset_spec import OptionalSpec
from millrace._data.elements import Spec
from millrace._values.type_spec import register_specs

__all__ = ["Optional", "get_next_as_optional", "get_structure"]


def get_structure(dataset_or_iterator):
    """The structure of TypeSpecs of what a Dataset or Iterator gives.

    Raises:
      TypeError: for anything else.
    """
    spec = getattr(dataset_or_iterator, "spec", None)
    if not isinstance(spec, Spec):
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        )
    return spec.element_spec


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

    @classmethod
    def from_variant(cls, variant, spec):
        """The Optional that a Tensor stands for, of which an OptionalSpec tells."""
        return Optional(variant, Spec.from_specs(spec.value_structure))

    @staticmethod
    def from_value(value):
        """One with a structure of Tensors."""
        made = elements.converted(value)
        spec = Spec.of(made)
        return Optional(gen_ops.optional_from_value(spec.encoded(made)), spec)

    @staticmethod
    def none_from_structure(value_structure):
        """An empty one for a structure of TypeSpecs."""
        return Optional(gen_ops.optional_none(), Spec.from_specs(value_structure))

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
        """The structure of TypeSpecs of the element."""
        return get_structure(self)


OptionalSpec.value_type = Optional
register_specs(Optional, lambda optional: OptionalSpec(optional.value_structure))
