"""tf.keras.datasets.fashion_mnist: pictures of clothes."""

from millrace._samples.keras_datasets import fashion_mnist as load_data
