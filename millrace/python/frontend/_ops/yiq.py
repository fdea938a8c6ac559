"""Colours of images changed in YIQ: hue turned, saturation and value scaled, by one matrix."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import reshape, zeros_like
from millrace._ops.images import convert_image_dtype
from millrace._ops.linear_algebra import matmul
from millrace._ops.random_values import random_uniform
from millrace._values import dtypes

_TO_YIQ = np.array(
    [[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32
)
_FROM_YIQ = np.array(
    [[1, 0.95617069, 0.62143257], [1, -0.2726886, -0.64681324], [1, -1.103744, 1.70062309]],
    np.float32,
)


def adjust_hsv_in_yiq(image, delta_hue=0, saturation_scale=1, value_scale=1, name=None):
    """The image with its hue turned, its saturation and its value scaled.

    Args:
      image: of shape [..., 3], RGB.
      delta_hue: by which angle, a float scalar.
      saturation_scale, value_scale: float scalars.
      name: a name scope.

    Returns:
      a Tensor of the image's type and shape.

    Raises:
      ValueError: if the last axis is known to be no 3.
    """
    with name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = convert(image, name="image")
        rank = image.shape.ndims
        if rank is not None and (rank < 1 or image.shape.as_list()[-1] not in (3, None)):
            raise ValueError(f"input must have 3 channels but instead has shape {image.shape}.")
        colours = convert_image_dtype(image, dtypes.float32)
        hue, saturation, value = (
            cast(each, dtypes.float32) for each in (delta_hue, saturation_scale, value_scale)
        )
        straight = value * saturation * gen_ops.cos(hue)
        across = value * saturation * gen_ops.sin(hue)
        none = zeros_like(value)
        turned = [value, none, none, none, straight, -across, none, across, straight]
        change = matmul(matmul(_FROM_YIQ, reshape(gen_ops.pack(turned), [3, 3])), _TO_YIQ)
        pixels = matmul(reshape(colours, [-1, 3]), change, transpose_b=True)
        made = reshape(pixels, gen_ops.shape(colours))
        made.set_shape(image.shape)
        return convert_image_dtype(made, image.dtype.base_dtype, saturate=True)


def random_hsv_in_yiq(
    image,
    max_delta_hue=0,
    lower_saturation=1,
    upper_saturation=1,
    lower_value=1,
    upper_value=1,
    seed=None,
    name=None,
):
    """adjust_hsv_in_yiq by chance.

    Args:
      image: of shape [..., 3], RGB.
      max_delta_hue: the hue is turned by at most so much, either way.
      lower_saturation, upper_saturation, lower_value, upper_value: between which the scales are.
      seed: a seed.
      name: a name scope.

    Raises:
      ValueError: if a bound is negative, or a lower one above the upper.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for what, lower, upper in (
        ("saturation", lower_saturation, upper_saturation),
        ("value", lower_value, upper_value),
    ):
        if lower < 0:
            raise ValueError(f"lower_{what} must be non-negative.")
        if lower > upper:
            raise ValueError(f"lower_{what} must be < upper_{what}.")
    with name_scope(name, "random_hsv_in_yiq", [image]):
        hue, saturation, value = 0, 1, 1
        if max_delta_hue:
            hue = random_uniform([], -max_delta_hue, max_delta_hue, seed=seed)
        if lower_saturation != upper_saturation:
            saturation = random_uniform([], lower_saturation, upper_saturation, seed=seed)
        if lower_value != upper_value:
            value = random_uniform([], lower_value, upper_value, seed=seed)
        return adjust_hsv_in_yiq(image, hue, saturation, value)
