"""RaggedTensorSpec: what is known of a ragged tensor."""

from millrace._ragged.tensor import RaggedTensor
from millrace._ragged.values import RaggedTensorValue, as_splits_dtype
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape
from millrace._values.tensor_spec import TensorSpec
from millrace._values.type_spec import TypeSpec, register_specs

__all__ = ["RaggedTensorSpec"]


class RaggedTensorSpec(TypeSpec):
    """What is known of a RaggedTensor.

    Args:
      shape: with None for the sizes that differ from row to row; None for any.
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged; None for all of `shape` but the first. 0 stands for a
        Tensor in a place where there may be ragged tensors, such as rows of them in datasets.
      row_splits_dtype: int32 or int64.

    Raises:
      TypeError: if ragged_rank is no int; ValueError: if it is not below the rank, or both are unknown.
    """

    value_type = RaggedTensor

    def __init__(
        self, shape=None, dtype=dtypes.float32, ragged_rank=None, row_splits_dtype=dtypes.int64
    ):
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)
        self._row_splits_dtype = as_splits_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"ragged_rank must be an int, not {ragged_rank!r}")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"ragged_rank {ragged_rank} must be less than rank {rank}.")
        self._ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value):
        """That of a RaggedTensor or a RaggedTensorValue."""
        splits = value.row_splits.dtype
        return cls(
            value.shape,
            dtypes.as_dtype(value.dtype).base_dtype,
            value.ragged_rank,
            dtypes.as_dtype(splits).base_dtype,
        )

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def ragged_rank(self):
        return self._ragged_rank

    @property
    def row_splits_dtype(self):
        return self._row_splits_dtype

    def serialized(self):
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    def component_specs(self):
        inner = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        rows = self._shape[0].value if self._shape.ndims else None
        first = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        deeper = [TensorSpec([None], self._row_splits_dtype)] * (self._ragged_rank - 1)
        return [first, *deeper, TensorSpec(inner, self._dtype)]

    def components(self, value):
        return value.component_tensors() if isinstance(value, RaggedTensor) else [value]

    def from_components(self, tensors):
        """A RaggedTensor of splits and flat values; a Tensor for a ragged_rank of 0."""
        for tensor, spec in zip(tensors, self.component_specs(), strict=True):
            tensor.set_shape(spec.shape)
        *splits, made = tensors
        for each in reversed(splits):
            made = RaggedTensor(made, each)
        return made


register_specs(RaggedTensor, RaggedTensorSpec.from_value)
register_specs(RaggedTensorValue, RaggedTensorSpec.from_value)
