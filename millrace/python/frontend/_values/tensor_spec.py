"""TensorSpec: what is known of a Tensor that is not there yet."""

import numpy as np

from millrace._values import dtypes, tensor_values
from millrace._values.tensor_shape import TensorShape
from millrace._values.type_spec import TypeSpec, common_shape

__all__ = ["BoundedTensorSpec", "TensorSpec"]


class TensorSpec(TypeSpec):
    """A shape, a type and maybe a name.

    Args:
      shape: as for TensorShape; None for any.
      dtype: the type.
      name: a name, or None.
    """

    def __init__(self, shape, dtype=dtypes.float32, name=None):
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec, name=None):
        """The same with another name, if there is one."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """What is known of a Tensor; its node's name if there is none."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    def serialized(self):
        return self._shape, self._dtype, self._name

    def component_specs(self):
        return [self]

    def components(self, value):
        return [value]

    def from_components(self, tensors):
        (tensor,) = tensors
        return tensor

    def is_compatible_with(self, spec_or_tensor):
        """Whether a Tensor may be what this says: its type is the same, its shape may be."""
        other = spec_or_tensor
        if isinstance(other, TypeSpec) and not isinstance(other, TensorSpec):
            return False
        if not hasattr(other, "dtype") or not hasattr(other, "shape"):
            array, dtype = tensor_values.to_array(other)
            other = TensorSpec(np.shape(array), dtype)
        same = self._dtype.is_compatible_with(dtypes.as_dtype(other.dtype).base_dtype)
        return same and self._shape.is_compatible_with(TensorShape(other.shape))

    def most_specific_compatible_type(self, other):
        """What two TensorSpecs of one type have in common; a name that both have stays.

        Raises:
          ValueError: if the other is none, or of another type.
        """
        if not isinstance(other, TensorSpec) or self._dtype != other.dtype:
            raise ValueError(f"No TypeSpec is compatible with both {self!r} and {other!r}")
        name = self._name if self._name == other.name else None
        return TensorSpec(common_shape(self._shape, other.shape), self._dtype, name)

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec that says between which numbers the elements are.

    Args:
      shape, dtype, name: as for TensorSpec.
      minimum, maximum: numbers, or arrays of a shape that broadcasts to `shape`; both belong to the range.

    Raises:
      ValueError: if one is None, or can't be broadcast.
    """

    def __init__(self, shape, dtype, minimum, maximum, name=None):
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError("minimum and maximum must be given")
        self._minimum, self._maximum = self._bound(minimum), self._bound(maximum)

    def _bound(self, value):
        bound = np.array(value, dtype=self.dtype.as_numpy_dtype)
        if self.shape.is_fully_defined():
            np.broadcast_to(bound, self.shape.as_list())
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec):
        """That of another spec: with the bounds of its type if it has none."""
        low, high = spec.dtype.min, spec.dtype.max
        return cls(
            spec.shape,
            spec.dtype,
            getattr(spec, "minimum", low),
            getattr(spec, "maximum", high),
            spec.name,
        )

    @property
    def minimum(self):
        return self._minimum

    @property
    def maximum(self):
        return self._maximum

    def serialized(self):
        bounds = (self._minimum.tolist(), self._maximum.tolist())
        return (*super().serialized()[:2], *bounds, self.name)

    def __repr__(self):
        return (
            f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )
