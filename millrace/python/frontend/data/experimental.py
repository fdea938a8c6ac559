"""tf.data.experimental: what TensorFlow 1.15 has there of datasets."""

from millrace._data.options import OptimizationOptions, ThreadingOptions
from millrace._data.transformations import *
from millrace._data.transformations import map_and_batch as map_and_batch_with_legacy_function
