"""How alike images are: by their pixels (psnr), and by the structure around each pixel (ssim)."""

import math

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, identity, pad, reshape, shape, stack, tile
from millrace._ops.depthwise import depthwise_conv2d
from millrace._ops.images import convert_image_dtype
from millrace._ops.pools import avg_pool
from millrace._ops.reductions import reduce_mean, reduce_prod, reduce_sum
from millrace._values import dtypes

# How much each of the scales counts.
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def _floats(first, second, max_val):
    """Both images and the largest value, as float32; ValueError if their shapes are known to differ."""
    first, second = convert(first, name="img1"), convert(second, name="img2")
    for own, other in ((first, second), (second, first)):
        own = own.shape.with_rank_at_least(3)
        if not own[-3:].is_compatible_with(other.shape.with_rank_at_least(3)[-3:]):
            raise ValueError(
                f"The two images' shapes are not compatible: {first.shape} vs {second.shape}"
            )
    largest = convert_image_dtype(cast(max_val, first.dtype.base_dtype), dtypes.float32)
    return (*(convert_image_dtype(each, dtypes.float32) for each in (first, second)), largest)


def _alike(first, second, least=1):
    """The first, which fails when it runs if the images' last three sizes differ, or are too small."""
    sizes, others = shape(first)[-3:], shape(second)[-3:]
    known = first.shape.as_list()[-3:] + second.shape.as_list()[-3:]
    if None not in known:
        if min(known[0], known[1]) < least:
            raise ValueError(f"images of shape {first.shape} are smaller than {least} pixels")
        return first
    checks = [
        gen_ops.assert_(
            gen_ops.all(gen_ops.equal(sizes, others), [0]),
            ["images must have one shape, but for batches:", sizes, others],
        ),
        gen_ops.assert_(
            gen_ops.all(gen_ops.greater_equal(sizes[:2], least), [0]),
            [f"images must have at least {least} rows and columns:", sizes],
        ),
    ]
    with control_dependencies(checks):
        return identity(first)


def psnr(a, b, max_val, name=None):
    """The ratio of peak signal to noise between images, in decibels; infinite if they are the same.

    Args:
      a, b: images of one type and shape, [..., height, width, channels].
      max_val: the largest value that a pixel of that type may have (from the smallest).
      name: the name scope.

    Returns:
      float32, of shape [...].

    Raises:
      ValueError: if the shapes are known to differ.
    """
    with name_scope(name, "PSNR", [a, b]):
        a, b, largest = _floats(a, b, max_val)
        error = reduce_mean(gen_ops.squared_difference(_alike(a, b), b), [-3, -2, -1])
        to_decibels = 10.0 / math.log(10.0)
        made = 2.0 * to_decibels * gen_ops.log(largest) - to_decibels * gen_ops.log(error)
        return identity(made, name="psnr")


def _bell(size, sigma):
    """A round window of weights that fall with the distance from its middle, [size, size, 1, 1]."""
    places = np.arange(size, dtype=np.float32) - (size - 1) / 2.0
    heights = np.exp(-np.square(places) / (2.0 * sigma**2))
    window = np.outer(heights, heights)
    return (window / window.sum()).astype(np.float32).reshape(size, size, 1, 1)


def _per_channel(first, second, largest, window_size, sigma, k1, k2):
    """(how alike, how alike but for brightness) of each channel: means over all places, [..., channels]."""
    first = _alike(first, second, window_size)
    channels = first.shape.as_list()[-1]
    window = constant(_bell(window_size, sigma))
    count = shape(first)[-1] if channels is None else channels
    window = tile(window, gen_ops.pack([1, 1, count, 1]))

    def around(images):
        sizes = shape(images)
        flat = reshape(images, concat([[-1], sizes[-3:]], 0))
        flat.set_shape([None, *images.shape.as_list()[-3:]])
        made = depthwise_conv2d(flat, window, [1, 1, 1, 1], "VALID")
        return reshape(made, concat([sizes[:-3], shape(made)[1:]], 0))

    c1, c2 = gen_ops.square(k1 * largest), gen_ops.square(k2 * largest)
    mean, other_mean = around(first), around(second)
    product, squares = (
        2.0 * mean * other_mean,
        gen_ops.square(mean) + gen_ops.square(other_mean),
    )
    brightness = (product + c1) / (squares + c1)
    both = 2.0 * around(first * second) - product
    each = around(gen_ops.square(first) + gen_ops.square(second)) - squares
    structure = (both + c2) / (each + c2)
    axes = [-3, -2]
    return reduce_mean(brightness * structure, axes), reduce_mean(structure, axes)


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """The structural similarity of images: 1 for the same ones.

    Args:
      img1, img2: images of one type and shape, [..., height, width, channels].
      max_val: the largest value that a pixel of that type may have (from the smallest).
      filter_size: how many pixels on a side are looked at around each; images must be as large.
      filter_sigma: how wide the bell is that weighs them.
      k1, k2: keep quotients of small numbers in bounds.

    Returns:
      float32, of shape [...].

    Raises:
      ValueError: if the shapes are known to differ, or to be too small.
    """
    with name_scope(None, "SSIM", [img1, img2]):
        first, second, largest = _floats(img1, img2, max_val)
        found, _ = _per_channel(first, second, largest, filter_size, filter_sigma, k1, k2)
        return reduce_mean(found, [-1])


def _halved(images):
    """Images of half the height and width; a row or column that is left over is doubled first."""
    sizes = shape(images)
    flat = reshape(images, concat([[-1], sizes[-3:]], 0))
    flat.set_shape([None, *images.shape.as_list()[-3:]])
    left_over = gen_ops.floor_mod(sizes[-3:-1], 2)
    edges = gen_ops.pack([[0, 0], [0, left_over[0]], [0, left_over[1]], [0, 0]])
    even = pad(flat, edges, "SYMMETRIC")
    even.set_shape([None, None, None, images.shape.as_list()[-1]])
    made = avg_pool(even, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    halved = reshape(made, concat([sizes[:-3], shape(made)[1:]], 0))
    *lead, height, width, channels = images.shape.as_list()
    known = [None if size is None else (size + 1) // 2 for size in (height, width)]
    halved.set_shape([*lead, *known, channels])
    return halved


def ssim_multiscale(
    img1,
    img2,
    max_val,
    power_factors=_WEIGHTS,
    filter_size=11,
    filter_sigma=1.5,
    k1=0.01,
    k2=0.03,
):
    """ssim at several scales, each half of the one before, multiplied.

    Args:
      img1, img2, max_val, filter_size, filter_sigma, k1, k2: as ssim; images must be large enough at the
        last scale, too.
      power_factors: how much each scale counts, the finest first.

    Returns:
      float32, of shape [...].

    Raises:
      ValueError: if the shapes are known to differ, or to be too small.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        first, second, largest = _floats(img1, img2, max_val)
        found = []
        for number in range(len(power_factors)):
            if number:
                first, second = _halved(first), _halved(second)
            whole, structure = _per_channel(
                first, second, largest, filter_size, filter_sigma, k1, k2
            )
            found.append(whole if number == len(power_factors) - 1 else structure)
        parts = stack([gen_ops.relu(each) for each in found], axis=-1)
        powers = gen_ops.pow(parts, constant(np.array(power_factors, np.float32)))
        return reduce_mean(reduce_prod(powers, [-1]), [-1])


def total_variation(images, name=None):
    """How much noise an image has: the sum of the differences between pixels side by side.

    Args:
      images: [height, width, channels], or a batch of them.
      name: the name scope.

    Returns:
      a scalar, or a number for each of the batch, of the images' type.

    Raises:
      ValueError: for images of another rank.
    """
    with name_scope(name, "total_variation", [images]):
        images = convert(images, name="images")
        if images.shape.ndims not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        down = images[..., 1:, :, :] - images[..., :-1, :, :]
        across = images[..., :, 1:, :] - images[..., :, :-1, :]
        axes = None if images.shape.ndims == 3 else [1, 2, 3]
        return reduce_sum(gen_ops.abs(down), axes) + reduce_sum(gen_ops.abs(across), axes)
