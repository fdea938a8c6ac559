"""The columns of categories of tf.contrib.layers, over those of tf.feature_column: other names, settings and defaults.

Each is one of ours, and so goes wherever these go. What else they have is a combiner, told when the column is
made and not when it is used, and a text that they are put in order by.
"""

import dataclasses

from millrace import _gen as gen_ops
from millrace._columns.categorical import HashedColumn, WeightedColumn, checked_kind
from millrace._columns.column import CategoricalColumn, IdsAndWeights, check_key, to_sparse, whole
from millrace._columns.vocabulary import (
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._ops.parsing import VarLenFeature
from millrace._values import dtypes


class Older:
    """What the columns here have beside those of tf.feature_column.

    Attributes:
      order: a text; columns of a model are in its order. It begins as TensorFlow's own does.
    """

    @property
    def config(self):
        """{key: a feature} for tf.parse_example."""
        return dict(self.parse_example_spec)

    @property
    def length(self):
        """How many categories there are."""
        return self.num_buckets


@dataclasses.dataclass(frozen=True)
class SparseColumn(Older, CategoricalColumn):
    """Categories of one feature, by a column that knows their ids."""

    column: CategoricalColumn
    combiner: str
    kind: str

    @property
    def name(self):
        return self.column.name

    @property
    def num_buckets(self):
        return self.column.num_buckets

    @property
    def order(self):
        return f"_SparseColumn{self.kind}(column_name='{self.name}'"

    @property
    def parse_example_spec(self):
        return self.column.parse_example_spec

    def transformed(self, inputs):
        return inputs.get(self.column)

    def ids_and_weights(self, inputs):
        # A program may have transformed it before, so it is asked for by this column.
        return IdsAndWeights(inputs.get(self), None)


@dataclasses.dataclass(frozen=True)
class RemainderColumn(CategoricalColumn):
    """Integers whose ids are what is left when they are divided by the number of ids."""

    key: str
    num_buckets: int
    dtype: dtypes.DType

    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: VarLenFeature(self.dtype)}

    def transformed(self, inputs):
        feature = to_sparse(inputs.get(self.key))
        if not feature.dtype.is_integer:
            raise ValueError(
                f"sparse_column_with_integerized_feature '{self.key}': the feature must be of integers, not "
                f"{feature.dtype.name}"
            )
        ids = gen_ops.floor_mod(cast(feature.values, dtypes.int64), self.num_buckets)
        return SparseTensor(feature.indices, ids, feature.dense_shape)


def sparse_column_with_integerized_feature(
    column_name, bucket_size, combiner="sum", dtype=dtypes.int64
):
    """A column of integers, which are their own ids, modulo bucket_size.

    Args:
      column_name: the key of the feature: a SparseTensor, or a Tensor in which -1 stands for nothing.
      bucket_size: how many ids there are.
      combiner: "sum", "mean" or "sqrtn", of the weights of an example's categories in a weighted sum.
      dtype: the type to parse, an integer.

    Raises:
      ValueError: for a number below 1, or another type.
    """
    _check_size("bucket_size", bucket_size, column_name)
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_integer:
        raise ValueError(f"dtype must be an integer. dtype: {dtype}, column_name: {column_name}.")
    column = RemainderColumn(column_name, whole(bucket_size), dtype)
    return SparseColumn(column, combiner, "Integerized")


def sparse_column_with_hash_bucket(
    column_name, hash_bucket_size, combiner="sum", dtype=dtypes.string, hash_keys=None
):
    """A column of words or integers, whose ids are hashes.

    Args:
      column_name: the key of the feature: a SparseTensor, or a Tensor in which "" and -1 stand for nothing.
      hash_bucket_size: how many ids there are.
      combiner: as for sparse_column_with_integerized_feature.
      dtype: the type to parse, string or an integer.
      hash_keys: must be None: several hashes of one category are not worked out here.

    Raises:
      ValueError: for a number below 1, or another type. NotImplementedError: for hash_keys.
    """
    if hash_keys is not None:
        raise NotImplementedError(
            f"sparse_column_with_hash_bucket '{column_name}': hash_keys= must be None; make a column of each hash"
        )
    _check_size("hash_bucket_size", hash_bucket_size, column_name)
    column = HashedColumn(column_name, whole(hash_bucket_size), checked_kind(dtype, column_name))
    return SparseColumn(column, combiner, "Hashed")


def sparse_column_with_keys(
    column_name, keys, default_value=-1, combiner="sum", dtype=dtypes.string
):
    """A column of words or integers whose ids are their places in a list.

    Args:
      column_name: the key of the feature, as for sparse_column_with_hash_bucket.
      keys: the categories, each once.
      default_value: the id of what is not in the list; -1 is counted by no sum.
      combiner: as for sparse_column_with_integerized_feature.
      dtype: the type to parse, string or an integer.

    Raises:
      ValueError: for an empty list, a category twice, or another type.
    """
    column = categorical_column_with_vocabulary_list(
        column_name, tuple(keys), dtypes.as_dtype(dtype), default_value
    )
    return SparseColumn(column, combiner, "Keys")


def sparse_column_with_vocabulary_file(
    column_name,
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    combiner="sum",
    dtype=dtypes.string,
):
    """A column of words or integers whose ids are the numbers of their lines in a file.

    Args:
      column_name: the key of the feature, as for sparse_column_with_hash_bucket.
      vocabulary_file: a text file with a category per line.
      num_oov_buckets: how many more ids there are, for what is not in the file, by its hash.
      vocab_size: how many lines to take.
      default_value: the id of what is not in the file; -1 is counted by no sum.
      combiner: as for sparse_column_with_integerized_feature.
      dtype: the type to parse, string or an integer.

    Raises:
      ValueError: without vocab_size or a file, or for numbers below their least.
    """
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name}")
    column = categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default_value, dtype
    )
    return SparseColumn(column, combiner, "Vocabulary")


@dataclasses.dataclass(frozen=True)
class WeightedSparseColumn(Older, WeightedColumn):
    """See weighted_sparse_column."""

    @property
    def combiner(self):
        return self.categorical_column.combiner

    @property
    def order(self):
        return f"_WeightedSparseColumn(sparse_id_column={self.categorical_column.order}"


def weighted_sparse_column(sparse_id_column, weight_column_name, dtype=dtypes.float32):
    """A column of categories of which each has a weight in each example.

    Args:
      sparse_id_column: a sparse_column_with_...
      weight_column_name: the key of the weights, as for tf.feature_column.weighted_categorical_column.
      dtype: of the weights, an integer or floating type.

    Raises:
      ValueError: for a type of no numbers.
    """
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype is not convertible to float. Given {dtype}")
    return WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


def _check_size(what, size, column_name):
    check_key(column_name)
    if size is None or size < 1:
        raise ValueError(f"{what} must be at least 1. {what}: {size}, column_name: {column_name}")
