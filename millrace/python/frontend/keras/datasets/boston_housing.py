"""tf.keras.datasets.boston_housing: prices of houses in the suburbs of Boston."""

from millrace._samples.keras_datasets import boston_housing as load_data
