"""Columns of combinations of categories: each has an id of its own, by its hash."""

import dataclasses

from millrace._columns.categorical import HashedColumn
from millrace._columns.column import CategoricalColumn, whole
from millrace._ops.parsing import VarLenFeature
from millrace._ops.sparse_crosses import sparse_cross_hashed
from millrace._values import dtypes


@dataclasses.dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """See crossed_column."""

    keys: tuple
    hash_bucket_size: int
    hash_key: object

    @property
    def name(self):
        return "_X_".join(
            sorted(key if isinstance(key, str) else key.name for key in _single(self))
        )

    @property
    def num_buckets(self):
        return self.hash_bucket_size

    @property
    def parse_example_spec(self):
        spec = {}
        for key in self.keys:
            spec.update(
                {key: VarLenFeature(dtypes.string)}
                if isinstance(key, str)
                else key.parse_example_spec
            )
        return spec

    def transformed(self, inputs):
        columns = [self._ids(key, inputs) for key in _single(self)]
        return sparse_cross_hashed(columns, self.hash_bucket_size, self.hash_key)

    def _ids(self, key, inputs):
        if isinstance(key, str):
            return inputs.get(key)
        ids, weights = key.ids_and_weights(inputs)
        if weights is not None:
            raise ValueError(
                "crossed_column does not support weight_tensor, but the given column populates "
                f"weight_tensor. Given column: {key.name}"
            )
        return ids


def _single(column):
    """The keys and columns that are crossed, those of crossed columns among them in their place."""
    for key in column.keys:
        if isinstance(key, CrossedColumn):
            yield from _single(key)
        else:
            yield key


def crossed_column(keys, hash_bucket_size, hash_key=None):
    """A column of the combinations of categories: one from each of several columns, as one category.

    As with TensorFlow, features that are Tensors are joined behind those that are SparseTensors, and the ids
    of combinations follow from that: what is dense in training must be so when the model serves.

    Args:
      keys: two or more keys of features (of strings, or of integers) or categorical columns; no column with
        hash buckets, whose key is to be given instead.
      hash_bucket_size: how many ids there are; combinations get theirs by their hash.
      hash_key: what the hash begins with; TensorFlow's if None.

    Raises:
      ValueError: for fewer keys, others, or a number below 1.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as a "
                f"string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), whole(hash_bucket_size), hash_key)
