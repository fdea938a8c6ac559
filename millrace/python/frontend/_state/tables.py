"""Hash tables: from keys to values, filled once or changed as a program runs.

A table lives on its device. One that is filled by an initializer is ready when its `initializer` has run;
`tf.tables_initializer()` runs those of all.
"""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group, no_op
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.sparse_tensor import SparseTensor
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def initialize_all_tables(name="init_all_tables"):
    """An Operation that fills all tables of the default graph."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


def tables_initializer(name="init_all_tables"):
    """An Operation that fills all tables of the default graph."""
    return initialize_all_tables(name)


class LookupInterface:
    """What all tables have in common.

    Attributes:
      key_dtype, value_dtype: of the table.
      name: of its node.
      resource_handle: the Tensor that refers to it.
    """

    def __init__(self, key_dtype, value_dtype, handle, default_value=None, value_shape=()):
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)
        self._value_shape = TensorShape(value_shape)
        self._handle = handle
        self._name = handle.op.name.rpartition("/")[2]
        self._default_value = None
        if default_value is not None:
            self._default_value = convert(default_value, self._value_dtype)
            self._default_value.shape.merge_with(self._value_shape)

    @property
    def key_dtype(self):
        return self._key_dtype

    @property
    def value_dtype(self):
        return self._value_dtype

    @property
    def name(self):
        return self._name

    @property
    def resource_handle(self):
        return self._handle

    table_ref = resource_handle

    @property
    def default_value(self):
        """What keys have that are not in the table, a Tensor."""
        return self._default_value

    def _scope(self, name, what, values=()):
        return name_scope(name, f"{self._name}_{what}", [self._handle, *values])

    def _keys(self, keys):
        dtype = getattr(keys, "dtype", None)
        if isinstance(keys, SparseTensor) or hasattr(keys, "_as_tensor"):
            if dtypes.as_dtype(dtype).base_dtype != self._key_dtype:
                raise TypeError(
                    f"Signature mismatch. Keys must be dtype {self._key_dtype.name}, got "
                    f"{dtypes.as_dtype(dtype).base_dtype.name}."
                )
            return keys
        return convert(keys, self._key_dtype, "keys")

    def size(self, name=None):
        """An int64 Tensor: how many keys there are."""
        with self._scope(name, "Size") as scope:
            return gen_ops.lookup_table_size_v2(self._handle, name=scope)

    def lookup(self, keys, name=None):
        """The values of keys; the default where there is no such key.

        Args:
          keys: a Tensor, or a SparseTensor, whose values are looked up.
          name: a name for the node.

        Returns:
          a Tensor or SparseTensor of the same shape (and that of a value behind it).

        Raises:
          TypeError: if the keys have another type than the table's.
        """
        keys = self._keys(keys)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values, name), keys.dense_shape)
        with self._scope(name, "Lookup", [keys]) as scope:
            keys = convert(keys)
            values = gen_ops.lookup_table_find_v2(
                self._handle, keys, self._default_value, name=scope
            )
        values.set_shape(self._lead(keys).concatenate(self._value_shape))
        return values

    def _lead(self, keys):
        return keys.shape

    def __getitem__(self, keys):
        return self.lookup(keys)

    def export(self, name=None):
        """(keys, values): Tensors with all there is."""
        with self._scope(name, "Export") as scope:
            keys, values = gen_ops.lookup_table_export_v2(
                self._handle, self._key_dtype, self._value_dtype, name=scope
            )
        values.set_shape(TensorShape((None,)).concatenate(self._value_shape))
        return keys, values


class StaticHashTable(LookupInterface):
    """A table that an initializer fills, once; from then on it is only looked up.

    Args:
      initializer: a KeyValueTensorInitializer, a TextFileInitializer or the like.
      default_value: what keys have that are not in the table.
      shared_name: by which several programs find one table on its device.
      name: a name for the node.

    Attributes:
      initializer: the Operation that fills it; it is in the collection TABLE_INITIALIZERS.
    """

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        with name_scope(name, "hash_table") as scope:
            handle = gen_ops.hash_table_v2(
                initializer.key_dtype,
                initializer.value_dtype,
                shared_name=shared_name or "",
                name=scope,
            )
        super().__init__(initializer.key_dtype, initializer.value_dtype, handle, default_value)
        self._initializer = initializer.initialize(self)

    @property
    def initializer(self):
        return self._initializer

    init = initializer


HashTable = StaticHashTable
# What TensorFlow calls the class of all tables that an initializer fills; here there is one.
InitializableLookupTableBase = StaticHashTable


class _ChangingTable(LookupInterface):
    """What tables that may change have in common."""

    def remove(self, keys, name=None):
        """An Operation that takes keys out; those that are not there are let be."""
        keys = self._keys(keys)
        with self._scope(name, "lookup_table_remove", [keys]) as scope:
            return gen_ops.lookup_table_remove_v2(self._handle, keys, name=scope)

    erase = remove

    def insert(self, keys, values, name=None):
        """An Operation that puts values under keys, in the place of what is there."""
        keys = self._keys(keys)
        with self._scope(name, "lookup_table_insert", [keys]) as scope, colocate_with(
            self._handle.op
        ):
            values = convert(values, self._value_dtype, "values")
            return gen_ops.lookup_table_insert_v2(self._handle, keys, values, name=scope)

    insert_or_assign = insert


class MutableHashTable(_ChangingTable):
    """A table that may change.

    Args:
      key_dtype, value_dtype: of the table.
      default_value: what keys have that are not in the table: a scalar, or a vector if values are
        vectors.
      shared_name: by which several programs find one table on its device.
      name: a name for the node.
      checkpoint: accepted; what saves variables does not save tables yet.
    """

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        shared_name=None,
        name="MutableHashTable",
        checkpoint=True,
    ):
        default_value = convert(default_value, dtypes.as_dtype(value_dtype))
        value_shape = default_value.shape
        options = {
            "shared_name": shared_name or "",
            "use_node_name_sharing": checkpoint and shared_name is None,
            "name": name,
        }
        if value_shape.ndims == 0:
            handle = gen_ops.mutable_hash_table_v2(key_dtype, value_dtype, **options)
        else:
            handle = gen_ops.mutable_hash_table_of_tensors_v2(
                key_dtype, value_dtype, value_shape=value_shape, **options
            )
        super().__init__(key_dtype, value_dtype, handle, default_value, value_shape)


class MutableDenseHashTable(_ChangingTable):
    """A table that may change, of two keys that may not be used. Keys may be vectors.

    Args:
      key_dtype, value_dtype, default_value, shared_name, name, checkpoint: as for MutableHashTable.
      empty_key, deleted_key: the keys that are set aside; they must differ.
      initial_num_buckets: a power of 2.
    """

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        empty_key,
        deleted_key,
        initial_num_buckets=None,
        shared_name=None,
        name="MutableDenseHashTable",
        checkpoint=True,
    ):
        default_value = convert(default_value, dtypes.as_dtype(value_dtype))
        empty_key = convert(empty_key, dtypes.as_dtype(key_dtype), "empty_key")
        handle = gen_ops.mutable_dense_hash_table_v2(
            empty_key,
            convert(deleted_key, empty_key.dtype, "deleted_key"),
            value_dtype,
            value_shape=default_value.shape,
            initial_num_buckets=initial_num_buckets,
            shared_name=shared_name or "",
            use_node_name_sharing=checkpoint and shared_name is None,
            name=name,
        )
        super().__init__(key_dtype, value_dtype, handle, default_value, default_value.shape)
        self._key_rank = empty_key.shape.ndims

    def _lead(self, keys):
        if keys.shape.ndims is None or self._key_rank is None:
            return keys.shape if not self._key_rank else TensorShape(None)
        return keys.shape[: keys.shape.ndims - self._key_rank]
