"""Initial values whose spread is made for a layer's kind of activation, and the identity."""

import math

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant
from millrace._ops.arrays import one_hot
from millrace._ops.random_values import random_normal, random_uniform, truncated_normal
from millrace._state.initializers import Initializer, VarianceScaling
from millrace._values import dtypes


def he_normal(seed=None, dtype=dtypes.float32):
    """An initializer: normal values, cut at two deviations, with a variance of 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed, dtype)


def he_uniform(seed=None, dtype=dtypes.float32):
    """An initializer: uniform values with a variance of 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed, dtype)


def lecun_normal(seed=None, dtype=dtypes.float32):
    """An initializer: normal values, cut at two deviations, with a variance of 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed, dtype)


def lecun_uniform(seed=None, dtype=dtypes.float32):
    """An initializer: uniform values with a variance of 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed, dtype)


class UniformUnitScaling(Initializer):
    """Uniform values that keep the scale of what they are multiplied with.

    Args:
      factor: what they are multiplied by.
      seed, dtype: as for other initializers.
    """

    def __init__(self, factor=1.0, seed=None, dtype=dtypes.float32):
        self.factor, self.seed, self.dtype = factor, seed, dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        whole = shape if partition_info is None else partition_info.full_shape
        sizes = [int(size) for size in whole]
        limit = math.sqrt(3.0 / max(1, math.prod(sizes[:-1]))) * self.factor
        return random_uniform(shape, -limit, limit, self._type(dtype), seed=self.seed)


class Identity(Initializer):
    """A matrix with `gain` on its diagonal. ValueError for shapes of no matrix."""

    def __init__(self, gain=1.0, dtype=dtypes.float32):
        self.gain, self.dtype = gain, dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        if len(shape) != 2:
            raise ValueError(
                f"Identity matrix initializer can only be used for 2D matrices, not {list(shape)}."
            )
        rows, columns = (int(size) for size in shape)
        kind = self._type(dtype)
        row, column = (0, 0) if partition_info is None else partition_info.var_offset
        # Where a row of the part has no element of the diagonal, its number is out of range.
        diagonal = gen_ops.range(row - column, row - column + rows, 1)
        return one_hot(
            diagonal, columns, on_value=constant(self.gain, kind), off_value=constant(0, kind)
        )


class Orthogonal(Initializer):
    """A matrix whose rows, or columns if they are fewer, are orthonormal: Q of a random normal matrix,
    with the signs that make it uniform over all of them.

    Shapes of more than two sizes are that of a matrix whose rows are all sizes but the last.

    Args:
      gain: what they are multiplied by.
      seed, dtype: as for other initializers.

    Raises:
      ValueError: if the shape has fewer than two sizes.
    """

    def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
        self.gain, self.seed, self.dtype = gain, seed, dtype

    def __call__(self, shape, dtype=None, partition_info=None):
        sizes = [int(size) for size in shape]
        if len(sizes) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        kind = self._type(dtype)
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        drawn = random_normal([max(rows, columns), min(rows, columns)], dtype=kind, seed=self.seed)
        q, r = gen_ops.qr(drawn, full_matrices=False)
        q = q * gen_ops.sign(gen_ops.matrix_diag_part(r))
        if rows < columns:
            q = gen_ops.transpose(q, constant([1, 0]))
        return constant(self.gain, kind) * gen_ops.reshape(q, constant(sizes))


def _count_connections(shape, mode):
    inputs = shape[-2] if len(shape) > 1 else shape[-1]
    field = math.prod(shape[:-2])
    inputs, outputs = float(inputs * field), float(shape[-1] * field)
    return {"FAN_IN": inputs, "FAN_OUT": outputs, "FAN_AVG": (inputs + outputs) / 2.0}[mode]


def contrib_variance_scaling_initializer(
    factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32
):
    """tf.contrib.layers' function: random values with a variance of factor / connections.

    Args:
      factor: a factor of the variance.
      mode: "FAN_IN", "FAN_OUT" or "FAN_AVG": which connections are counted.
      uniform: True for uniform values, False for normal ones that are cut at two deviations.
      seed, dtype: as for other initializers.

    Raises:
      TypeError: if the mode is none, or the type is not floating.
    """
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape, dtype=dtype, partition_info=None):
        if not dtypes.as_dtype(dtype).is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        number = _count_connections([int(size) for size in shape] or [1], mode)
        if uniform:
            limit = math.sqrt(3.0 * factor / number)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / number), dtype, seed=seed)

    return initializer


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """tf.contrib.layers' function: a variance of 1 / the mean of inputs and outputs."""
    return contrib_variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)
