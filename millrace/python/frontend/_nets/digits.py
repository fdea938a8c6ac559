"""A network for MNIST's digits as TensorFlow's first tutorial has it, with its names of variables."""

import math

from millrace import _gen as gen_ops
from millrace._graph.default_graph import name_scope
from millrace._measures.distances import sparse_softmax_cross_entropy
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import zeros
from millrace._ops.random_values import truncated_normal
from millrace._ops.reductions import reduce_sum
from millrace._state.variables import Variable
from millrace._summaries import building
from millrace._train.descents import GradientDescentOptimizer
from millrace._values import dtypes

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _layer(name, inputs, width, activation=None):
    with name_scope(name):
        depth = inputs.shape.as_list()[-1]
        first = truncated_normal([depth, width], stddev=1.0 / math.sqrt(float(depth)))
        weights = Variable(first, name="weights")
        biases = Variable(zeros([width]), name="biases")
        made = gen_ops.mat_mul(inputs, weights) + biases
        return made if activation is None else activation(made)


def inference(images, hidden1_units, hidden2_units):
    """The logits of pictures.

    Args:
      images: float [batch, IMAGE_PIXELS].
      hidden1_units, hidden2_units: how wide the hidden layers are.

    Returns:
      float [batch, NUM_CLASSES].
    """
    first = _layer("hidden1", images, hidden1_units, gen_ops.relu)
    second = _layer("hidden2", first, hidden2_units, gen_ops.relu)
    return _layer("softmax_linear", second, NUM_CLASSES)


def loss(logits, labels):
    """The mean cross entropy of labels, which are digits [batch]."""
    return sparse_softmax_cross_entropy(labels=cast(labels, dtypes.int64), logits=logits)


def training(loss, learning_rate):
    """An Operation that makes a step of gradient descent; it counts steps, and summarizes the loss."""
    building.scalar("loss", loss)
    steps = Variable(0, name="global_step", trainable=False)
    return GradientDescentOptimizer(learning_rate).minimize(loss, global_step=steps)


def evaluation(logits, labels):
    """How many digits the logits get right, an int32 scalar."""
    return reduce_sum(cast(gen_ops.in_top_kv2(logits, labels, 1), dtypes.int32))
