"""tensorflow.examples.tutorials.mnist.input_data: handwritten digits, read from MNIST's four files."""

from millrace._samples.mnist import read_data_sets
