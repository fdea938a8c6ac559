"""Means and variances, and what is scaled by them."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import squeeze, stop_gradient
from millrace._ops.layers import one_of
from millrace._ops.reductions import count_nonzero, reduce_mean, reduce_sum
from millrace._values import dtypes

__all__ = [
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "fused_batch_norm",
    "l2_normalize",
    "local_response_normalization",
    "lrn",
    "moments",
    "zero_fraction",
]


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) over axes.

    Args:
      x: a Tensor. float16 is worked out in float32.
      axes: a list of axes.
      shift: accepted; not used.
      name: the name scope.
      keep_dims: the older name of keepdims.
      keepdims: True to keep the axes, with size 1.
    """
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x]):
        x = convert(x, name="x")
        dtype = x.dtype.base_dtype
        wide = cast(x, dtypes.float32) if dtype == dtypes.float16 else x
        mean = reduce_mean(wide, axes, keepdims=True, name="mean")
        # The mean's own gradient adds nothing here: deviations from it add up to 0.
        deviations = gen_ops.squared_difference(wide, stop_gradient(mean))
        variance = reduce_mean(deviations, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return cast(mean, dtype), cast(variance, dtype)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset.

    Args:
      x: a Tensor of a floating type.
      mean, variance: of a shape that broadcasts to that of x, as `moments` gives.
      offset, scale: likewise; None for 0 and 1.
      variance_epsilon: a small number that keeps the divisor from 0.
      name: the name scope.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert(x, name="x")
        factor = gen_ops.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        rest = -mean * factor if offset is None else offset - mean * factor
        dtype = x.dtype.base_dtype
        return x * cast(factor, dtype) + cast(rest, dtype)


def batch_norm_with_global_normalization(
    t=None,
    m=None,
    v=None,
    beta=None,
    gamma=None,
    variance_epsilon=None,
    scale_after_normalization=None,
    name=None,
    input=None,
    mean=None,
    variance=None,
):
    """batch_normalization under an older name and with older arguments.

    Args:
      t, m, v: x, its mean and its variance; `input`, `mean` and `variance` are the newer names.
      beta: the offset.
      gamma: the scale, used only if scale_after_normalization.
      variance_epsilon, name: as for batch_normalization.
    """
    return batch_normalization(
        one_of("input", input, "t", t),
        one_of("mean", mean, "m", m),
        one_of("variance", variance, "v", v),
        beta,
        gamma if scale_after_normalization else None,
        variance_epsilon,
        name,
    )


# What TensorFlow raises a smaller epsilon to: below it cuDNN refuses.
_LEAST_EPSILON = 1.001e-5


def fused_batch_norm(
    x,
    scale,
    offset,
    mean=None,
    variance=None,
    epsilon=0.001,
    data_format="NHWC",
    is_training=True,
    name=None,
    exponential_avg_factor=1.0,
):
    """Batch normalization of images by one op.

    Args:
      x: images, a Tensor of 4 axes: float32, float16 or bfloat16.
      scale, offset: float32 vectors with a number for each channel.
      mean, variance: likewise; needed if not in training, or if exponential_avg_factor is not 1.
      epsilon: a small number that keeps the divisor from 0; at least 1.001e-5 is used.
      data_format: "NHWC" or "NCHW".
      is_training: True to normalize by the mean and variance of x.
      name: a name for the node.
      exponential_avg_factor: in training, how much of the new mean and variance those that it gives
        take; the rest is of the old ones.

    Returns:
      (y, mean, variance): in training the variance is that of the population, n / (n - 1) times that
      of x.

    Raises:
      ValueError: if shapes do not fit; if mean and variance are needed and not given.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: mean={mean!r}, variance={variance!r}"
        )
    none = convert([], dtypes.float32)
    y, new_mean, new_variance, _, _, _ = gen_ops.fused_batch_norm_v3(
        convert(x, name="input"),
        convert(scale, name="scale"),
        convert(offset, name="offset"),
        none if mean is None else mean,
        none if variance is None else variance,
        epsilon=max(epsilon, _LEAST_EPSILON),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return y, new_mean, new_variance


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """input / (bias + alpha * s) ** beta, s being the sum of the squares of channels near.

    Args:
      input: images, a Tensor of 4 axes with channels in the last.
      depth_radius: how far away a channel may be.
      bias, alpha, beta: numbers.
      name: a name for the node.
    """
    return gen_ops.lrn(
        input,
        depth_radius=depth_radius,
        bias=float(bias),
        alpha=float(alpha),
        beta=float(beta),
        name=name,
    )


lrn = local_response_normalization


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x / sqrt(max(sum(x^2), epsilon)), the sum over an axis or a list of them (all if None)."""
    axis = one_of("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert(x, name="x")
        squares = reduce_sum(gen_ops.square(x), axis, keepdims=True)
        inverse = gen_ops.rsqrt(gen_ops.maximum(squares, convert(epsilon, x.dtype.base_dtype)))
        return gen_ops.mul(x, inverse, name=scope)


def zero_fraction(value, name=None):
    """The share of elements that are 0, a float32 scalar; NaN if there are no elements."""
    with name_scope(name, "zero_fraction", [value]):
        value = convert(value, name="value")
        size = gen_ops.size(value, out_type=dtypes.int64)
        zeros = cast(size - count_nonzero(value), dtypes.float32)
        return gen_ops.identity(zeros / cast(size, dtypes.float32), name="fraction")
