"""tf.contrib.learn.datasets: data sets by name; what is read of them are files that are there."""

from millrace._samples.named_sets import load_dataset
from millrace.contrib.learn.datasets import base, mnist
