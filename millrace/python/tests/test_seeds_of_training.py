"""What is random behind a minimize or a moving average draws TensorFlow's numbers: these count as it makes them.

The numbers of nodes are what TensorFlow 1.15 makes.
"""

import pytest

import millrace as tf
from millrace._graph.node_counts import counted_nodes


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


def fed(*shape, dtype=tf.float32):
    return tf.placeholder(dtype, shape)


def table(*shape):
    return tf.Variable(tf.zeros(shape))


def classifier():
    hidden = tf.layers.dense(fed(None, 10), 8, tf.nn.relu)
    labels = fed(None, dtype=tf.int32)
    return tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(hidden, 5))


def convolved():
    images = tf.reshape(fed(None, 64), [-1, 8, 8, 1])
    pooled = tf.layers.max_pooling2d(tf.layers.conv2d(images, 4, 3, activation=tf.nn.relu), 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(pooled), 5)
    return tf.losses.softmax_cross_entropy(fed(None, 5), logits)


def policy():
    chances = tf.layers.dense(fed(None, 10), 5, tf.nn.softmax)
    taken = tf.reduce_sum(chances * tf.one_hot(fed(None, dtype=tf.int32), 5), 1)
    return tf.reduce_mean(tf.log(taken) * fed(None))


def line():
    error = fed() * tf.Variable(0.1) + tf.Variable(0.2) - fed()
    return tf.reduce_sum(tf.pow(error, 2)) / 20


def by_hand():
    chances = tf.nn.softmax(tf.matmul(fed(None, 10), table(10, 5)) + table(5))
    return tf.reduce_mean(-tf.reduce_sum(fed(None, 5) * tf.log(chances), reduction_indices=1))


def dropped():
    hidden = tf.layers.dropout(tf.layers.dense(fed(None, 10), 8, tf.tanh), 0.5, training=True)
    return tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1)))


def embedded():
    return tf.reduce_sum(tf.nn.embedding_lookup(table(10, 3), fed(None, dtype=tf.int32)))


def minimized(optimizer, loss):
    made = getattr(tf.train, optimizer + "Optimizer")
    return lambda: made(*((0.1, 0.9) if optimizer == "Momentum" else (0.1,))).minimize(loss)


@pytest.mark.parametrize(
    "build, optimizer, nodes",
    [
        (classifier, "GradientDescent", 68),
        (classifier, "Adam", 115),
        (convolved, "Adam", 130),
        (convolved, "RMSProp", 118),
        (policy, "Adam", 109),
        (line, "GradientDescent", 60),
        (by_hand, "GradientDescent", 73),
        (by_hand, "Momentum", 82),
        (dropped, "Adagrad", 86),
        (embedded, "GradientDescent", 24),
        (embedded, "Adam", 78),
    ],
)
def test_a_minimize_counts_as_in_tensorflow(graph, build, optimizer, nodes):
    call = minimized(optimizer, build())
    before = counted_nodes(graph)
    call()
    assert counted_nodes(graph) - before == nodes


def test_gradients_count_as_they_are_made_without_a_seed(graph):
    tf.set_random_seed(None)
    loss = by_hand()
    more = graph.more_nodes
    tf.gradients(loss, tf.trainable_variables())
    assert graph.more_nodes == more


def moved(values):
    return tf.train.ExponentialMovingAverage(0.9).apply(values)


@pytest.mark.parametrize(
    "build, call, nodes",
    [
        (lambda: [table(3)], moved, 31),
        (lambda: [table(3), table(3)], moved, 60),
        (lambda: [tf.reduce_mean(fed(None, 3), 0)], moved, 11),
        (lambda: fed(None, 10), lambda x: tf.scan(lambda a, v: a + v, x), 66),
        (lambda: fed(5, 10), lambda x: tf.scan(lambda a, v: a + v, x), 65),
        (lambda: fed(5, 10), lambda x: tf.map_fn(lambda v: v * 2.0, x), 56),
        (lambda: fed(None, 10), lambda x: tf.foldl(lambda a, v: a + v, x), 50),
        (lambda: fed(None, 10), lambda x: tf.foldr(lambda a, v: a + v, x), 51),
    ],
)
def test_averages_and_folds_count_as_in_tensorflow(graph, build, call, nodes):
    given = build()
    before = counted_nodes(graph)
    call(given)
    assert counted_nodes(graph) - before == nodes
