"""The twin of training_words.cc: trains a small model of every layer for a few steps, and prints its
losses to the last digit.

    training_words.py OPTIMIZER PREFIX [RESTORED]

saves under PREFIX at the end, and begins from the checkpoint RESTORED if there is one.
"""

import sys

import numpy as np

import millrace as tf

OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "Adam": lambda: tf.train.AdamOptimizer(0.01),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.01),
    "Centered": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
}


def numbers(shape, factor):
    """Numbers from -1 to 1 that both programs know."""
    made = [(at * factor) % 17 - 8 for at in range(int(np.prod(shape)))]
    return (np.array(made, np.float32) / 8).reshape(shape)


def seeded(seed):
    return tf.glorot_uniform_initializer(seed)


def train(kind, prefix, restored=None):
    images = tf.constant(numbers([6, 8, 8, 1], 5))
    ids = tf.constant([3, 0, 3, 1, 6, 2], tf.int64)
    labels = tf.constant([0, 1, 2, 0, 1, 2], tf.int64)

    filtered = tf.layers.conv2d(images, 3, 3, padding="same", kernel_initializer=seeded(1))
    normalized = tf.nn.relu(tf.layers.batch_normalization(filtered, training=True))
    pooled = tf.layers.average_pooling2d(tf.layers.max_pooling2d(normalized, 2, 2), 2, 1)
    with tf.variable_scope("inner"):
        table = tf.get_variable(
            "table", [7, 4], initializer=seeded(2), partitioner=tf.fixed_size_partitioner(2)
        )
    joined = tf.concat(
        [tf.layers.flatten(pooled), tf.nn.embedding_lookup(table, ids, partition_strategy="div")], 1
    )
    with tf.variable_scope("inner"):
        hidden = tf.layers.dense(
            joined,
            5,
            tf.tanh,
            kernel_initializer=tf.truncated_normal_initializer(0, 0.5, 3),
            kernel_regularizer=tf.keras.regularizers.l2(0.01),
        )
        logits = tf.layers.dense(hidden, 3, kernel_initializer=tf.initializers.he_normal(4))
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    tf.losses.absolute_difference(tf.constant(numbers([6, 3], 3)), logits, 0.1)
    loss = tf.losses.get_total_loss()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = OPTIMIZERS[kind]().minimize(loss, tf.train.get_or_create_global_step())
    saver = tf.train.Saver()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        if restored is not None:
            saver.restore(session, restored)
        for _ in range(5):
            value = session.run(loss)
            session.run(step)
            print(f"{value:.9g}")
        saver.save(session, prefix, write_meta_graph=False)


if __name__ == "__main__":
    train(*sys.argv[1:])
