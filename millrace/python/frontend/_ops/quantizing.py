"""Floats as numbers of quantized types, and back."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._values import dtypes

__all__ = ["dequantize", "quantize", "quantize_v2"]


def _axis(axis, of):
    """The axis from the front, -1 for none."""
    if axis is None:
        return -1
    if axis >= 0:
        return axis
    if of.shape.ndims is None:
        raise ValueError(f"axis {axis} counts from the end of an input whose rank is not known")
    return axis + of.shape.ndims


def quantize_v2(
    input,
    min_range,
    max_range,
    T,
    mode="MIN_COMBINED",
    name=None,
    round_mode="HALF_AWAY_FROM_ZERO",
    narrow_range=False,
    axis=None,
    ensure_minimum_range=0.01,
):
    """Floats as steps of a range, which a quantized type counts.

    Args:
      input: float32.
      min_range, max_range: float32, the ends of the range: scalars, or vectors with axis.
      T: tf.qint8, tf.quint8, tf.qint16, tf.quint16 or tf.qint32.
      mode: "MIN_COMBINED": the range lies on all numbers of the type; "MIN_FIRST": so that 0 lies on one;
        "SCALED": 0 lies on 0, and the farther end on that of the type.
      name: a name for the node.
      round_mode: "HALF_AWAY_FROM_ZERO", or with "SCALED" also "HALF_TO_EVEN".
      narrow_range: True if the least number of a type with a sign is left out.
      axis: the one along which each slice has its own range; None for one range.
      ensure_minimum_range: a range is at least this share of its larger end, or of 1.

    Returns:
      (output, output_min, output_max): the numbers, and the range that they stand for.
    """
    input = convert(input, dtypes.float32, name="input")
    return gen_ops.quantize_v2(
        input,
        min_range,
        max_range,
        T=T,
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=_axis(axis, input),
        ensure_minimum_range=ensure_minimum_range,
        name=name,
    )


def quantize(
    input,
    min_range,
    max_range,
    T,
    mode="MIN_COMBINED",
    round_mode="HALF_AWAY_FROM_ZERO",
    name=None,
    narrow_range=False,
    axis=None,
    ensure_minimum_range=0.01,
):
    """As quantize_v2, with its arguments in another order."""
    return quantize_v2(
        input,
        min_range,
        max_range,
        T,
        mode=mode,
        name=name,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis,
        ensure_minimum_range=ensure_minimum_range,
    )


def dequantize(
    input,
    min_range,
    max_range,
    mode="MIN_COMBINED",
    name=None,
    axis=None,
    narrow_range=False,
    dtype=dtypes.float32,
):
    """The floats that numbers of a quantized type stand for.

    Args:
      input: of a quantized type.
      min_range, max_range, mode, name, axis, narrow_range: as in quantize_v2.
      dtype: tf.float32 or tf.bfloat16.

    Returns:
      a Tensor of that type and of the shape of input.
    """
    input = convert(input, name="input")
    return gen_ops.dequantize(
        input,
        min_range,
        max_range,
        mode=mode,
        narrow_range=narrow_range,
        axis=_axis(axis, input),
        dtype=dtype,
        name=name,
    )
