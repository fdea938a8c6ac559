"""Random initial values with the defaults that Keras gives them, where they are not tf's."""

from millrace._state import initializers
from millrace._values import dtypes


class RandomNormal(initializers.RandomNormal):
    """Values of a normal distribution."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(initializers.RandomUniform):
    """Values between minval and maxval."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(initializers.TruncatedNormal):
    """Values of a normal distribution, those beyond two standard deviations drawn again."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(mean, stddev, seed, dtype)
