"""SparseTensors on their way through a queue, which carries only Tensors: a map of the device keeps them, and
the queue has their numbers."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import with_dependencies
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import constant
from millrace._graph.default_graph import colocate_with
from millrace._graph.sparse_tensor import SparseTensor, SparseTensorValue
from millrace._ops.sparse_layout import sparse_retain, to_sparse
from millrace._values import dtypes


class SparseColumn:
    """One SparseTensor of an example, or of several by rows, in each of the lists that fill a queue."""

    def __init__(self, is_many):
        self._is_many = is_many
        self._map_op = None  # whose name the map has
        self._rank = self._dtype = None

    def store(self, value, keep_input):
        """The numbers of the SparseTensor: [1], or [rows, 1] of several; -1 where it is not kept."""
        sparse = to_sparse(value)
        rank = sparse.dense_shape.shape.dims[0].value if sparse.dense_shape.shape.ndims else None
        rank = rank - 1 if self._is_many and rank is not None else rank
        if self._map_op is not None and self._rank != rank:
            raise ValueError(
                f"Inconsistent SparseTensors list: ranks {self._rank} and {rank} in {value}"
            )
        self._rank, self._dtype = rank, sparse.dtype.base_dtype
        if keep_input.shape.ndims == 1:
            rows = gen_ops.gather_v2(keep_input, sparse.indices[:, 0], 0)
            numbers = self._add(sparse_retain(sparse, rows))
        else:
            numbers = smart_cond(
                keep_input, lambda: self._add(sparse), lambda: self._nothing(sparse)
            )
        return gen_ops.expand_dims(numbers, -1)

    def _add(self, sparse):
        add = (
            gen_ops.add_many_sparse_to_tensors_map
            if self._is_many
            else gen_ops.add_sparse_to_tensors_map
        )
        shared = "" if self._map_op is None else self._map_op.name
        numbers = add(sparse.indices, sparse.values, sparse.dense_shape, shared_name=shared)
        if self._map_op is None:
            self._map_op = numbers.op
        return numbers

    def _nothing(self, sparse):
        none = constant(-1, dtypes.int64)
        return gen_ops.fill(sparse.dense_shape[0:1], none) if self._is_many else none

    def restore(self, numbers):
        """The SparseTensor with a new first axis that the numbers of a batch, [rows, 1], stand for."""
        with colocate_with(self._map_op):
            indices, values, dense_shape = gen_ops.take_many_sparse_from_tensors_map(
                gen_ops.squeeze(numbers, squeeze_dims=[1]),
                dtype=self._dtype,
                # There is no map if no example is ever kept.
                shared_name="" if self._map_op is None else self._map_op.name,
            )
        if self._rank is not None:
            indices.set_shape([None, self._rank + 1])
            dense_shape.set_shape([self._rank + 1])
        return SparseTensor(indices, values, dense_shape)


def columns_of(lists, is_many):
    """A SparseColumn for each column of the lists that is sparse, None for the others.

    Raises:
      ValueError: if a column is sparse in one list alone.
    """
    columns = []
    for values in zip(*lists):
        sparse = [isinstance(value, (SparseTensor, SparseTensorValue)) for value in values]
        if any(sparse) != all(sparse):
            raise ValueError(f"Inconsistent SparseTensors list: {values}")
        columns.append(SparseColumn(is_many) if sparse[0] else None)
    return columns


def restored(taken, columns):
    """What a queue gave out, with SparseTensors again; all of them are taken, whatever is fetched."""
    whole = [
        value if column is None else column.restore(value) for value, column in zip(taken, columns)
    ]
    inputs = [value.values if isinstance(value, SparseTensor) else value for value in whole]

    def after(value):
        return with_dependencies(inputs, value)

    return [
        (
            SparseTensor(after(value.indices), after(value.values), after(value.dense_shape))
            if isinstance(value, SparseTensor)
            else after(value)
        )
        for value in whole
    ]
