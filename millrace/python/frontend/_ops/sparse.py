"""Sparse tensors that are fed, become dense, or bytes; slices without some of their rows."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arrays import placeholder
from millrace._ops.gradients import IndexedSlices
from millrace._ops.sparse_layout import sparse_merge, to_sparse
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def sparse_placeholder(dtype, shape=None, name=None):
    """A SparseTensor whose value is fed, as a tf.SparseTensorValue or (indices, values, dense_shape).

    Args:
      dtype: of the values.
      shape: of the whole, a list of numbers or an int64 Tensor; None if it is fed.
      name: the name scope.

    Returns:
      a SparseTensor.
    """
    with name_scope(name, "Placeholder"):
        if shape is None:
            rank, dense_shape = None, placeholder(dtypes.int64, [None], name="shape")
        elif hasattr(shape, "_as_tensor"):
            dense_shape = convert(shape, dtypes.int64, "shape")
            rank = dense_shape.shape[0].value if dense_shape.shape.ndims else None
        else:
            dims = TensorShape(shape).as_list()
            rank = len(dims)
            # Sizes that are not known are fed with the rest.
            dense_shape = (
                placeholder(dtypes.int64, [rank], name="shape")
                if None in dims
                else convert(dims, dtypes.int64, "shape")
            )
        values = placeholder(dtype, [None], name="values")
        indices = placeholder(dtypes.int64, [None, rank], name="indices")
        return SparseTensor(indices, values, dense_shape)


def sparse_tensor_to_dense(sp_input, default_value=0, validate_indices=True, name=None):
    """The Tensor of a SparseTensor, with `default_value` where it has nothing.

    Args:
      sp_input: a SparseTensor.
      default_value: a scalar of its type.
      validate_indices: True to refuse places that are out of order or come twice.
      name: a name for the node.

    Raises:
      TypeError: if it is no SparseTensor.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor: {sp_input!r}")
    return gen_ops.sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_to_indicator(sp_input, vocab_size, name=None):
    """True at each id that a row of a SparseTensor has.

    Args:
      sp_input: a SparseTensor of int32 or int64 ids, all of them in [0, vocab_size); an id may come
        more than once.
      vocab_size: how many ids there are, an integer or a Tensor.
      name: the name scope.

    Returns:
      a bool Tensor of shape sp_input.dense_shape[:-1] + [vocab_size].
    """
    sp_input = to_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input.values]) as scope:
        there = gen_ops.fill(gen_ops.shape(sp_input.values), True)
        marks = SparseTensor(sp_input.indices, there, sp_input.dense_shape)
        merged = sparse_merge(sp_input, marks, vocab_size)
        return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)


def sparse_mask(a, mask_indices, name=None):
    """An IndexedSlices without the rows whose numbers `mask_indices` has."""
    with name_scope(name, "sparse_mask", [a.values, mask_indices]):
        left, places = gen_ops.list_diff(a.indices, mask_indices)
        return IndexedSlices(gen_ops.gather_v2(a.values, places, 0), left, a.dense_shape)


def serialize_sparse(sp_input, name=None, out_type=dtypes.string):
    """A vector of three: a SparseTensor's indices, values and shape, as strings or variants."""
    sp_input = to_sparse(sp_input)
    return gen_ops.serialize_sparse(
        sp_input.indices, sp_input.values, sp_input.dense_shape, out_type=out_type, name=name
    )


def serialize_many_sparse(sp_input, name=None, out_type=dtypes.string):
    """A row of three, as of `serialize_sparse`, for each row of a SparseTensor in row-major order."""
    sp_input = to_sparse(sp_input)
    return gen_ops.serialize_many_sparse(
        sp_input.indices, sp_input.values, sp_input.dense_shape, out_type=out_type, name=name
    )


def _with_rank(parts, rank):
    indices, values, dense_shape = parts
    indices.set_shape([None, rank])
    dense_shape.set_shape([rank])
    return SparseTensor(indices, values, dense_shape)


def deserialize_sparse(serialized_sparse, dtype, rank=None, name=None):
    """The SparseTensor of what `serialize_sparse` made; of several, one with their axes in front.

    Args:
      serialized_sparse: strings or variants of shape [..., 3].
      dtype: of the values.
      rank: of each SparseTensor, if it is known.
      name: a name for the node.
    """
    return _with_rank(gen_ops.deserialize_sparse(serialized_sparse, dtype, name=name), rank)


def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
    """The SparseTensors of a matrix [N, 3] of strings, as one with a new first axis.

    Args:
      serialized_sparse: what `serialize_many_sparse` made, or several vectors of `serialize_sparse`.
      dtype: of the values.
      rank: of each SparseTensor, if it is known.
      name: a name for the node.
    """
    made = gen_ops.deserialize_many_sparse(serialized_sparse, dtype, name=name)
    return _with_rank(made, None if rank is None else rank + 1)
