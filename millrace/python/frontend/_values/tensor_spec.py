"""TensorSpec: what is known of a Tensor that is not there yet."""

from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class TensorSpec:
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

    def is_compatible_with(self, tensor):
        """Whether a Tensor may be what this says: its type is the same, its shape may be."""
        same = self._dtype.is_compatible_with(tensor.dtype)
        return same and self._shape.is_compatible_with(tensor.shape)

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        sizes = None if self._shape.ndims is None else tuple(self._shape.as_list())
        return sizes, self._dtype.name, self._name

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"
