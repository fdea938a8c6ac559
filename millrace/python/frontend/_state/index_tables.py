"""Tables between words and their numbers, and numbers for words that no table has."""

import collections

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._state.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from millrace._state.tables import LookupInterface, StaticHashTable
from millrace._values import dtypes

HasherSpec = collections.namedtuple("HasherSpec", ["hasher", "key"])
FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """A hash that nobody can foresee who does not have the key, two integers of 64 bits."""

    __slots__ = ()

    def __new__(cls, key):
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if any(not isinstance(part, int) for part in key):
            raise TypeError("Invalid key. Must be unsigned integers.")
        return super().__new__(cls, "stronghash", key)


def _buckets(values, count, hasher_spec, name):
    if hasher_spec.hasher == "fasthash":
        return gen_ops.string_to_hash_bucket_fast(values, count, name=name)
    if hasher_spec.hasher == "legacy":
        return gen_ops.string_to_hash_bucket(values, count, name=name)
    return gen_ops.string_to_hash_bucket_strong(values, count, key=list(hasher_spec.key), name=name)


class IdTableWithHashBuckets(LookupInterface):
    """Numbers for keys: those of a table, and behind them some buckets for keys that it does not have.

    Args:
      table: a table to int64; None if there are only buckets.
      num_oov_buckets: how many buckets; 0 leaves such keys to the table's default.
      hasher_spec: FastHashSpec, or a StrongHashSpec: which bucket is a key's.
      name: the name scope.
      key_dtype: of the keys, an integer or string; None for the table's.

    Raises:
      ValueError: if there is neither a table nor a bucket; TypeError: for types that don't fit.
    """

    def __init__(self, table, num_oov_buckets, hasher_spec=FastHashSpec, name=None, key_dtype=None):
        if table is None and num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        key_dtype = dtypes.as_dtype(key_dtype or (table.key_dtype if table else dtypes.string))
        if key_dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype.name}.")
        if table is not None and table.value_dtype != dtypes.int64:
            raise TypeError(f"Invalid value_dtype, expected int64, got {table.value_dtype.name}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec!r}")
        self._table = table
        self._num_oov_buckets = num_oov_buckets
        self._hasher_spec = hasher_spec
        self._key_dtype, self._value_dtype = key_dtype, dtypes.int64
        self._name = name or (f"{table.name}_hash_buckets" if table else "hash_bucket")

    @property
    def initializer(self):
        """The Operation that fills the table; None if there is none."""
        return None if self._table is None else self._table.initializer

    init = initializer

    @property
    def resource_handle(self):
        return None if self._table is None else self._table.resource_handle

    def size(self, name=None):
        """An int64 Tensor: how many numbers there are, buckets included."""
        with name_scope(name, f"{self._name}_Size"):
            known = constant(0, dtypes.int64) if self._table is None else self._table.size()
            return known + constant(self._num_oov_buckets, dtypes.int64)

    def lookup(self, keys, name=None):
        """The number of each key, a Tensor or SparseTensor of int64."""
        keys = keys if isinstance(keys, SparseTensor) else convert(keys, name="keys")
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype.name}, got "
                f"{keys.dtype.name}."
            )
        values = keys.values if isinstance(keys, SparseTensor) else keys
        wanted = self._table.key_dtype if self._table is not None else self._key_dtype
        values = cast(values, wanted) if wanted != values.dtype.base_dtype else values
        with name_scope(name, f"{self._name}_Lookup", [values]) as scope:
            ids = self._numbers(values, scope)
        if not isinstance(keys, SparseTensor):
            return ids
        return SparseTensor(keys.indices, ids, keys.dense_shape)

    def _numbers(self, values, scope):
        if self._num_oov_buckets == 0:
            return self._table.lookup(values, name=scope)
        texts = values if values.dtype == dtypes.string else gen_ops.as_string(values)
        buckets = _buckets(texts, self._num_oov_buckets, self._hasher_spec, "hash_bucket")
        if self._table is None:
            return gen_ops.identity(buckets)
        ids = self._table.lookup(values)
        has_none = gen_ops.equal(ids, self._table.default_value)
        return gen_ops.select(has_none, gen_ops.add(buckets, self._table.size()), ids)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """Numbers for keys: those of an initializer, and behind them buckets for keys that it does not have.

    Args:
      initializer: of int64 values; None if there are only buckets.
      num_oov_buckets: how many buckets, at least one.
      lookup_key_dtype: of the keys; None for the initializer's.
      name: the name scope.
    """

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None):
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None if initializer is None else StaticHashTable(initializer, -1, name=name)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


def _indexed(initializer, key_dtype, num_oov_buckets, default_value, hasher_spec, scope):
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    table = StaticHashTable(initializer, default_value)
    if not num_oov_buckets:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, scope, key_dtype)


def index_table_from_file(
    vocabulary_file=None,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    hasher_spec=FastHashSpec,
    key_dtype=dtypes.string,
    name=None,
    key_column_index=TextFileIndex.WHOLE_LINE,
    value_column_index=TextFileIndex.LINE_NUMBER,
    delimiter="\t",
):
    """A table from the lines of a file to their numbers.

    Args:
      vocabulary_file: its name.
      num_oov_buckets: buckets behind the last number, for keys that are not in the file.
      vocab_size: take so many lines; None for all.
      default_value: the number of such keys if there are no buckets.
      hasher_spec: which bucket is a key's.
      key_dtype: of the keys, string or an integer.
      name: the name scope.
      key_column_index, value_column_index, delimiter: as for TextFileInitializer.

    Raises:
      ValueError: without a file, or for negative counts.
    """
    if vocabulary_file is None or isinstance(vocabulary_file, str) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    key_dtype = dtypes.as_dtype(key_dtype)
    if not key_dtype.is_integer and key_dtype != dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    with name_scope(name, "string_to_index") as scope:
        initializer = TextFileIdTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
        )
        return _indexed(
            initializer, key_dtype, num_oov_buckets, default_value, hasher_spec, scope[:-1]
        )


def index_table_from_tensor(
    vocabulary_list=None,
    num_oov_buckets=0,
    default_value=-1,
    hasher_spec=FastHashSpec,
    dtype=dtypes.string,
    name=None,
    mapping=None,
):
    """A table from the elements of a vector to their numbers.

    Args:
      vocabulary_list: the vector.
      num_oov_buckets, default_value, hasher_spec, name: as for index_table_from_file.
      dtype: of the keys.
      mapping: `vocabulary_list` by its older name.
    """
    words = mapping if vocabulary_list is None else vocabulary_list
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_integer and dtype != dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index") as scope:
        keys = convert(words)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(f"Expected {dtype.name}, got {keys.dtype.name}.")
        if dtype.is_integer:
            keys = cast(keys, dtypes.int64)
        numbers = cast(gen_ops.range(0, gen_ops.size(keys), 1), dtypes.int64)
        initializer = KeyValueTensorInitializer(keys, numbers, name="table_init")
        return _indexed(initializer, dtype, num_oov_buckets, default_value, hasher_spec, scope[:-1])


def string_to_index_table_from_file(
    vocabulary_file=None,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    hasher_spec=FastHashSpec,
    name=None,
):
    """index_table_from_file of strings."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec, name=None
):
    """index_table_from_tensor of strings. ValueError for others."""
    mapping = convert(mapping)
    if mapping.dtype.base_dtype != dtypes.string:
        raise ValueError(
            f"string_to_index_table_from_tensor requires string, not {mapping.dtype.name}."
        )
    return index_table_from_tensor(
        mapping,
        num_oov_buckets=num_oov_buckets,
        default_value=default_value,
        hasher_spec=hasher_spec,
        name=name,
    )


def index_to_string_table_from_file(
    vocabulary_file,
    vocab_size=None,
    default_value="UNK",
    name=None,
    key_column_index=TextFileIndex.LINE_NUMBER,
    value_column_index=TextFileIndex.WHOLE_LINE,
    delimiter="\t",
):
    """A table from the numbers of a file's lines to the lines; as index_table_from_file."""
    if isinstance(vocabulary_file, str) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter
        )
        return StaticHashTable(initializer, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list=None, default_value="UNK", name=None, mapping=None
):
    """A table from numbers (int64) to the strings of a vector."""
    words = mapping if vocabulary_list is None else vocabulary_list
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"):
        values = convert(words, dtypes.string)
        numbers = cast(gen_ops.range(0, gen_ops.size(values), 1), dtypes.int64)
        initializer = KeyValueTensorInitializer(numbers, values, dtypes.int64, dtypes.string)
        return StaticHashTable(initializer, default_value)


def string_to_index(tensor, mapping, default_value=-1, name=None):
    """The numbers of strings: their places in a list, int64. The table needs tf.tables_initializer().

    Args:
      tensor: a string Tensor.
      mapping: a vector of strings, none of them twice.
      default_value: for strings that are not in it.
      name: the name scope.
    """
    table = index_table_from_tensor(mapping, default_value=default_value, name=name)
    return table.lookup(tensor)


def index_to_string(tensor, mapping, default_value="UNK", name=None):
    """The strings of numbers: what is at these places of a list. The table needs
    tf.tables_initializer().

    Args:
      tensor: an int64 Tensor.
      mapping: a vector of strings.
      default_value: for numbers beyond it.
      name: the name scope.
    """
    table = index_to_string_table_from_tensor(mapping, default_value=default_value, name=name)
    return table.lookup(tensor)
