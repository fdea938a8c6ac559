"""Red, green and blue as brightness and two differences of colours, and back."""

import numpy as np

from millrace._graph.conversion import convert
from millrace._ops.linear_algebra import tensordot

_BRIGHTNESS = [0.299, 0.587, 0.114]
_YIQ = np.array(
    [
        _BRIGHTNESS,
        [0.59590059, -0.27455667, -0.32134392],
        [0.2115, -0.52273617, 0.31119955],
    ]
)
_FROM_YIQ = np.array(
    [
        [1.0, 0.95598634, 0.6208248],
        [1.0, -0.27201283, -0.64720424],
        [1.0, -1.10674021, 1.70423049],
    ]
)
_YUV = np.array(
    [
        _BRIGHTNESS,
        [-0.14714119, -0.28886916, 0.43601035],
        [0.61497538, -0.51496512, -0.10001026],
    ]
)
_FROM_YUV = np.array(
    [[1.0, 0.0, 1.13988303], [1.0, -0.394642334, -0.58062185], [1.0, 2.03206185, 0.0]]
)


def _changing(matrix, says):
    def change(images):
        images = convert(images, name="images")
        kernel = convert(matrix.T.astype(images.dtype.as_numpy_dtype), name="kernel")
        return tensordot(images, kernel, [[images.shape.ndims - 1], [0]])

    change.__doc__ = f"""{says}

    Args:
      images: [..., 3], numbers with a point; RGB between 0 and 1.

    Returns:
      a Tensor of the same type and shape.
    """
    return change


rgb_to_yiq = _changing(_YIQ, "RGB as YIQ: brightness, orange to blue, purple to green.")
yiq_to_rgb = _changing(_FROM_YIQ, "YIQ as RGB.")
rgb_to_yuv = _changing(_YUV, "RGB as YUV: brightness, blue's and red's distance from it.")
yuv_to_rgb = _changing(_FROM_YUV, "YUV as RGB.")
