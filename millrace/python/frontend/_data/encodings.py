"""Sparse and ragged tensors as the variants by which datasets pass them on.

A sparse one is a vector of three, a ragged one a scalar, as TensorFlow writes them; a group has an axis more in
front. Both come out of the ops that unpack them with as many axes as were put together.
"""

from millrace import _gen as gen_ops
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._ops.composite_specs import SparseTensorSpec
from millrace._ragged.specs import RaggedTensorSpec
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor
from millrace._ragged.values import RaggedTensorValue
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape
from millrace._values.tensor_spec import TensorSpec

__all__ = ["composite_of", "encoding_of"]


def _grown(shape, size):
    return TensorShape([size]).concatenate(shape)


def _shrunk(shape):
    if shape.ndims == 0:
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return shape if shape.ndims is None else shape[1:]


class _Sparse:
    """How SparseTensors are passed on."""

    @staticmethod
    def encode(kind, value):
        return gen_ops.serialize_sparse(
            value.indices, value.values, value.dense_shape, out_type=dtypes.variant
        )

    @staticmethod
    def rows(kind, value):
        return gen_ops.serialize_many_sparse(
            value.indices, value.values, value.dense_shape, out_type=dtypes.variant
        )

    @staticmethod
    def decode(kind, tensor):
        made = gen_ops.deserialize_sparse(tensor, dtype=kind.dtype)
        return kind.from_components(list(made))

    @staticmethod
    def batched(kind, size):
        return SparseTensorSpec(_grown(kind.shape, size), kind.dtype)

    @staticmethod
    def unbatched(kind):
        return SparseTensorSpec(_shrunk(kind.shape), kind.dtype)

    @staticmethod
    def loosened(kind):
        return SparseTensorSpec(None, kind.dtype)


class _Ragged:
    """How RaggedTensors are passed on, and the Tensors that rows of them are."""

    @staticmethod
    def encode(kind, value):
        return _Ragged._variant(kind, value, False)

    @staticmethod
    def rows(kind, value):
        if kind.ragged_rank == 0:
            return value
        return _Ragged._variant(kind, value, True)

    @staticmethod
    def _variant(kind, value, is_batch):
        rank = getattr(value, "ragged_rank", 0)
        if rank != kind.ragged_rank:
            raise ValueError(f"a component of ragged_rank {rank} where {kind!r} was expected")
        *splits, flat = kind.components(value)
        return gen_ops.ragged_tensor_to_variant(splits, flat, batched_input=is_batch)

    @staticmethod
    def decode(kind, tensor):
        made = gen_ops.ragged_tensor_from_variant(
            tensor,
            input_ragged_rank=-1,
            output_ragged_rank=kind.ragged_rank,
            Tvalues=kind.dtype,
            Tsplits=kind.row_splits_dtype,
        )
        return kind.from_components([*made[0], made[1]])

    @staticmethod
    def batched(kind, size):
        return RaggedTensorSpec(
            _grown(kind.shape, size), kind.dtype, kind.ragged_rank + 1, kind.row_splits_dtype
        )

    @staticmethod
    def unbatched(kind):
        if kind.ragged_rank == 0:
            return TensorSpec(_shrunk(kind.shape), kind.dtype)
        return RaggedTensorSpec(
            _shrunk(kind.shape), kind.dtype, kind.ragged_rank - 1, kind.row_splits_dtype
        )

    @staticmethod
    def loosened(kind):
        return RaggedTensorSpec(None, kind.dtype, kind.ragged_rank, kind.row_splits_dtype)


_ENCODINGS = {SparseTensorSpec: _Sparse, RaggedTensorSpec: _Ragged}


def encoding_of(spec):
    """How values of a TypeSpec are passed on; None if they can't be."""
    return _ENCODINGS.get(type(spec))


def composite_of(value):
    """The SparseTensor or RaggedTensor that a value is, or is the value of; None for others."""
    if is_sparse(value):
        return SparseTensor.from_value(value)
    if isinstance(value, (RaggedTensor, RaggedTensorValue)):
        return as_ragged_or_tensor(value)
    return None
