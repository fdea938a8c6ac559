"""Differences between the pixels of images that lie side by side."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._ops.arrays import concat, pad, reshape, shape, tile
from millrace._ops.depthwise import depthwise_conv2d

_DOWN = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)


def sobel_edges(image):
    """How steep images are at each pixel, by Sobel's windows.

    Args:
      image: [batch, height, width, channels] of float32 or float64.

    Returns:
      a Tensor of shape [batch, height, width, channels, 2]: downwards, and to the right.
    """
    image = convert(image, name="image")
    known, sizes = image.shape.with_rank(4), shape(image)
    count = known.as_list()[-1]
    windows = np.stack([_DOWN, _DOWN.T], -1).reshape(3, 3, 1, 2)
    windows = constant(windows.astype(image.dtype.as_numpy_dtype))
    windows = tile(windows, gen_ops.pack([1, 1, sizes[-1] if count is None else count, 1]))
    framed = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    steep = depthwise_conv2d(framed, windows, [1, 1, 1, 1], "VALID")
    made = reshape(steep, concat([sizes, [2]], 0))
    made.set_shape(known.concatenate([2]))
    return made


def image_gradients(image):
    """The differences of each pixel to the one below, and to the one to the right of it.

    Args:
      image: [batch, height, width, channels].

    Returns:
      (dy, dx), of the image's type and shape; 0 in the last row of the one and the last column of the
      other.

    Raises:
      ValueError: for another rank.
    """
    image = convert(image, name="image")
    if image.shape.ndims != 4:
        raise ValueError(
            "image_gradients expects a 4D tensor [batch_size, h, w, d], not {}.".format(image.shape)
        )
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    across = image[:, :, 1:, :] - image[:, :, :-1, :]
    below = pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]])
    beside = pad(across, [[0, 0], [0, 0], [0, 1], [0, 0]])
    below.set_shape(image.shape)
    beside.set_shape(image.shape)
    return below, beside
