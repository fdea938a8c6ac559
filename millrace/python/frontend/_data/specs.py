"""tf.type_spec_from_value, for values of all classes, and the older names of specs."""

import numpy as np

from millrace._data.dataset_spec import DatasetSpec, OptionalSpec
from millrace._flow.tensor_array_spec import TensorArraySpec
from millrace._ops.composite_specs import IndexedSlicesSpec, SparseTensorSpec
from millrace._ragged.specs import RaggedTensorSpec
from millrace._values import tensor_values
from millrace._values.tensor_spec import TensorSpec
from millrace._values.type_spec import TypeSpec, spec_of

__all__ = [
    "DatasetSpec",
    "DatasetStructure",
    "IndexedSlicesSpec",
    "OptionalSpec",
    "OptionalStructure",
    "RaggedTensorSpec",
    "RaggedTensorStructure",
    "SparseTensorSpec",
    "SparseTensorStructure",
    "Structure",
    "TensorArraySpec",
    "TensorArrayStructure",
    "TensorStructure",
    "type_spec_from_value",
]

Structure = TypeSpec
DatasetStructure = DatasetSpec
OptionalStructure = OptionalSpec


def type_spec_from_value(value):
    """The TypeSpec of a value: of a Tensor, a Variable, what is made of Tensors, or of a constant.

    Raises:
      TypeError: if no Tensor can be made of it.
    """
    found = spec_of(value)
    if found is not None:
        return found
    if hasattr(value, "_as_tensor"):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(
        value, (np.ndarray, np.generic, bool, int, float, complex, str, bytes, list, tuple)
    ):
        try:
            array, dtype = tensor_values.to_array(value)
        except ValueError as error:
            raise TypeError(f"Could not build a TypeSpec for {value!r}: {error}") from None
        return TensorSpec(np.shape(array), dtype)
    raise TypeError(f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}")


def TensorStructure(dtype, shape):
    """TensorSpec(shape, dtype)."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype, shape):
    """SparseTensorSpec(shape, dtype)."""
    return SparseTensorSpec(shape, dtype)


def TensorArrayStructure(dtype, element_shape, dynamic_size, infer_shape):
    """TensorArraySpec with the type first."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def RaggedTensorStructure(dtype, shape, ragged_rank):
    """RaggedTensorSpec(shape, dtype, ragged_rank)."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)
