"""tensorflow.examples.tutorials.mnist.mnist: a network of two hidden layers, and what trains it."""

from millrace._nets.digits import (
    IMAGE_PIXELS,
    IMAGE_SIZE,
    NUM_CLASSES,
    evaluation,
    inference,
    loss,
    training,
)
