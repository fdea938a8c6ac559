"""tf.keras.datasets: small data sets, from files that are there or that get_file fetches; mnist is not fetched."""

from millrace.keras.datasets import (
    boston_housing,
    cifar10,
    cifar100,
    fashion_mnist,
    imdb,
    mnist,
    reuters,
)
