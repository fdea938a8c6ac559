"""Columns of categories that need no list of them: ids as they are, buckets of hashes; weights of ids."""

import dataclasses

from millrace import _gen as gen_ops
from millrace._columns.column import (
    CategoricalColumn,
    IdsAndWeights,
    check_key,
    to_sparse,
    whole,
)
from millrace._flow.checks import in_range
from millrace._graph.conversion import convert
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import where
from millrace._ops.parsing import VarLenFeature
from millrace._values import dtypes


def words_or_integers(column, inputs):
    """The feature of a column's key as a SparseTensor of its kind: strings, or integers as int64.

    Raises:
      ValueError: if the feature is of another kind.
    """
    feature = to_sparse(inputs.get(column.key))
    dtype = feature.dtype.base_dtype
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(
            f"column_name: {column.key}: the feature must be of strings or integers, not {dtype.name}"
        )
    if column.dtype.is_integer != dtype.is_integer:
        raise ValueError(
            "Column dtype and SparseTensors dtype must be compatible. "
            f"key: {column.key}, column dtype: {column.dtype}, tensor dtype: {dtype}"
        )
    return cast(feature, dtypes.int64) if dtype.is_integer else feature


def checked_kind(dtype, key):
    """The DType of a column. ValueError if it is of neither strings nor integers."""
    dtype = dtypes.as_dtype(dtype)
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(
            f"column_name: {key} dtype must be string or integer. dtype: {dtype.name}."
        )
    return dtype


@dataclasses.dataclass(frozen=True)
class IdentityColumn(CategoricalColumn):
    """See categorical_column_with_identity."""

    key: str
    num_buckets: int
    default_value: object

    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: VarLenFeature(dtypes.int64)}

    def transformed(self, inputs):
        feature = to_sparse(inputs.get(self.key))
        if not feature.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {feature.dtype}")
        ids = cast(feature.values, dtypes.int64)
        if self.default_value is None:
            told = f"an id of column {self.key} is not in [0, {self.num_buckets})"
            ids = in_range(ids, self.num_buckets - 1, told)
        else:
            is_known = gen_ops.logical_and(
                gen_ops.greater_equal(ids, 0), gen_ops.less(ids, self.num_buckets)
            )
            default = gen_ops.fill(gen_ops.shape(ids), convert(self.default_value, dtypes.int64))
            ids = where(is_known, ids, default)
        return SparseTensor(feature.indices, ids, feature.dense_shape)


def categorical_column_with_identity(key, num_buckets, default_value=None):
    """A column of ids as they are.

    Args:
      key: of the feature, integers: a SparseTensor, or a Tensor in which -1 stands for nothing.
      num_buckets: how many ids there are, from 0 on.
      default_value: the id that all others are taken for; None to refuse them.

    Raises:
      ValueError: for a number below 1, or a default that is no id. When it runs, InvalidArgumentError for
      ids that are refused.
    """
    check_key(key)
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityColumn(key, whole(num_buckets), default_value)


@dataclasses.dataclass(frozen=True)
class HashedColumn(CategoricalColumn):
    """See categorical_column_with_hash_bucket."""

    key: str
    hash_bucket_size: int
    dtype: dtypes.DType

    @property
    def name(self):
        return self.key

    @property
    def num_buckets(self):
        return self.hash_bucket_size

    @property
    def parse_example_spec(self):
        return {self.key: VarLenFeature(self.dtype)}

    def transformed(self, inputs):
        feature = words_or_integers(self, inputs)
        texts = feature.values
        if feature.dtype.is_integer:
            texts = gen_ops.as_string(texts)
        ids = gen_ops.string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")
        return SparseTensor(feature.indices, ids, feature.dense_shape)


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
    """A column of words or integers, whose ids are hashes: different ones may have the same id.

    Args:
      key: of the feature, strings or integers: a SparseTensor, or a Tensor in which "" and -1 stand for
        nothing.
      hash_bucket_size: how many ids there are.
      dtype: the type to parse, string or an integer.

    Raises:
      ValueError: for a number below 1, or another type.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            "hash_bucket_size must be at least 1. "
            f"hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    check_key(key)
    return HashedColumn(key, whole(hash_bucket_size), checked_kind(dtype, key))


@dataclasses.dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    """See weighted_categorical_column."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: dtypes.DType

    @property
    def name(self):
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def num_buckets(self):
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self):
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for "
                f"{self.weight_feature_key}."
            )
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    def transformed(self, inputs):
        weights = inputs.get(self.weight_feature_key)
        if weights.dtype.base_dtype != self.dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = to_sparse(weights, 0)
        return weights if self.dtype.is_floating else cast(weights, dtypes.float32)

    def ids_and_weights(self, inputs):
        ids = self.categorical_column.ids_and_weights(inputs).ids
        return IdsAndWeights(ids, inputs.get(self))


def weighted_categorical_column(categorical_column, weight_feature_key, dtype=dtypes.float32):
    """A column of categories of which each has a weight in each example.

    Args:
      categorical_column: the categories.
      weight_feature_key: the key of the weights, a feature with as many values in the same places: a
        SparseTensor, or a Tensor in which 0 stands for nothing.
      dtype: of the weights, an integer or floating type.

    Raises:
      ValueError: for a type of no numbers.
    """
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedColumn(categorical_column, weight_feature_key, dtype)
