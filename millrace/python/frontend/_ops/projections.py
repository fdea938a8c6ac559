"""Images turned, moved and seen in perspective.

A transform is eight numbers [a0, a1, a2, b0, b1, b2, c0, c1]: the pixel (x, y) of the result is that of the image
at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1, and 0 outside of it.
"""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, ones, ones_like, reshape, shape, stack, zeros_like
from millrace._ops.linear_algebra import matmul
from millrace._values import dtypes

_PIXELS = (dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64)


def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Images whose pixels are taken from where transforms say.

    Args:
      images: [height, width], [height, width, channels] or [batch, height, width, channels], of uint8, int32, int64
        or a floating type; the rank has to be known.
      transforms: [8], or [batch, 8] of float32; [1, 8] is for all images.
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: two int32: height and width of the results; those of the images if None.
      name: a name for the nodes.

    Raises:
      TypeError: for another type, for unknown or other ranks.
      ValueError: if output_shape has other than two elements.
    """
    with name_scope(name, "transform", [images, transforms, output_shape]):
        images = convert(images, name="images")
        transforms = convert(transforms, name="transforms", hint=dtypes.float32)
        batch = _as_batch(images)
        if output_shape is None:
            output_shape = shape(batch)[1:3]
        output_shape = convert(output_shape, name="output_shape", hint=dtypes.int32)
        if not output_shape.shape.is_compatible_with([2]):
            raise ValueError(
                "output_shape must be a 1-D Tensor of 2 elements: new_height, new_width, not "
                f"{output_shape.shape}"
            )
        rank = transforms.shape.ndims
        if rank not in (1, 2):
            raise TypeError(f"Transforms should have rank 1 or 2, not {rank}.")
        if rank == 1:
            transforms = transforms[None]
        made = gen_ops.image_projective_transform_v2(
            batch, transforms, output_shape, interpolation.upper()
        )
        return _as_it_came(made, images.shape.ndims)


def _as_batch(images):
    if images.dtype.base_dtype not in _PIXELS:
        raise TypeError(f"Invalid dtype {images.dtype}.")
    rank = images.shape.ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank not in (2, 3, 4):
        raise TypeError("Images should have rank between 2 and 4.")
    return {2: lambda: images[None, :, :, None], 3: lambda: images[None], 4: lambda: images}[rank]()


def _as_it_came(batch, rank):
    return {2: lambda: batch[0, :, :, 0], 3: lambda: batch[0], 4: lambda: batch}[rank]()


def rotate(images, angles, interpolation="NEAREST", name=None):
    """Images turned around their middle, against the clock; what was outside is 0.

    Args:
      images, interpolation: as for `transform`.
      angles: in radians: a float scalar for all images, or [batch].
      name: a name for the nodes.

    Raises:
      TypeError: as `transform`, and for angles of another rank.
    """
    with name_scope(name, "rotate", [images, angles]):
        images = convert(images, name="images")
        sizes = cast(shape(_as_batch(images))[1:3], dtypes.float32)
        turned = angles_to_projective_transforms(angles, sizes[0], sizes[1])
        return transform(images, turned, interpolation)


def translate(images, translations, interpolation="NEAREST", name=None):
    """Images moved to the right and down; what was outside is 0.

    Args:
      images, interpolation: as for `transform`.
      translations: [dx, dy] in pixels, or [batch, 2].
      name: a name for the nodes.

    Raises:
      TypeError: as `transform`, and for translations of another rank.
    """
    with name_scope(name, "translate", [images, translations]):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """Transforms that turn images around their middle: [batch, 8] of float32.

    Args:
      angles: in radians: a float scalar, or [batch].
      image_height, image_width: float32 scalars.
      name: a name for the nodes.

    Raises:
      TypeError: for angles of another rank.
    """
    with name_scope(name, "angles_to_projective_transforms"):
        angles = convert(angles, name="angles", hint=dtypes.float32)
        if angles.shape.ndims not in (0, 1):
            raise TypeError(f"Angles should have rank 0 or 1, not {angles.shape.ndims}.")
        angles = reshape(angles, [-1])
        across = convert(image_width, hint=dtypes.float32) - 1.0
        down = convert(image_height, hint=dtypes.float32) - 1.0
        cos, sin, nothing = gen_ops.cos(angles), gen_ops.sin(angles), zeros_like(angles)
        # The middle stays where it is.
        right = (across - (cos * across - sin * down)) / 2.0
        below = (down - (sin * across + cos * down)) / 2.0
        return stack([cos, -sin, right, sin, cos, below, nothing, nothing], axis=1)


def translations_to_projective_transforms(translations, name=None):
    """Transforms that move images: [batch, 8] of float32.

    Args:
      translations: [dx, dy] in pixels, or [batch, 2].
      name: a name for the nodes.

    Raises:
      TypeError: for another rank.
    """
    with name_scope(name, "translations_to_projective_transforms"):
        translations = convert(translations, name="translations", hint=dtypes.float32)
        if translations.shape.ndims not in (1, 2):
            raise TypeError(
                f"Translations should have rank 1 or 2, not {translations.shape.ndims}."
            )
        right, below = gen_ops.unpack(reshape(translations, [-1, 2]), num=2, axis=1)
        nothing, one = zeros_like(right), ones_like(right)
        return stack([one, nothing, -right, nothing, one, -below, nothing, nothing], axis=1)


def compose_transforms(*transforms):
    """The transform that is several one after the other: [batch, 8].

    Args:
      transforms: of shape [8] or [batch, 8] each, of float32; the first is the innermost of what is looked up.

    Raises:
      ValueError: for none, and for other ranks.
    """
    if not transforms:
        raise ValueError("compose_transforms: transforms cannot be empty")
    with name_scope(None, "compose_transforms"):
        made = flat_transforms_to_matrices(transforms[0])
        for each in transforms[1:]:
            made = matmul(made, flat_transforms_to_matrices(each))
        return matrices_to_flat_transforms(made)


def flat_transforms_to_matrices(transforms):
    """Transforms as matrices [batch, 3, 3] with a 1 at their end.

    Args:
      transforms: [8] or [batch, 8].

    Raises:
      ValueError: for another rank.
    """
    with name_scope(None, "flat_transforms_to_matrices"):
        transforms = convert(transforms, name="transforms", hint=dtypes.float32)
        if transforms.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {transforms}")
        flat = reshape(transforms, [-1, 8])
        last = ones(concat([shape(flat)[:1], [1]], 0), flat.dtype)
        return reshape(concat([flat, last], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices):
    """Matrices as transforms [batch, 8], divided by their last element.

    Args:
      transform_matrices: [3, 3] or [batch, 3, 3].

    Raises:
      ValueError: for another rank.
    """
    with name_scope(None, "matrices_to_flat_transforms"):
        matrices = convert(transform_matrices, name="matrices", hint=dtypes.float32)
        if matrices.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        flat = reshape(matrices, [-1, 9])
        return (flat / flat[:, 8:9])[:, :8]
