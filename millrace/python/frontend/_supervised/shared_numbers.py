"""SharedNumbers: numbers beside the global step, which all workers of a training see."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._values import dtypes


class SharedNumbers:
    """A table on the ps. It begins and ends with that, and no checkpoint turns it back.

    Made in the device scope where it is to be; its `handle` is what others are colocated with.
    """

    def __init__(self, shared_name):
        self.handle = gen_ops.mutable_hash_table_v2(
            key_dtype=dtypes.int64, value_dtype=dtypes.int64, shared_name=shared_name
        )

    def get(self, keys, default):
        """int64, one for each key; `default` where none was set."""
        return gen_ops.lookup_table_find_v2(
            self.handle, convert(keys, dtypes.int64), convert(default, dtypes.int64)
        )

    def set(self, key, value):
        """An Operation."""
        return gen_ops.lookup_table_insert_v2(self.handle, convert(key, dtypes.int64), value)
