"""Dense hash tables go from one to the other by their buckets, as a checkpoint carries them."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_lookup_ops, lookup_ops

tf1 = tf.compat.v1

TEXTS = [f"word {i}" for i in range(40)]
PAIRS = [[i % 7, i * 1000 - 5000] for i in range(40)]


def table_of(dtype, empty, deleted, default):
    return lookup_ops.DenseHashTable(
        dtype, tf.int64, default, empty, deleted, initial_num_buckets=8, name="dense"
    )


@pytest.mark.parametrize(
    "dtype, keys, empty, deleted, default",
    [
        (tf.int64, [i * 11 for i in range(40)], -1, -2, -7),
        (tf.string, TEXTS, "", "-", -7),
        (tf.int64, PAIRS, [-1, -1], [-2, -2], -7),
        (tf.int64, list(range(40)), -1, -2, [0, 0]),
    ],
    ids=["int64", "string", "pairs", "vectors"],
)
@pytest.mark.parametrize("ours_first", [True, False])
def test_what_one_exports_the_other_finds(
    target, graph, dtype, keys, empty, deleted, default, ours_first
):
    values = [[i, -i] if isinstance(default, list) else i for i in range(len(keys))]
    table = table_of(dtype, empty, deleted, default)
    fill = table.insert(tf.constant(keys, dtype), tf.constant(values, tf.int64))
    forget = table.remove(tf.constant(keys[:3], dtype))
    exported = table.export()
    buckets = [tf1.placeholder(each.dtype) for each in exported]
    take = gen_lookup_ops.lookup_table_import_v2(table.resource_handle, *buckets)
    found = table.lookup(tf.constant(keys, dtype))
    expected = np.asarray([default] * 3 + values[3:])
    with tf1.Session(target) as ours, tf1.Session() as theirs:
        one, other = (ours, theirs) if ours_first else (theirs, ours)
        one.run(fill)
        one.run(forget)
        other.run(take, dict(zip(buckets, one.run(exported))))
        assert (other.run(found) == expected).all()
        assert other.run(table.size()) == 37
        # It still grows as a table of its own.
        other.run(fill)
        assert (other.run(found) == np.asarray(values)).all()
