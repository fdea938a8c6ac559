"""Graphs that TensorFlow's master rewrites before it hands Millrace's tasks their part.

Rewriting folds and replaces ops, and fuses some into ops that no program writes; those that Millrace
lacks it refuses with the way to do without.
"""

import numpy as np
import pytest
import tensorflow as tf

from border import as_written

tf1 = tf.compat.v1


def dense(x):
    weights = tf1.placeholder_with_default(np.ones((4, 4), np.float32), [4, 4])
    bias = tf1.placeholder_with_default(np.arange(4, dtype=np.float32), [4])
    hidden = tf.nn.relu(tf.matmul(x, weights) + bias)
    return tf.sigmoid(tf.matmul(hidden, weights, transpose_b=True) + bias)


def arithmetic(x):
    y = x * x - 2.0 * x * 1.0 + 0.0
    y = tf.add_n([y, y, x, tf.zeros_like(x)]) / 4.0
    return (
        tf.sqrt(tf.square(y) + 1.0) + 1.0 / tf.sqrt(y * y + 3.0) - tf.pow(x, 2.0) * tf.pow(x, 3.0)
    )


def layout(x):
    y = tf.transpose(tf.transpose(x))
    y = tf.reshape(tf.reshape(y, [2, -1]), tf.shape(x))
    y = tf.concat([y[:, :2], y[:, 2:]], 1)
    y = tf.squeeze(tf.expand_dims(tf.tile(y, [1, 1]), 0), [0])
    return tf.stack(tf.unstack(y), 0) + tf.pad(y, [[0, 0], [0, 0]])


def reductions(x):
    mean = tf.reduce_mean(x, 1, keepdims=True)
    variance = tf.reduce_mean(
        tf.math.squared_difference(x, tf.stop_gradient(mean)), 1, keepdims=True
    )
    return (x - mean) / tf.sqrt(variance + 1e-3) + tf.reduce_max(x) + tf.reduce_sum(x, [0, 1])


def casts(x):
    y = tf.cast(tf.cast(tf.cast(x, tf.float64), tf.int32), tf.float32)
    return tf.where(x > y, tf.identity(x), tf.identity(y)) + tf.cast(
        tf.logical_not(x > 0), tf.float32
    )


def loops(x):
    invariant = x * 2.0

    def body(i, y):
        return i + 1, y + tf.reduce_sum(invariant * 3.0) * tf.ones_like(y)

    _, y = tf1.while_loop(lambda i, _: i < 3, body, [0, x])
    return tf1.cond(tf.reduce_sum(y) > 0, lambda: y * 2.0, lambda: y - 1.0)


def in_this_process(fetches, x, value):
    """What TensorFlow computes with nobody else taking part, and the ops that only rewriting makes.

    Whether it fuses a product depends on the processor and on what its build does with oneDNN.
    """
    graph_def = x.graph.as_graph_def()
    for node in graph_def.node:
        node.device = ""
    with tf.Graph().as_default(), tf1.Session() as session:
        names = [tensor.name for tensor in [*fetches, x]]
        *copies, fed = tf.graph_util.import_graph_def(graph_def, return_elements=names, name="")
        ran = tf1.RunMetadata()
        options = tf1.RunOptions(output_partition_graphs=True)
        values = session.run(copies, {fed: value}, options=options, run_metadata=ran)
    ops = {node.op for graph in ran.partition_graphs for node in graph.node}
    # A process replaces them once more by those of its own library; what it sends has the first.
    ops = {op.replace("_MklNative", "_") for op in ops}
    return values, {op for op in ops if op.startswith("_") and op not in ("_Arg", "_Retval")}


PROGRAMS = [dense, arithmetic, layout, reductions, casts, loops]
FUSED_EVERYWHERE = [arithmetic]
KNOWN_HERE = {"_FusedMatMul", "_FusedConv2D"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_graph_computes_the_same_rewritten_or_not(border, program):
    x = tf1.placeholder(tf.float32, [3, 4])
    with tf.device(border.there):
        there = program(x)
    with tf.device(border.here):
        here = program(there)
    value = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
    expected, fused = in_this_process([there, here], x, value)
    assert fused or program not in FUSED_EVERYWHERE
    theirs = border.cluster.tensorflow
    meets_ours = border.master in theirs and border.other not in theirs
    for config in (as_written(), tf1.ConfigProto()):
        with border.session(config) as session:
            if fused - KNOWN_HERE and meets_ours and not config.graph_options.ByteSize():
                with pytest.raises(tf.errors.NotFoundError, match="disable_meta_optimizer"):
                    session.run([there, here], {x: value})
                continue
            got = session.run([there, here], {x: value})
            np.testing.assert_allclose(got[0], expected[0], rtol=1e-4)
            np.testing.assert_allclose(got[1], expected[1], rtol=1e-3)
