"""tf.keras.datasets.cifar100: small pictures of a hundred classes."""

from millrace._samples.keras_datasets import cifar100 as load_data
