"""B22: what a step of training costs, in one process: feeds, gradients, and the optimizer's updates."""

import resource

import numpy as np

from measure import Figure, microseconds, once

TITLE = "B22 training steps"


def tasks(scale):
    return 0


def weights(tf, *shape):
    values = np.random.RandomState(sum(shape)).normal(scale=0.05, size=shape)
    return tf.Variable(values.astype(np.float32))


def dense(tf, x, units, activation=None):
    size = int(x.shape[-1])
    y = tf.matmul(x, weights(tf, size, units)) + tf.Variable(tf.zeros([units]))
    return activation(y) if activation else y


def classified(tf, logits, labels):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(loss)


def images(tf, batch, size=784, classes=10):
    """Placeholders of images and labels, and what is fed to them."""
    chance = np.random.RandomState(1)
    x = tf.placeholder(tf.float32, [batch, size])
    y = tf.placeholder(tf.int32, [batch])
    fed = {
        x: chance.normal(size=(batch, size)).astype(np.float32),
        y: chance.randint(classes, size=batch).astype(np.int32),
    }
    return x, y, fed


def softmax_regression(tf, batch):
    x, y, fed = images(tf, batch)
    loss = classified(tf, dense(tf, x, 10), y)
    return tf.train.GradientDescentOptimizer(0.01).minimize(loss), loss, fed


def small_perceptron(tf):
    x, y, fed = images(tf, 16, size=8, classes=2)
    loss = classified(tf, dense(tf, dense(tf, x, 16, tf.tanh), 2), y)
    return tf.train.GradientDescentOptimizer(0.01).minimize(loss), loss, fed


def perceptron(tf):
    x, y, fed = images(tf, 128)
    hidden = dense(tf, dense(tf, x, 256, tf.nn.relu), 128, tf.nn.relu)
    loss = classified(tf, dense(tf, hidden, 10), y)
    return tf.train.AdamOptimizer(0.001).minimize(loss), loss, fed


def convolutions(tf):
    x, y, fed = images(tf, 32)
    made = tf.reshape(x, [32, 28, 28, 1])
    for channels in (16, 32):
        filters = weights(tf, 5, 5, int(made.shape[-1]), channels)
        made = tf.nn.conv2d(made, filters, [1, 1, 1, 1], "SAME")
        made = tf.nn.relu(tf.nn.bias_add(made, tf.Variable(tf.zeros([channels]))))
        made = tf.nn.max_pool(made, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    hidden = dense(tf, tf.reshape(made, [32, 7 * 7 * 32]), 128, tf.nn.relu)
    loss = classified(tf, dense(tf, hidden, 10), y)
    return tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss), loss, fed


def lstm(tf, batch=32, steps=20, units=64):
    """Unrolled, as programs of TensorFlow 1 wrote it by hand."""
    chance = np.random.RandomState(2)
    x = tf.placeholder(tf.float32, [batch, steps, units])
    y = tf.placeholder(tf.int32, [batch])
    kernel, bias = weights(tf, 2 * units, 4 * units), tf.Variable(tf.zeros([4 * units]))
    state = output = tf.zeros([batch, units])
    for step in tf.unstack(x, axis=1):
        gates = tf.matmul(tf.concat([step, output], 1), kernel) + bias
        new, enters, stays, leaves = tf.split(gates, 4, axis=1)
        state = state * tf.sigmoid(stays + 1.0) + tf.sigmoid(enters) * tf.tanh(new)
        output = tf.tanh(state) * tf.sigmoid(leaves)
    loss = classified(tf, dense(tf, output, 10), y)
    fed = {
        x: chance.normal(size=(batch, steps, units)).astype(np.float32),
        y: chance.randint(10, size=batch).astype(np.int32),
    }
    return tf.train.AdamOptimizer(0.001).minimize(loss), loss, fed


def word2vec(tf, words=10_000, size=128, batch=128):
    chance = np.random.RandomState(3)
    x = tf.placeholder(tf.int32, [batch])
    y = tf.placeholder(tf.int64, [batch, 1])
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=weights(tf, words, size),
            biases=tf.Variable(tf.zeros([words])),
            labels=y,
            inputs=tf.nn.embedding_lookup(weights(tf, words, size), x),
            num_sampled=64,
            num_classes=words,
        )
    )
    fed = {x: chance.randint(words, size=batch), y: chance.randint(words, size=(batch, 1))}
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss, fed


NETWORK = "small convolutional network"
MODELS = {
    "small perceptron, batch 16": small_perceptron,
    "softmax regression, batch 1": lambda tf: softmax_regression(tf, 1),
    "softmax regression, batch 100": lambda tf: softmax_regression(tf, 100),
    "perceptron of three layers": perceptron,
    NETWORK: convolutions,
    "LSTM of 20 steps": lstm,
    "word2vec": word2vec,
}


WARM = 50  # steps after which a step takes no more memory than the one before


def step(tf, build):
    """A call that runs a step, with all that it is fed."""
    with tf.Graph().as_default():
        train, loss, fed = build(tf)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        run = session.make_callable([train, loss], feed_list=list(fed))
    values = list(fed.values())
    return lambda: run(*values)


def peak(tf):
    """Megabytes that this process has had at once, the library among them: asked before other models run."""
    network = step(tf, MODELS[NETWORK])
    for _ in range(WARM):
        network()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def figures(tf, cluster, scale):
    yield Figure(f"{NETWORK}, memory at the peak", "MB", once(peak(tf)))
    for name, build in MODELS.items():
        yield Figure(name, "us", microseconds(step(tf, build)))


def limits(scale):
    return []
