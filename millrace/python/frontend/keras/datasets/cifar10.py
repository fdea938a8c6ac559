"""tf.keras.datasets.cifar10: small pictures of ten classes."""

from millrace._samples.keras_datasets import cifar10 as load_data
