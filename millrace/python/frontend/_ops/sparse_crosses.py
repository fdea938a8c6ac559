"""Combinations of features: one of each column, as a text or a hash of it."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._ops.arithmetic import cast
from millrace._values import dtypes

__all__ = ["sparse_cross", "sparse_cross_hashed"]

DEFAULT_HASH_KEY = 0xDECAFCAFFE


def sparse_cross(inputs, name=None):
    """Each combination of an element of every input, row by row, as a text with "_X_" between.

    Args:
      inputs: a list of SparseTensors and matrices, of strings or integers, with as many rows.
      name: a name for the node.

    Returns:
      a SparseTensor of strings, of rank 2.

    Raises:
      TypeError: for other inputs.
    """
    return _crossed(inputs, dtypes.string, False, 0, None, name)


def sparse_cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """Each combination of an element of every input, row by row, by its hash.

    Args:
      inputs: as for `sparse_cross`.
      num_buckets: how many numbers there are; 0 for all hashes.
      hash_key: an integer that hashes begin with; None for TensorFlow's.
      name: a name for the node.

    Returns:
      a SparseTensor of int64, of rank 2.

    Raises:
      TypeError: for other inputs.
    """
    return _crossed(inputs, dtypes.int64, True, num_buckets, hash_key, name)


def _crossed(inputs, out_type, hashed, num_buckets, hash_key, name):
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Inputs must be a list")
    sparse = [_of_kind(SparseTensor.from_value(each)) for each in inputs if is_sparse(each)]
    dense = [_of_kind(convert(each)) for each in inputs if not is_sparse(each)]
    kinds = {each.dtype.base_dtype for each in [*sparse, *dense]}
    indices, values, shape = gen_ops.sparse_cross(
        [each.indices for each in sparse],
        [each.values for each in sparse],
        [each.dense_shape for each in sparse],
        dense,
        hashed_output=hashed,
        num_buckets=num_buckets,
        hash_key=DEFAULT_HASH_KEY if hash_key is None else hash_key,
        out_type=out_type,
        internal_type=dtypes.int64 if dtypes.int64 in kinds else dtypes.string,
        name=name,
    )
    return SparseTensor(indices, values, shape)


def _of_kind(feature):
    """The feature as strings or int64."""
    dtype = feature.dtype.base_dtype
    if dtype in (dtypes.string, dtypes.int64):
        return feature
    if not dtype.is_integer:
        raise TypeError(f"crosses are of strings and integers, not of {dtype.name}: {feature}")
    return cast(feature, dtypes.int64)
