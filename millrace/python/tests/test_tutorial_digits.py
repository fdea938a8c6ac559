"""tensorflow.examples.tutorials.mnist: the network of TensorFlow's first tutorial."""

import numpy as np

import millrace as tf
from millrace.examples.tutorials.mnist import input_data, mnist


def test_the_network_learns_and_counts_what_it_gets_right(session):
    rows = np.eye(mnist.NUM_CLASSES, mnist.IMAGE_PIXELS, dtype=np.float32)
    digits = np.arange(10, dtype=np.int32)
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [None, mnist.IMAGE_PIXELS])
    labels = tf.placeholder(tf.int32, [None])
    logits = mnist.inference(images, 32, 32)
    loss = mnist.loss(logits, labels)
    step = mnist.training(loss, 0.5)
    right = mnist.evaluation(logits, labels)
    session.run(tf.global_variables_initializer())
    feeds = {images: rows, labels: digits}
    for _ in range(300):
        session.run(step, feeds)
    assert session.run(right, feeds) == 10
    assert session.run("global_step:0") == 300
    assert [v.op.name for v in tf.trainable_variables()][:2] == [
        "hidden1/weights",
        "hidden1/biases",
    ]
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 1


def test_its_pictures_are_read_as_those_of_learn():
    from_learn = tf.contrib.learn.datasets.mnist.read_data_sets
    assert input_data.read_data_sets is from_learn
