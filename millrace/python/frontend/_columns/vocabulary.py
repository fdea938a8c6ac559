"""Columns of categories that a list or a file has: the place of each there is its id."""

import dataclasses
import os

import numpy as np

from millrace._columns.categorical import checked_kind, words_or_integers
from millrace._columns.column import CategoricalColumn, check_key
from millrace._graph.default_graph import init_scope
from millrace._ops.parsing import VarLenFeature
from millrace._state.index_tables import index_table_from_file, index_table_from_tensor
from millrace._values import dtypes


class _VocabularyColumn(CategoricalColumn):
    """What both share; `table(key_dtype, name)` makes the table from words to ids."""

    @property
    def name(self):
        return self.key

    @property
    def num_buckets(self):
        return self.vocabulary_size + self.num_oov_buckets

    @property
    def parse_example_spec(self):
        return {self.key: VarLenFeature(self.dtype)}

    def transformed(self, inputs):
        feature = words_or_integers(self, inputs)
        with init_scope():
            table = self.table(feature.dtype, f"{self.scope_name}_lookup".replace("/", "_"))
        return table.lookup(feature)


@dataclasses.dataclass(frozen=True)
class VocabularyFileColumn(_VocabularyColumn):
    """See categorical_column_with_vocabulary_file."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: dtypes.DType
    default_value: int

    def table(self, key_dtype, name):
        return index_table_from_file(
            self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=key_dtype,
            name=name,
        )


@dataclasses.dataclass(frozen=True)
class VocabularyListColumn(_VocabularyColumn):
    """See categorical_column_with_vocabulary_list."""

    key: str
    vocabulary_list: tuple
    dtype: dtypes.DType
    default_value: int
    num_oov_buckets: int

    @property
    def vocabulary_size(self):
        return len(self.vocabulary_list)

    def table(self, key_dtype, name):
        return index_table_from_tensor(
            list(self.vocabulary_list),
            num_oov_buckets=self.num_oov_buckets,
            default_value=self.default_value,
            dtype=key_dtype,
            name=name,
        )


def _check_buckets(num_oov_buckets, default_value, key):
    if num_oov_buckets and default_value not in (None, -1):
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(
    key,
    vocabulary_file,
    vocabulary_size=None,
    num_oov_buckets=0,
    default_value=None,
    dtype=dtypes.string,
):
    """A column of words or integers whose ids are the numbers of their lines in a file.

    The table is filled by tf.tables_initializer().

    Args:
      key: of the feature, strings or integers: a SparseTensor, or a Tensor in which "" and -1 stand for
        nothing.
      vocabulary_file: a text file with a category per line.
      vocabulary_size: take so many lines; None for all, which are counted now.
      num_oov_buckets: how many more ids there are, for what is not in the file, by its hash.
      default_value: the id of what is not in the file; -1, which no sum counts, if None.
      dtype: the type to parse, string or an integer.

    Raises:
      ValueError: without a file, for numbers below their least, or for both buckets and a default.
    """
    check_key(key)
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    _check_buckets(num_oov_buckets, default_value, key)
    vocabulary_file = os.fspath(vocabulary_file)
    if vocabulary_size is None:
        vocabulary_size = _lines(vocabulary_file, key)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size {vocabulary_size} in {key}.")
    default_value = -1 if default_value is None else default_value
    dtype = checked_kind(dtype, key)
    return VocabularyFileColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, dtype, default_value
    )


def _lines(path, key):
    try:
        with open(path, "rb") as file:
            return sum(1 for _ in file)
    except OSError as error:
        raise ValueError(
            f"vocabulary_file in {key} can't be read to count its lines: {path}: {error.strerror}; say "
            "vocabulary_size= if it is to be read elsewhere"
        ) from None


def categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0
):
    """A column of words or integers whose ids are their places in a list.

    The table is filled by tf.tables_initializer().

    Args:
      key: of the feature, strings or integers: a SparseTensor, or a Tensor in which "" and -1 stand for
        nothing.
      vocabulary_list: the categories, each once: a list, an array, the keys of a dictionary.
      dtype: the type to parse; that of the list if None.
      default_value: the id of what is not in the list; -1 is counted by no sum.
      num_oov_buckets: how many more ids there are, for what is not in the list, by its hash.

    Raises:
      ValueError: for a list that is empty or has a category twice, a type of another kind, or both buckets
      and a default.
    """
    check_key(key)
    given = np.asarray(list(() if vocabulary_list is None else vocabulary_list))
    if not given.size:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    words = tuple(given.tolist())
    if len(set(words)) != len(words):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    _check_buckets(num_oov_buckets, default_value, key)
    own = dtypes.string if given.dtype.kind in "OSU" else dtypes.as_dtype(given.dtype)
    dtype = checked_kind(own if dtype is None else dtype, key)
    if dtype.is_integer != own.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {own} do not match, column_name: {key}"
        )
    return VocabularyListColumn(key, words, dtype, default_value, num_oov_buckets)
