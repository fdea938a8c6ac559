"""TensorArraySpec: what is known of a TensorArray."""

from millrace._flow.tensor_array import TensorArray
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape
from millrace._values.tensor_spec import TensorSpec
from millrace._values.type_spec import TypeSpec, register_specs

__all__ = ["TensorArraySpec"]


class TensorArraySpec(TypeSpec):
    """What is known of a TensorArray.

    Args:
      element_shape: the shape of its elements; None for any.
      dtype: their type.
      dynamic_size: whether it grows.
      infer_shape: whether all elements have one shape.
    """

    value_type = TensorArray

    def __init__(
        self, element_shape=None, dtype=dtypes.float32, dynamic_size=False, infer_shape=True
    ):
        self._element_shape, self._dtype = TensorShape(element_shape), dtypes.as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    @classmethod
    def from_value(cls, value):
        """That of a TensorArray."""
        return cls(value.element_shape, value.dtype, value.dynamic_size, value.infer_shape)

    @property
    def element_shape(self):
        return self._element_shape

    @property
    def dtype(self):
        return self._dtype

    def serialized(self):
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    def component_specs(self):
        """Those of its handle and of its flow."""
        return [TensorSpec([], dtypes.resource), TensorSpec([], dtypes.float32)]

    def components(self, value):
        return [value.handle, value.flow]

    def from_components(self, tensors):
        # Whether it grows, the handle knows.
        handle, flow = tensors
        return TensorArray(
            self._dtype,
            handle=handle,
            flow=flow,
            infer_shape=self._infer_shape,
            element_shape=None if self._element_shape.ndims is None else self._element_shape,
        )


register_specs(TensorArray, TensorArraySpec.from_value)
