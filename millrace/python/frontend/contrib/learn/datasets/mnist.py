"""tf.contrib.learn.datasets.mnist: handwritten digits, read from MNIST's four files."""

from millrace._samples.mnist import (
    DataSet,
    dense_to_one_hot,
    extract_images,
    extract_labels,
    read_data_sets,
)
from millrace._samples.named_sets import load_mnist
