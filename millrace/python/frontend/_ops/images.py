"""Images of other sizes, parts and colours. An image is [height, width, channels]; most take batches too."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more, counted_as
from millrace._ops.arithmetic import cast, saturate_cast
from millrace._ops.arrays import expand_dims, pad, reverse, squeeze, where
from millrace._ops.arrays import slice as slice_of
from millrace._ops.random_values import random_uniform
from millrace._ops.reductions import reduce_mean
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class ResizeMethod:
    """How resize_images makes pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_RESIZES = {
    ResizeMethod.BILINEAR: gen_ops.resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: gen_ops.resize_nearest_neighbor,
    ResizeMethod.BICUBIC: gen_ops.resize_bicubic,
    ResizeMethod.AREA: gen_ops.resize_area,
}


def _image(image, ranks=(3,), name="image"):
    """A Tensor of one of these ranks, as far as that is known."""
    image = convert(image, name=name)
    if image.shape.ndims is not None and image.shape.ndims not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(
            f"'{name}' (shape {image.shape}) must have either {wanted} dimensions."
            if len(ranks) > 1
            else f"'{name}' (shape {image.shape}) must be {wanted}-dimensional."
        )
    return image


def _sizes(image):
    """Height and width, as numbers where they are known."""
    known = image.shape.as_list()[-3:-1] if image.shape.ndims is not None else [None, None]
    if None not in known:
        return known
    sizes = gen_ops.shape(image)
    first = 0 if image.shape.ndims == 3 else 1
    return [sizes[first + i] if size is None else size for i, size in enumerate(known)]


def _batched(image):
    """(images of four dimensions, whether a batch had to be put around them)."""
    if image.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    if image.shape.ndims == 3:
        return expand_dims(image, 0), True
    return image, False


def is_jpeg(contents, name=None):
    """Whether bytes, a scalar string, begin as those of a JPEG do: a bool Tensor."""
    with name_scope(name, "is_jpeg"):
        return gen_ops.equal(gen_ops.substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def decode_image(contents, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
    """The pixels of an image whose bytes tell its format.

    Args:
      contents: a scalar string, the bytes of an image file.
      channels: how many are wanted; None or 0 for those that it has.
      dtype: uint8, or uint16 or float32, whose ranges are as of convert_image_dtype.
      name: the name scope.
      expand_animations: False to give of an animation (a GIF) only the first frame.

    Returns:
      a Tensor of shape [height, width, channels], or, of a GIF with expand_animations, [frames, height, width, 3];
      nothing of its shape is known without expand_animations=False.
    """
    with name_scope(name, "decode_image", [contents]) as scope:
        dtype = dtypes.as_dtype(dtype)
        made = gen_ops.decode_image(
            contents,
            channels=channels or 0,
            dtype=dtype if dtype in (dtypes.uint8, dtypes.uint16) else dtypes.uint8,
            expand_animations=expand_animations,
            name=None if dtype == dtypes.float32 else scope,
        )
        return convert_image_dtype(made, dtype, name=scope) if dtype != made.dtype else made


# ---- Sizes and parts -------------------------------------------------------------------------------


def resize_images(
    images,
    size,
    method=ResizeMethod.BILINEAR,
    align_corners=False,
    preserve_aspect_ratio=False,
    name=None,
):
    """Images of another size.

    Args:
      images: [height, width, channels], or a batch of them.
      size: [height, width], int32.
      method: one of ResizeMethod.
      align_corners: True to let the middles of the corner pixels coincide.
      preserve_aspect_ratio: True to take the largest size of the old proportions that fits.
      name: the name scope.

    Returns:
      float32 images (of the old type for NEAREST_NEIGHBOR, or if the size does not change).

    Raises:
      ValueError: for another method, or images without known rank.
    """
    with name_scope(name, "resize", [images, size]):
        images, is_single = _batched(_image(images, (3, 4), "images"))
        if method not in _RESIZES:
            raise ValueError("Resize method is not implemented: {}".format(method))
        wanted = _known_size(size)
        if preserve_aspect_ratio:
            wanted, size = None, _fitting(images, size)
        if wanted is not None and wanted == images.shape.as_list()[1:3]:
            resized = images
        else:
            size = convert(size, dtypes.int32, "size")
            resized = _RESIZES[method](images, size, align_corners=align_corners)
            if wanted is not None:
                resized.set_shape([None, *wanted, None])
        return squeeze(resized, [0]) if is_single else resized


def _known_size(size):
    if hasattr(size, "_as_tensor"):
        value = size.graph.constant_value(size) if hasattr(size, "graph") else None
        return None if value is None else [int(side) for side in value]
    sides = list(size)
    if len(sides) != 2:
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if any(hasattr(side, "_as_tensor") for side in sides):
        return None
    return [int(side) for side in sides]


def _fitting(images, size):
    size = cast(convert(size, dtypes.int32, "size"), dtypes.float32)
    height, width = (cast(side, dtypes.float32) for side in _sizes(images))
    scale = gen_ops.minimum(size[0] / height, size[1] / width)
    sides = [gen_ops.round(scale * height), gen_ops.round(scale * width)]
    return cast(gen_ops.pack(sides, axis=0), dtypes.int32)


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The part of an image of the given size whose upper left corner is at the offsets.

    Raises:
      ValueError: if it is known to lie outside.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        images, is_single = _batched(_image(image, (3, 4)))
        sides = zip((offset_height, offset_width), (target_height, target_width), _sizes(images))
        for offset, target, size in sides:
            if all(isinstance(x, int) for x in (offset, target, size)):
                if offset < 0 or target <= 0 or offset + target > size:
                    raise ValueError(
                        f"a part of size {target} at {offset} does not lie in an image of {size}"
                    )
        begin = gen_ops.pack([0, offset_height, offset_width, 0], axis=0)
        cut = slice_of(images, begin, gen_ops.pack([-1, target_height, target_width, -1], axis=0))
        known = [x if isinstance(x, int) else None for x in (target_height, target_width)]
        cut.set_shape([images.shape[0].value, *known, images.shape[3].value])
        return squeeze(cut, [0]) if is_single else cut


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """An image with black around it, of the given size, itself at the offsets.

    Raises:
      ValueError: if it is known not to fit.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        images, is_single = _batched(_image(image, (3, 4)))
        height, width = _sizes(images)
        after_height = target_height - offset_height - height
        after_width = target_width - offset_width - width
        for what, amount in (
            ("offset_height", offset_height),
            ("offset_width", offset_width),
            ("target_height - offset_height - height", after_height),
            ("target_width - offset_width - width", after_width),
        ):
            if isinstance(amount, int) and amount < 0:
                raise ValueError(f"{what} must be >= 0")
        edges = [0, 0, offset_height, after_height, offset_width, after_width, 0, 0]
        padded = pad(images, gen_ops.reshape(gen_ops.pack(edges, axis=0), [4, 2]))
        known = [x if isinstance(x, int) else None for x in (target_height, target_width)]
        padded.set_shape([images.shape[0].value, *known, images.shape[3].value])
        return squeeze(padded, [0]) if is_single else padded


def resize_image_with_crop_or_pad(image, target_height, target_width):
    """The middle of an image cut out, or black put around it, so that it has the given size."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = _image(image, (3, 4))
        height, width = _sizes(image)
        over_height, over_width = _halves(height, target_height), _halves(width, target_width)
        image = crop_to_bounding_box(
            image,
            over_height[0],
            over_width[0],
            _least(target_height, height),
            _least(target_width, width),
        )
        image = pad_to_bounding_box(
            image, over_height[1], over_width[1], target_height, target_width
        )
        return image


def _halves(size, target):
    """How much is cut off before, and how much is put there."""
    if isinstance(size, int) and isinstance(target, int):
        difference = target - size
        return max(-difference // 2, 0), max(difference // 2, 0)
    difference = target - size
    zero = constant(0)
    return (
        gen_ops.maximum(gen_ops.floor_div(-difference, 2), zero),
        gen_ops.maximum(gen_ops.floor_div(difference, 2), zero),
    )


def _least(a, b):
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else gen_ops.minimum(a, b)


def central_crop(image, central_fraction):
    """The middle of an image, `central_fraction` of its height and width.

    Raises:
      ValueError: if the fraction is not in (0, 1].
    """
    with name_scope(None, "central_crop", [image]):
        image = _image(image, (3, 4))
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        starts, lengths = [], []
        for size in _sizes(image):
            if isinstance(size, int):
                start = int((size - size * central_fraction) / 2)
            else:
                real = cast(size, dtypes.float64)
                start = cast((real - real * central_fraction) / 2, dtypes.int32)
            starts.append(start)
            lengths.append(size - start * 2)
        return crop_to_bounding_box(image, *starts, *lengths)


# ---- Turning ---------------------------------------------------------------------------------------


def _flipped(image, axis):
    """`axis` counts from the end, the channels being -1."""
    image = _image(image, (3, 4))
    if image.shape.ndims is None:
        raise ValueError("'image' contains no shape.")
    return reverse(image, [image.shape.ndims + axis])


def flip_left_right(image):
    """The mirror image."""
    with name_scope(None, "flip_left_right", [image]):
        return _flipped(image, -2)


def flip_up_down(image):
    """The image upside down."""
    with name_scope(None, "flip_up_down", [image]):
        return _flipped(image, -3)


def _maybe_flipped(image, axis, seed):
    image = _image(image, (3, 4))
    if image.shape.ndims == 3:
        count_more(1)  # TensorFlow has a tf.cond, with the flipped image in it
        chosen = gen_ops.less(random_uniform([], 0, 1.0, seed=seed), 0.5)
        with counted_as(9):
            return gen_ops.select(chosen, _flipped(image, axis), image)
    flipped = _flipped(image, axis)
    number = gen_ops.shape(image)[0]
    draws = random_uniform(gen_ops.pack([number], axis=0), 0, 1.0, seed=seed)
    return where(gen_ops.less(draws, 0.5), flipped, image)


def random_flip_left_right(image, seed=None):
    """The image or its mirror image, each half of the time (for each of a batch by itself)."""
    with name_scope(None, "random_flip_left_right", [image]):
        return _maybe_flipped(image, -2, seed)


def random_flip_up_down(image, seed=None):
    """The image, or it upside down, each half of the time."""
    with name_scope(None, "random_flip_up_down", [image]):
        return _maybe_flipped(image, -3, seed)


def transpose_image(image, name=None):
    """Height and width exchanged."""
    with name_scope(name, "transpose", [image]):
        image = _image(image, (3, 4))
        order = [1, 0, 2] if image.shape.ndims == 3 else [0, 2, 1, 3]
        return gen_ops.transpose(image, order)


def rot90(image, k=1, name=None):
    """The image turned by `k` quarters, against the clock; `k` is a number."""
    with name_scope(name, "rot90", [image]):
        image = _image(image, (3, 4))
        quarters = int(k) % 4
        if quarters == 0:
            return image
        if quarters == 1:
            return _flipped(transpose_image(image), -3)
        if quarters == 2:
            return _flipped(_flipped(image, -2), -3)
        return transpose_image(_flipped(image, -3))


# ---- Colours and brightness ------------------------------------------------------------------------


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """The image as another type, its range as that type's: 0 to 1, or 0 to the largest integer.

    Args:
      image: of any number's type.
      dtype: a DType.
      saturate: True to bring what lies outside to the limits.
      name: a name for the node.
    """
    image = convert(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if dtype == image.dtype.base_dtype:
        return gen_ops.identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        to = saturate_cast if saturate else cast
        source = image.dtype.base_dtype
        if source.is_integer and dtype.is_integer:
            return _between_integers(image, source, dtype, saturate, scope)
        if not source.is_integer and not dtype.is_integer:
            return cast(image, dtype, name=scope)
        if source.is_integer:
            scaled = cast(image, dtype)
            return gen_ops.mul(scaled, constant(1.0 / source.max, dtype), name=scope)
        scaled = gen_ops.mul(image, constant(dtype.max + 0.5, source))
        return to(scaled, dtype, name=scope)


def _between_integers(image, source, dtype, saturate, name):
    if source.max > dtype.max:
        scale = (source.max + 1) // (dtype.max + 1)
        scaled = gen_ops.floor_div(image, constant(scale, source))
        return saturate_cast(scaled, dtype, name=name) if saturate else cast(scaled, dtype, name)
    made = saturate_cast(image, dtype) if saturate else cast(image, dtype)
    return gen_ops.mul(made, constant((dtype.max + 1) // (source.max + 1), dtype), name=name)


def _in_floats(image, change):
    """change(image as float32), as the image's own type again."""
    original = image.dtype.base_dtype
    if original in (dtypes.float16, dtypes.float32):
        count_more(1)  # TensorFlow makes an identity of it
        return change(image)
    changed = change(convert_image_dtype(image, dtypes.float32))
    return convert_image_dtype(changed, original, saturate=True)


def adjust_brightness(image, delta):
    """The image with `delta` (of a range of 0 to 1) added."""
    with name_scope(None, "adjust_brightness", [image, delta]):
        image = convert(image, name="image")
        original = image.dtype.base_dtype
        floats = convert_image_dtype(image, dtypes.float32)
        if original in (dtypes.float16, dtypes.float32):
            floats = image
            count_more(-1)
        brighter = gen_ops.add(floats, cast(delta, floats.dtype))
        return convert_image_dtype(brighter, original, saturate=True)


def random_brightness(image, max_delta, seed=None):
    """adjust_brightness by a delta between -max_delta and max_delta."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def adjust_contrast(images, contrast_factor):
    """The images with each channel's distance from its mean times `contrast_factor`."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]):
        factor = cast(contrast_factor, dtypes.float32)
        return _in_floats(
            convert(images, name="images"), lambda each: gen_ops.adjust_contrastv2(each, factor)
        )


def random_contrast(image, lower, upper, seed=None):
    """adjust_contrast by a factor between `lower` and `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def adjust_hue(image, delta, name=None):
    """The image with its hues turned by `delta`, 1 being once around."""
    with name_scope(name, "adjust_hue", [image]):
        delta = cast(delta, dtypes.float32)
        return _in_floats(
            convert(image, name="image"), lambda each: gen_ops.adjust_hue(each, delta)
        )


def random_hue(image, max_delta, seed=None):
    """adjust_hue by a delta between -max_delta and max_delta, at most half around."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be <= 0.5 and non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def adjust_saturation(image, saturation_factor, name=None):
    """The image with its saturations times `saturation_factor`."""
    with name_scope(name, "adjust_saturation", [image]):
        factor = cast(saturation_factor, dtypes.float32)
        return _in_floats(
            convert(image, name="image"), lambda each: gen_ops.adjust_saturation(each, factor)
        )


def random_saturation(image, lower, upper, seed=None):
    """adjust_saturation by a factor between `lower` and `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def rgb_to_grayscale(images, name=None):
    """One channel of how bright red, green and blue together look."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert(images, name="images")
        floats = convert_image_dtype(images, dtypes.float32)
        weights = constant([[0.2989], [0.5870], [0.1140]])
        rank = images.shape.ndims
        flat = gen_ops.reshape(floats, [-1, 3])
        gray = gen_ops.mat_mul(flat, weights)
        lead = gen_ops.shape(images)[:-1]
        shaped = gen_ops.reshape(gray, gen_ops.concat_v2([lead, [1]], 0))
        if rank is not None:
            shaped.set_shape(images.shape[:-1].concatenate(TensorShape([1])))
        return convert_image_dtype(shaped, images.dtype.base_dtype, name=scope)


def grayscale_to_rgb(images, name=None):
    """Three channels, each the one there is."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert(images, name="images")
        repeats = [1] * (images.shape.ndims - 1) + [3]
        return gen_ops.tile(images, repeats, name=scope)


def per_image_standardization(image):
    """The image less its mean, by its deviation (or by 1 / sqrt(pixels) if that is larger)."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = cast(_image(image, (3, 4)), dtypes.float32)
        count_more(2)
        axes = [-1, -2, -3]
        count = cast(gen_ops.prod(gen_ops.shape(image)[-3:], 0), dtypes.float32)
        mean = reduce_mean(image, axes, keepdims=True)
        squares = reduce_mean(gen_ops.square(image), axes, keepdims=True)
        variance = gen_ops.relu(squares - gen_ops.square(mean))
        deviation = gen_ops.maximum(gen_ops.sqrt(variance), gen_ops.rsqrt(count))
        return gen_ops.real_div(image - mean, deviation, name=scope)
