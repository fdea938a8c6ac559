"""Initial values of variables: objects that are called with a shape and give a Tensor."""

import inspect
import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import counted_as
from millrace._ops.arrays import ones, zeros
from millrace._ops.random_values import random_normal, random_uniform, truncated_normal
from millrace._values import dtypes
from millrace._values.tensor_shape import as_shape

# From so many elements on, values that are all alike are made when they are needed.
_MANY = 1000


class Initializer:
    """Called with (shape, dtype=None, partition_info=None); gives a Tensor."""

    dtype = dtypes.float32

    def get_config(self):
        """{name: value} of its settings; the type by its name, if it is not float32."""
        taken = inspect.signature(type(self).__init__).parameters
        config = {name: value for name, value in vars(self).items() if name in taken}
        kind = config.pop("dtype", None)
        if kind is not None and dtypes.as_dtype(kind) != dtypes.float32:
            config["dtype"] = dtypes.as_dtype(kind).name
        return config

    @classmethod
    def from_config(cls, config):
        """The initializer of these settings."""
        return cls(**config)

    def _type(self, dtype):
        return dtypes.as_dtype(dtype or self.dtype).base_dtype


class Zeros(Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        return zeros(shape, self._type(dtype))


class Ones(Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        return ones(shape, self._type(dtype))


class Constant(Initializer):
    """One value everywhere, or a list of values in row-major order."""

    def __init__(self, value=0, dtype=dtypes.float32, verify_shape=False):
        self.value = value
        self.dtype = dtype
        self.verify_shape = verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        dtype = self._type(dtype)
        dims = as_shape(shape)
        if np.ndim(self.value) or not dims.is_fully_defined() or dims.num_elements() < _MANY:
            return constant(self.value, dtype, shape=shape)
        # One number for all of a large table: the graph holds the number alone.
        with name_scope(None, "Const") as scope, counted_as(1):
            return gen_ops.fill(dims.as_list(), constant(self.value, dtype), name=scope)


class RandomUniform(Initializer):
    """Values between minval and maxval."""

    def __init__(self, minval=0, maxval=None, seed=None, dtype=dtypes.float32):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        high = 1 if self.maxval is None else self.maxval
        return random_uniform(shape, self.minval, high, self._type(dtype), seed=self.seed)


class RandomNormal(Initializer):
    """Values of a normal distribution."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        return random_normal(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)


class TruncatedNormal(RandomNormal):
    """Values of a normal distribution, those beyond two standard deviations drawn again."""

    def __call__(self, shape, dtype=None, partition_info=None):
        return truncated_normal(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)


class VarianceScaling(Initializer):
    """Random values whose spread depends on the number of inputs or outputs.

    Args:
      scale: a factor of the variance.
      mode: "fan_in", "fan_out" or "fan_avg": what the variance is divided by.
      distribution: "truncated_normal" ("normal"), "untruncated_normal" or "uniform".
      seed: the seed.
      dtype: the type of the values.
    """

    def __init__(
        self,
        scale=1.0,
        mode="fan_in",
        distribution="truncated_normal",
        seed=None,
        dtype=dtypes.float32,
    ):
        if scale <= 0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        if distribution not in ("normal", "truncated_normal", "untruncated_normal", "uniform"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        # A part of a variable is spread as the whole would be.
        whole = shape if partition_info is None else partition_info.full_shape
        fan_in, fan_out = _fans([int(dim) for dim in whole])
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        kind = self._type(dtype)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, kind, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), kind, seed=self.seed)
        # A normal distribution that is cut at two standard deviations is narrower by this factor.
        stddev = math.sqrt(variance) / 0.87962566103423978
        return truncated_normal(shape, 0.0, stddev, kind, seed=self.seed)


def _fans(shape):
    """(inputs, outputs) of a layer with weights of this shape."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class GlorotUniform(VarianceScaling):
    """The default for get_variable: uniform, by inputs and outputs."""

    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
