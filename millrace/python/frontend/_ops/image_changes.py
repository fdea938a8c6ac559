"""Images brighter by a curve, with the losses of JPEG, of another size with bars beside them."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, identity, shape, squeeze
from millrace._ops.images import (
    ResizeMethod,
    convert_image_dtype,
    pad_to_bounding_box,
    resize_images,
)
from millrace._ops.rearranging import extract_image_patches
from millrace._values import dtypes


def adjust_gamma(image, gamma=1, gain=1):
    """gain * image ** gamma, its pixels taken as of 0 to 1.

    Args:
      image: an image of any type.
      gamma: a number or scalar, not negative: darker above 1, brighter below.
      gain: a number or scalar.

    Returns:
      an image of the same type.

    Raises:
      ValueError: if gamma is negative. InvalidArgumentError: likewise, when it runs.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert(image, name="image")
        own = image.dtype.base_dtype
        floats = image if own.is_floating else convert_image_dtype(image, dtypes.float32)
        message = "Gamma should be a non-negative real number."
        if not hasattr(gamma, "_as_tensor"):
            if gamma < 0:
                raise ValueError(message)
        else:
            with control_dependencies(
                [gen_ops.assert_(gen_ops.greater_equal(gamma, 0), [message])]
            ):
                gamma = identity(gamma)
        curved = cast(gain, floats.dtype) * gen_ops.pow(floats, cast(gamma, floats.dtype))
        return convert_image_dtype(curved, own, saturate=True)


def adjust_jpeg_quality(image, jpeg_quality, name=None):
    """An image as it is after it was written as a JPEG and read again.

    Args:
      image: [height, width, channels] of 1 or 3 channels, of any type.
      jpeg_quality: 0 to 100, known while the graph is built.
      name: the name scope.

    Returns:
      an image of the same type.

    Raises:
      NotImplementedError: for a quality that only a step would tell.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert(image, name="image")
        if hasattr(jpeg_quality, "_as_tensor"):
            jpeg_quality = constant_value(jpeg_quality)
            if jpeg_quality is None:
                raise NotImplementedError(
                    "adjust_jpeg_quality: the quality must be known while the graph is built; a "
                    "tf.switch_case chooses between images of several qualities"
                )
        own, channels = image.dtype.base_dtype, image.shape.as_list()[-1]
        written = gen_ops.encode_jpeg(
            convert_image_dtype(image, dtypes.uint8, saturate=True), quality=int(jpeg_quality)
        )
        read = gen_ops.decode_jpeg(written, channels=channels)
        return convert_image_dtype(read, own, saturate=True)


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    """adjust_jpeg_quality with a quality that is drawn while the graph is built.

    Args:
      image: as for adjust_jpeg_quality.
      min_jpeg_quality, max_jpeg_quality: the quality is from the first up to the second, without it.
      seed: a seed of NumPy's random numbers; None for another quality in each program.

    Raises:
      ValueError: unless 0 <= min_jpeg_quality < max_jpeg_quality <= 100.
    """
    if not 0 <= min_jpeg_quality <= 100 or not 0 <= max_jpeg_quality <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    drawn = np.random.RandomState(seed).randint(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, int(drawn))


def decode_and_crop_jpeg(
    contents,
    crop_window,
    channels=0,
    ratio=1,
    fancy_upscaling=True,
    try_recover_truncated=False,
    acceptable_fraction=1,
    dct_method="",
    name=None,
):
    """A part of the image of a JPEG.

    Args:
      contents: a string scalar.
      crop_window: [top, left, height, width] of the part, integers.
      channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method: as for
        decode_jpeg.
      name: the name scope.

    Returns:
      a uint8 Tensor of shape [height, width, channels].

    Raises:
      InvalidArgumentError: (when it runs) if the part is not inside the image, or there is no JPEG.
    """
    with name_scope(name, "DecodeAndCropJpeg", [contents, crop_window]) as scope:
        whole = gen_ops.decode_jpeg(
            contents,
            channels=channels,
            ratio=ratio,
            fancy_upscaling=fancy_upscaling,
            try_recover_truncated=try_recover_truncated,
            acceptable_fraction=acceptable_fraction,
            dct_method=dct_method,
        )
        window = convert(crop_window, dtypes.int32, name="crop_window")
        begin = gen_ops.concat_v2([window[:2], [0]], 0)
        size = gen_ops.concat_v2([window[2:], [-1]], 0)
        part = gen_ops.slice(whole, begin, size, name=scope)
        known = constant_value(window)
        height, width = (None, None) if known is None else (int(known[2]), int(known[3]))
        part.set_shape([height, width, channels or None])
        return part


def extract_patches(images, sizes=None, strides=None, rates=None, padding=None, name=None):
    """extract_image_patches, whose arguments it has; sizes are its ksizes."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def resize_image_with_pad(
    image, target_height, target_width, method=ResizeMethod.BILINEAR, align_corners=False
):
    """An image of the largest size of its proportions that fits, black beside it.

    Args:
      image: [height, width, channels], or a batch of them.
      target_height, target_width: integers or scalars.
      method, align_corners: as resize_images.

    Returns:
      images of the target size, of resize_images' type.

    Raises:
      ValueError: for images of another rank.
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        image = convert(image, name="image")
        if image.shape.ndims not in (3, 4):
            raise ValueError("'image' must be 3 or 4-dimensional.")
        is_single = image.shape.ndims == 3
        images = expand_dims(image, 0) if is_single else image
        wanted = [target_height, target_width]
        known = images.shape.as_list()[1:3]
        if all(isinstance(each, (int, np.integer)) for each in (*known, *wanted)):
            sizes, offsets = _fitted(known, wanted, np.floor, max, np.float32, int)
        else:
            own = shape(images)
            sizes, offsets = _fitted(
                [own[1], own[2]],
                [convert(each, dtypes.int32) for each in wanted],
                gen_ops.floor,
                gen_ops.maximum,
                lambda each: cast(each, dtypes.float32),
                lambda each: cast(each, dtypes.int32),
            )
            sizes = gen_ops.pack(sizes)
        resized = resize_images(images, sizes, method, align_corners)
        padded = pad_to_bounding_box(resized, *offsets, *wanted)
        return squeeze(padded, [0]) if is_single else padded


def _fitted(sizes, wanted, floor, larger, real, whole):
    """([height, width], offsets) in numbers or in Tensors, as the functions compute; both round alike."""
    reals = [real(each) for each in sizes]
    targets = [real(each) for each in wanted]
    ratio = larger(*(own / target for own, target in zip(reals, targets)))
    exact = [own / ratio for own in reals]
    margins = [floor((target - own) / real(2)) for own, target in zip(exact, targets)]
    return [whole(floor(own)) for own in exact], [larger(0, whole(each)) for each in margins]
