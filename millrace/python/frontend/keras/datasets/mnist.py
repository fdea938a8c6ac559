"""tf.keras.datasets.mnist: handwritten digits."""

from millrace._samples.mnist import load_data
