"""tf.contrib.data: where datasets were before TensorFlow 1.4, and their transformations after it."""

from millrace._data.dataset import Dataset
from millrace._data.iterators import Iterator
from millrace._data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from millrace._data.transformations import *
