"""SparseTensorSpec and IndexedSlicesSpec: what is known of values of several Tensors."""

from millrace._graph.conversion import constant_value
from millrace._graph.sparse_tensor import SparseTensor, SparseTensorValue
from millrace._ops.gradients import IndexedSlices
from millrace._values import dtypes, tensor_values
from millrace._values.tensor_shape import TensorShape
from millrace._values.tensor_spec import TensorSpec
from millrace._values.type_spec import TypeSpec, register_specs

__all__ = ["IndexedSlicesSpec", "SparseTensorSpec"]


class SparseTensorSpec(TypeSpec):
    """What is known of a SparseTensor.

    Args:
      shape: of the whole; None for any.
      dtype: the type of the values.
    """

    value_type = SparseTensor

    def __init__(self, shape=None, dtype=dtypes.float32):
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    def serialized(self):
        return self._shape, self._dtype

    def component_specs(self):
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def components(self, value):
        return [value.indices, value.values, value.dense_shape]

    def from_components(self, tensors):
        for tensor, spec in zip(tensors, self.component_specs(), strict=True):
            tensor.set_shape(spec.shape)
        return SparseTensor(*tensors)


class IndexedSlicesSpec(TypeSpec):
    """What is known of an IndexedSlices.

    Args:
      shape: of the whole; None for any.
      dtype: the type of the values.
      indices_dtype: int32 or int64.
      dense_shape_dtype: the type of dense_shape; None if there is none.
      indices_shape: that of the indices; None for a vector of any size.
    """

    value_type = IndexedSlices

    def __init__(
        self,
        shape=None,
        dtype=dtypes.float32,
        indices_dtype=dtypes.int64,
        dense_shape_dtype=None,
        indices_shape=None,
    ):
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = dense_shape_dtype and dtypes.as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    def serialized(self):
        return (
            self._shape,
            self._dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    def component_specs(self):
        rows = self._indices_shape.concatenate(self._shape[1:])
        specs = [
            TensorSpec(rows, self._dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        ]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.ndims], self._dense_shape_dtype))
        return specs

    def components(self, value):
        parts = [value.values, value.indices, value.dense_shape]
        return [part for part in parts if part is not None]

    def from_components(self, tensors):
        return IndexedSlices(*tensors)


def _of_slices(value):
    shape = value.dense_shape
    known = None if shape is None else constant_value(shape)
    return IndexedSlicesSpec(
        known if known is None else known.tolist(),
        value.dtype.base_dtype,
        value.indices.dtype.base_dtype,
        None if shape is None else shape.dtype.base_dtype,
        value.indices.shape,
    )


def _of_sparse_arrays(value):
    # Programs put lists there, too.
    return SparseTensorSpec(list(value.dense_shape), tensor_values.to_array(value.values)[1])


register_specs(SparseTensor, lambda value: SparseTensorSpec(value.shape, value.dtype.base_dtype))
register_specs(SparseTensorValue, _of_sparse_arrays)
register_specs(IndexedSlices, _of_slices)
