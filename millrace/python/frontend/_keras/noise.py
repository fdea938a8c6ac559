"""Keras's layers that add noise in training."""

from millrace import _gen as gen_ops
from millrace._flow.smart_cond import smart_cond
from millrace._keras.layer import Layer
from millrace._keras.layers import Dropout
from millrace._keras.settings import format_or_default
from millrace._layers.input_spec import InputSpec
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import shape as shape_of
from millrace._ops.random_values import random_normal, random_uniform
from millrace._values.tensor_shape import TensorShape


class _Noise(Layer):
    """The base of what is the identity but in training; then it is `noisy(inputs)`."""

    supports_masking = True

    def noisy(self, inputs):
        """What it gives in training."""
        raise NotImplementedError

    def call(self, inputs, training=None):
        made = smart_cond(training, lambda: self.noisy(inputs), lambda: gen_ops.identity(inputs))
        made.set_shape(inputs.shape)
        return made

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


class GaussianNoise(_Noise):
    """Adds numbers with mean 0 and a standard deviation."""

    def __init__(self, stddev, **kwargs):
        super().__init__(**kwargs)
        self.stddev = stddev

    def noisy(self, inputs):
        return inputs + random_normal(
            shape_of(inputs), stddev=float(self.stddev), dtype=inputs.dtype.base_dtype
        )


class GaussianDropout(_Noise):
    """Multiplies with numbers of mean 1 that deviate as a Dropout of this rate would have them."""

    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"rate must be in the range [0, 1), got {rate}")
        self.rate = rate

    def noisy(self, inputs):
        stddev = (self.rate / (1.0 - self.rate)) ** 0.5
        return inputs * random_normal(
            shape_of(inputs), mean=1.0, stddev=stddev, dtype=inputs.dtype.base_dtype
        )


class AlphaDropout(_Noise):
    """Dropout for selu: mean and variance stay.

    Args:
      rate: the share that is dropped; noise_shape: the shape to draw in; seed: a seed.
    """

    LEAST = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717  # of selu

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"rate must be in the range [0, 1), got {rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def noisy(self, inputs):
        dtype = inputs.dtype.base_dtype
        shape = shape_of(inputs) if self.noise_shape is None else self.noise_shape
        kept = cast(random_uniform(shape, seed=self.seed) >= self.rate, dtype)
        scale = ((1 - self.rate) * (1 + self.rate * self.LEAST**2)) ** -0.5
        made = inputs * kept + self.LEAST * (1.0 - kept)
        return scale * made - scale * self.LEAST * self.rate


class _SpatialDropout(Dropout):
    """Drops whole channels: `rate` of them."""

    rank = 2

    def __init__(self, rate, data_format=None, **kwargs):
        super().__init__(rate, **kwargs)
        is_first = self.rank > 1 and format_or_default(data_format) == "channels_first"
        ones = [1] * self.rank
        self.noise_shape = [None, None, *ones] if is_first else [None, *ones, None]
        self.input_spec = InputSpec(ndim=self.rank + 2)


class SpatialDropout1D(_SpatialDropout):
    """Dropout of whole channels of lines."""

    rank = 1


class SpatialDropout2D(_SpatialDropout):
    """Dropout of whole channels of images, where `data_format` says."""


class SpatialDropout3D(_SpatialDropout):
    """Dropout of whole channels of volumes, where `data_format` says."""

    rank = 3
