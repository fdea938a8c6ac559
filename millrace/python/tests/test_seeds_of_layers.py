"""Ops without seeds of their own draw TensorFlow's numbers: what is made before them counts as it does there.

The numbers of nodes, and those after which a random op is made in a call, are what TensorFlow 1.15 gives.
"""

import pytest

import millrace as tf
from millrace._graph.node_counts import count_more, counted_as, counted_nodes

_RANDOM = ("Random", "Truncated", "Multinomial", "LogUniform")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


class Given:
    """What calls take, made before their nodes are counted."""

    def __init__(self):
        self.images = tf.placeholder(tf.float32, [None, 28, 28, 3])
        self.some_images = tf.placeholder(tf.float32, [5, 28, 28, 3])
        self.unsized = tf.placeholder(tf.float32, [None, None, None, 3])
        self.rows = tf.placeholder(tf.float32, [None, 10])
        self.some_rows = tf.placeholder(tf.float32, [5, 10])
        self.lines = tf.placeholder(tf.float32, [None, 7, 10])
        self.unsized_lines = tf.placeholder(tf.float32, [None, None, 10])
        self.lengths = tf.placeholder(tf.int32, [None])
        self.columns = tf.placeholder(tf.int32, [None, 7])
        self.weights = tf.placeholder(tf.float32, [None])
        self.some_weights = tf.placeholder(tf.float32, [5])
        self.number = tf.placeholder(tf.float32, [])
        self.batch = tf.placeholder(tf.int32, [])
        self.is_training = tf.placeholder(tf.bool, [])


def made_by(graph, call):
    """(number of nodes, numbers before each random op) of a call, as TensorFlow counts."""
    given = Given()
    before, first = counted_nodes(graph), len(graph.get_operations())
    call(given)
    seeds = [
        op.get_attr("seed2") - before
        for op in graph.get_operations()[first:]
        if op.type.startswith(_RANDOM)
    ]
    return counted_nodes(graph) - before, seeds


def check(cases):
    return pytest.mark.parametrize(
        "call, nodes, seeds", [pytest.param(*case[1:], id=case[0]) for case in cases]
    )


@check(
    [
        ("conv2d", lambda g: tf.layers.conv2d(g.images, 4, 3, activation=tf.nn.relu), 18, [3]),
        (
            "conv2d without bias",
            lambda g: tf.layers.conv2d(g.images, 4, 3, use_bias=False),
            12,
            [3],
        ),
        ("dilated", lambda g: tf.layers.conv2d(g.images, 4, 3, dilation_rate=2), 27, [3]),
        (
            "dilated, same",
            lambda g: tf.layers.conv2d(g.images, 4, 3, padding="same", dilation_rate=2),
            28,
            [3],
        ),
        (
            "dilated, sizes unknown",
            lambda g: tf.layers.conv2d(g.unsized, 4, 3, padding="same", dilation_rate=2),
            91,
            [3],
        ),
        (
            "convolution without rate",
            lambda g: tf.nn.convolution(g.images, _kernel(), "SAME"),
            2,
            [],
        ),
        ("conv1d", lambda g: tf.layers.conv1d(g.lines, 4, 3), 22, [3]),
        ("conv2d_transpose", lambda g: tf.layers.conv2d_transpose(g.images, 4, 3, 2), 43, [3]),
        (
            "conv2d_transpose, same",
            lambda g: tf.layers.conv2d_transpose(g.images, 4, 3, 2, "same"),
            39,
            [3],
        ),
        ("separable_conv2d", lambda g: tf.layers.separable_conv2d(g.images, 4, 3), 29, [3, 13]),
        ("flatten", lambda g: tf.layers.flatten(g.images), 8, []),
        ("flatten, sizes known", lambda g: tf.layers.flatten(g.some_images), 2, []),
        ("dense of lines", lambda g: tf.layers.dense(g.lines, 5), 40, [3]),
        ("batch normalization", lambda g: _normalized(g.images, True), 30, []),
        ("normalization, told later", lambda g: _normalized(g.images, g.is_training), 52, []),
        ("normalization, not in training", lambda g: _normalized(g.images, False), 18, []),
        ("normalization of rows", lambda g: _normalized(g.rows, True), 40, []),
        ("normalization of rows, later", lambda g: _normalized(g.rows, g.is_training), 72, []),
        ("contrib conv2d", lambda g: tf.contrib.layers.conv2d(g.images, 4, 3), 18, [3]),
        ("contrib flatten", lambda g: tf.contrib.layers.flatten(g.images), 8, []),
    ]
)
def test_layers_count_as_in_tensorflow(graph, call, nodes, seeds):
    assert made_by(graph, call) == (nodes, seeds)


def _kernel():
    return tf.zeros([3, 3, 3, 4])


def _normalized(inputs, training):
    return tf.layers.batch_normalization(inputs, training=training)


_CELLS = tf.nn.rnn_cell


def _net(cell, inputs, **options):
    return tf.nn.dynamic_rnn(cell, inputs, **{"dtype": tf.float32, **options})


def _begun(cell, g, batch):
    return _net(cell, g.lines, initial_state=cell.zero_state(batch, tf.float32))


def _kept(cell, **keep):
    return _CELLS.DropoutWrapper(cell, **keep)


def _stack(state_is_tuple):
    return _CELLS.MultiRNNCell([_CELLS.GRUCell(8), _CELLS.GRUCell(4)], state_is_tuple)


def _unrolled(cell, g, **options):
    return tf.nn.static_rnn(cell, tf.unstack(g.lines, axis=1), dtype=tf.float32, **options)


@check(
    [
        ("basic LSTM", lambda g: _net(_CELLS.BasicLSTMCell(8), g.lines), 159, [100]),
        ("GRU", lambda g: _net(_CELLS.GRUCell(8), g.lines), 160, [86, 100]),
        ("zero_state", lambda g: _begun(_CELLS.BasicLSTMCell(8), g, g.batch), 159, [100]),
        ("zero_state, size known", lambda g: _begun(_CELLS.LSTMCell(8), g, 5), 155, [96]),
        ("batch known", lambda g: _net(_CELLS.BasicRNNCell(8), tf.zeros([5, 7, 3])), 119, [74]),
        ("time first", lambda g: _net(_CELLS.GRUCell(8), g.lines, time_major=True), 131, [65, 79]),
        ("times unknown", lambda g: _net(_CELLS.GRUCell(8), g.unsized_lines), 160, [86, 100]),
        (
            "lengths",
            lambda g: _net(_CELLS.LSTMCell(8), g.lines, sequence_length=g.lengths),
            181,
            [118],
        ),
        (
            "projected",
            lambda g: _net(_CELLS.LSTMCell(8, True, 1.0, num_proj=4), g.lines),
            214,
            [100, 114, 124, 134, 144],
        ),
        ("stack", lambda g: _net(_stack(True), g.lines), 227, [100, 114, 151, 165]),
        ("stack with one state", lambda g: _net(_stack(False), g.lines), 219, [89, 103, 143, 157]),
        (
            "dropout",
            lambda g: _net(_kept(_CELLS.LSTMCell(8), output_keep_prob=0.5), g.lines),
            178,
            [103, 138],
        ),
        (
            "dropout, fed",
            lambda g: _net(_kept(_CELLS.GRUCell(8), input_keep_prob=g.number), g.lines),
            180,
            [91, 106, 120],
        ),
        (
            "same dropout",
            lambda g: _net(
                _kept(
                    _CELLS.GRUCell(8),
                    state_keep_prob=0.5,
                    output_keep_prob=0.5,
                    variational_recurrent=True,
                    dtype=tf.float32,
                ),
                g.lines,
            ),
            197,
            [9, 19, 109, 123],
        ),
        (
            "both ways",
            lambda g: tf.nn.bidirectional_dynamic_rnn(
                _CELLS.LSTMCell(8), _CELLS.LSTMCell(8), g.lines, g.lengths, dtype=tf.float32
            ),
            364,
            [118, 300],
        ),
        ("unrolled", lambda g: _unrolled(_CELLS.BasicLSTMCell(8), g), 166, [29]),
        (
            "unrolled, lengths",
            lambda g: _unrolled(_CELLS.LSTMCell(8), g, sequence_length=g.lengths),
            472,
            [52],
        ),
    ]
)
def test_recurrent_nets_count_as_in_tensorflow(graph, call, nodes, seeds):
    assert made_by(graph, call) == (nodes, seeds)


@check(
    [
        (
            "dense",
            lambda g: tf.nn.softmax_cross_entropy_with_logits(labels=g.rows, logits=g.rows),
            32,
            [],
        ),
        (
            "dense of lines",
            lambda g: tf.nn.softmax_cross_entropy_with_logits_v2(g.lines, g.lines),
            31,
            [],
        ),
        (
            "dense, other axis",
            lambda g: tf.nn.softmax_cross_entropy_with_logits_v2(g.lines, g.lines, 1),
            53,
            [],
        ),
        (
            "sparse",
            lambda g: tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=g.lengths, logits=g.rows
            ),
            2,
            [],
        ),
        (
            "sparse of lines",
            lambda g: tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=g.columns, logits=g.lines
            ),
            34,
            [],
        ),
        ("loss, dense", lambda g: tf.losses.softmax_cross_entropy(g.rows, g.rows), 63, []),
        (
            "loss, smoothed",
            lambda g: tf.losses.softmax_cross_entropy(g.rows, g.rows, label_smoothing=0.1),
            74,
            [],
        ),
        (
            "loss, sparse",
            lambda g: tf.losses.sparse_softmax_cross_entropy(g.lengths, g.rows),
            32,
            [],
        ),
        (
            "loss, sparse and weighted",
            lambda g: tf.losses.sparse_softmax_cross_entropy(g.lengths, g.rows, g.weights),
            147,
            [],
        ),
        ("squares", lambda g: tf.losses.mean_squared_error(g.rows, g.rows), 32, []),
        (
            "squares, weighted",
            lambda g: tf.losses.mean_squared_error(g.weights, g.weights, g.weights),
            146,
            [],
        ),
        (
            "squares, sizes known",
            lambda g: tf.losses.mean_squared_error(g.some_weights, g.some_weights, g.some_weights),
            21,
            [],
        ),
        (
            "squares, whole weight",
            lambda g: tf.losses.mean_squared_error(g.lengths, g.weights, 2),
            34,
            [],
        ),
        (
            "squares, fed weight",
            lambda g: tf.losses.mean_squared_error(g.rows, g.rows, g.number),
            30,
            [],
        ),
        ("squares, sum", lambda g: _squares(g, "SUM"), 11, []),
        ("squares, none", lambda g: _squares(g, "NONE"), 9, []),
        ("squares, mean", lambda g: _squares(g, "MEAN"), 20, []),
        ("squares, by size", lambda g: _squares(g, "SUM_OVER_BATCH_SIZE"), 16, []),
        ("sigmoid", lambda g: tf.losses.sigmoid_cross_entropy(g.rows, g.rows), 41, []),
        ("hinge", lambda g: tf.losses.hinge_loss(g.rows, g.rows), 40, []),
        ("pairs", lambda g: tf.losses.mean_pairwise_squared_error(g.rows, g.rows), 61, []),
        (
            "nce",
            lambda g: tf.nn.nce_loss(
                tf.zeros([20, 10]), tf.zeros([20]), tf.reshape(g.lengths, [-1, 1]), g.rows, 5, 20
            ),
            114,
            [7],
        ),
        (
            "sampled softmax",
            lambda g: tf.nn.sampled_softmax_loss(
                tf.zeros([20, 10]), tf.zeros([20]), tf.reshape(g.lengths, [-1, 1]), g.rows, 5, 20
            ),
            145,
            [7],
        ),
    ]
)
def test_losses_count_as_in_tensorflow(graph, call, nodes, seeds):
    assert made_by(graph, call) == (nodes, seeds)


def _squares(g, reduction):
    return tf.losses.mean_squared_error(
        g.rows, g.rows, reduction=getattr(tf.losses.Reduction, reduction)
    )


@check(
    [
        ("normal", lambda g: tf.distributions.Normal(g.rows, 1.0).sample(), 25, [12]),
        ("categorical", lambda g: tf.distributions.Categorical(logits=g.rows).sample([3]), 26, [9]),
        ("contrib, rows", lambda g: tf.contrib.layers.batch_norm(g.rows), 28, []),
        ("sequence_mask", lambda g: tf.sequence_mask(g.lengths, 7), 8, []),
        ("split", lambda g: tf.split(g.rows, 2, 1), 3, []),
        ("ones_like", lambda g: tf.ones_like(g.rows), 3, []),
        ("multinomial", lambda g: tf.multinomial(g.rows, 1), 2, [0]),
        ("gamma", lambda g: tf.random_gamma([3], 1.0), 9, [5]),
        ("crop", lambda g: tf.random_crop(g.some_images, [5, 20, 20, 3]), 18, [15]),
        ("flip", lambda g: tf.image.random_flip_left_right(g.some_images[0]), 23, [8]),
        ("tensordot", lambda g: tf.tensordot(g.lines, tf.zeros([10, 4]), 1), 26, []),
        (
            "tensordot, sizes known",
            lambda g: tf.tensordot(tf.zeros([5, 7, 10]), tf.zeros([10, 4]), 1),
            13,
            [],
        ),
        ("map_fn", lambda g: tf.map_fn(lambda v: v + tf.random_normal([10]), g.rows), 62, [43]),
        (
            "while_loop",
            lambda g: tf.while_loop(
                lambda i, a: i < 9,
                lambda i, a: [i + 1, a + tf.random_normal([2])],
                [0, tf.zeros([2])],
                maximum_iterations=5,
            ),
            39,
            [29],
        ),
        ("clip_by_global_norm", lambda g: tf.clip_by_global_norm([g.rows, g.rows], 5.0), 23, []),
        ("clip_by_norm", lambda g: tf.clip_by_norm(g.rows, 1.0), 17, []),
    ]
)
def test_ops_count_as_in_tensorflow(graph, call, nodes, seeds):
    assert made_by(graph, call) == (nodes, seeds)


def test_what_counts_is_not_made(graph):
    with counted_as(5):
        tf.zeros([2])
        count_more(1)
    assert (counted_nodes(graph), graph.version) == (5, 1)
    count_more(-2)
    assert counted_nodes(graph) == 3
