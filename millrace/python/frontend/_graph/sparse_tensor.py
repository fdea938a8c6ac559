"""Sparse tensors: the elements of a tensor that are there, with their places."""

import collections

from millrace._graph.composite import Composite
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_session import session_or_default
from millrace._graph.operation import Tensor
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape, unknown_shape

SparseTensorValue = collections.namedtuple(
    "SparseTensorValue", ["indices", "values", "dense_shape"]
)


class SparseTensor:
    """Values and where in a tensor of shape `dense_shape` they stand; all else is missing, or zero.

    Args:
      indices: an int64 Tensor of shape [N, rank], the place of each value, best in row-major order.
      values: a Tensor of shape [N].
      dense_shape: an int64 Tensor of shape [rank].
    """

    def __init__(self, indices, values, dense_shape):
        self._indices = convert(indices, dtypes.int64, "indices")
        self._values = convert(values, name="values")
        self._dense_shape = convert(dense_shape, dtypes.int64, "dense_shape")
        places = self._indices.shape.with_rank(2)
        places.dims[0].assert_is_compatible_with(self._values.shape.with_rank(1).dims[0])
        places.dims[1].assert_is_compatible_with(self._dense_shape.shape.with_rank(1).dims[0])

    @classmethod
    def from_value(cls, sparse_tensor_value):
        """The SparseTensor of a SparseTensorValue; a SparseTensor is returned as it is."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(*sparse_tensor_value)

    @property
    def indices(self):
        return self._indices

    @property
    def values(self):
        return self._values

    @property
    def dense_shape(self):
        return self._dense_shape

    @property
    def op(self):
        """The Operation that makes the values."""
        return self._values.op

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def graph(self):
        return self._indices.graph

    @property
    def shape(self):
        """The TensorShape of the whole, as far as it is known."""
        known = constant_value(self._dense_shape)
        if known is not None:
            return TensorShape([None if dim < 0 else int(dim) for dim in known])
        rank = self._dense_shape.shape.dims and self._dense_shape.shape.dims[0].value
        return unknown_shape(rank)

    def get_shape(self):
        return self.shape

    def eval(self, feed_dict=None, session=None):
        """The SparseTensorValue of it, run in `session` or the default one."""
        session = session_or_default(session, self.graph, "SparseTensor.eval()")
        return session.run(self, feed_dict)

    def __repr__(self):
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __str__ = __repr__


def components(value):
    """The Tensors that a SparseTensor is made of."""
    return [value.indices, value.values, value.dense_shape]


def is_sparse(value):
    """True for a SparseTensor or a SparseTensorValue."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def is_tensor(x):
    """True for a Tensor, SparseTensor, RaggedTensor, Variable, or slices of one; False for what would become one."""
    return hasattr(x, "_as_tensor") or isinstance(x, (SparseTensor, Composite))


def to_tensor_or_sparse(value, dtype=None, name=None):
    """A SparseTensor for what is sparse, else what tf.convert_to_tensor makes of it.

    Raises:
      RuntimeError: if a SparseTensor has another dtype.
    """
    if not is_sparse(value):
        return value if isinstance(value, Tensor) and dtype is None else convert(value, dtype, name)
    sparse = SparseTensor.from_value(value)
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(sparse.dtype):
        raise RuntimeError(
            f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, "
            f"actual = {sparse.dtype.name}"
        )
    return sparse
