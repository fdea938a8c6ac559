"""DatasetSpec and OptionalSpec: what is known of datasets and optionals that are components of elements."""

from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape
from millrace._values.tensor_spec import TensorSpec
from millrace._values.type_spec import TypeSpec

__all__ = ["DatasetSpec", "OptionalSpec"]


class DatasetSpec(TypeSpec):
    """What is known of a Dataset.

    Args:
      element_spec: the structure of TypeSpecs of its elements.
      dataset_shape: the shape of the Tensor that stands for it: a scalar, but for groups of datasets.

    Attributes:
      value_type: Dataset, once there is one.
    """

    def __init__(self, element_spec, dataset_shape=()):
        self._element_spec, self._dataset_shape = element_spec, TensorShape(dataset_shape)

    @property
    def element_spec(self):
        return self._element_spec

    @property
    def dataset_shape(self):
        return self._dataset_shape

    def serialized(self):
        return self._element_spec, self._dataset_shape

    def component_specs(self):
        return [TensorSpec(self._dataset_shape, dtypes.variant)]

    def components(self, value):
        return [value.variant]

    def from_components(self, tensors):
        (variant,) = tensors
        return self.value_type.from_variant(variant, self)


class OptionalSpec(TypeSpec):
    """What is known of a tf.data.experimental.Optional.

    Args:
      value_structure: the structure of TypeSpecs of what it may hold.

    Attributes:
      value_type: Optional, once there is one.
    """

    def __init__(self, value_structure):
        self._value_structure = value_structure

    @property
    def value_structure(self):
        return self._value_structure

    def serialized(self):
        return (self._value_structure,)

    def component_specs(self):
        return [TensorSpec([], dtypes.variant)]

    def components(self, value):
        return [value.variant]

    def from_components(self, tensors):
        (variant,) = tensors
        return self.value_type.from_variant(variant, self)
