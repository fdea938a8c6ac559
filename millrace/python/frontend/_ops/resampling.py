"""Images read at places between their pixels, which gradients move."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast, equal
from millrace._ops.arrays import expand_dims, gather, identity, reshape, where, zeros_like
from millrace._values import dtypes
from millrace._values.errors import InvalidArgumentError, UnimplementedError


def resampler(data, warp, name="resampler"):
    """Values of images at any places, each mixed from the four pixels around it.

    Args:
      data: images: a half, float32 or float64 Tensor of shape [batch, height, width, channels].
      warp: places (x, y) in columns and rows from 0 on, of the same type and of shape [batch, ..., 2].
      name: the name scope.

    Returns:
      a Tensor of the type of data and of shape [batch, ..., channels]. Around images there are zeros: what is a pixel
      or more outside is 0, and so is what is at no number. Gradients go to data and to warp.

    Raises:
      TypeError: for other types. errors.UnimplementedError: if data are no images or places are no pairs;
      errors.InvalidArgumentError: if there are more or fewer images than there are for places. Both are raised at once
      where shapes are known; where they are not, the number of images is compared when it runs.
    """
    with name_scope(name, "resampler", [data, warp]):
        data, warp = convert(data, name="data"), convert(warp, name="warp")
        _check_shapes(data.shape, warp.shape)
        if data.dtype.base_dtype != warp.dtype.base_dtype or not data.dtype.is_floating:
            raise TypeError(
                "data and warp must be of one floating type, got "
                f"{data.dtype.name} and {warp.dtype.name}"
            )
        batch, height, width, channels = gen_ops.unpack(gen_ops.shape(data), num=4)
        lead = gen_ops.shape(warp)[:-1]
        with control_dependencies([_same_number(batch, lead[0], data.shape, warp.shape)]):
            places = reshape(identity(warp), gen_ops.pack([batch, -1, 2]))
        image = cast(gen_ops.range(0, batch, 1), dtypes.int32)
        images = reshape(expand_dims(image, 1) + zeros_like(places[..., 0], dtypes.int32), [-1])
        mixed = _mixed(
            reshape(data, gen_ops.pack([-1, channels])),
            images,
            *(reshape(places[..., axis], [-1]) for axis in (0, 1)),
            (width, height),
        )
        made = reshape(mixed, gen_ops.concat_v2([lead, gen_ops.pack([channels])], 0))
        if warp.shape.ndims is not None:
            made.set_shape(warp.shape[:-1].concatenate(data.shape[-1:]))
        return made


def _check_shapes(data, warp):
    """Refuses what is known to be wrong."""
    if data.ndims not in (None, 4):
        raise UnimplementedError(
            None,
            None,
            "Only bilinear interpolation is currently supported. The input data shape must be [batch_size, "
            f"data_height, data_width, data_num_channels], but is: {data}",
        )
    if warp.ndims is not None and (warp.ndims < 2 or warp.as_list()[-1] not in (None, 2)):
        raise UnimplementedError(
            None,
            None,
            "Only bilinear interpolation is supported, warping coordinates must be 2D; warp shape last entry should "
            f"be 2, but shape is: {warp}",
        )
    if None not in (data.ndims, warp.ndims):
        images, places = data.as_list()[0], warp.as_list()[0]
        if None not in (images, places) and images != places:
            raise InvalidArgumentError(None, None, _numbers_differ(data, warp))


def _numbers_differ(data, warp):
    return (
        "Batch size of data and warp tensor must be the same, but input shapes are: "
        f"{data}, {warp}"
    )


def _same_number(images, places, data, warp):
    """An Operation that fails unless there are as many images as there are for places."""
    return gen_ops.assert_(equal(images, places), [_numbers_differ(data, warp), images, places])


def _mixed(pixels, image, x, y, sizes):
    """Values at places: [number of places, channels].

    Args:
      pixels: of all images, of shape [images * height * width, channels].
      image, x, y: for each place the number of the image and where in it: vectors.
      sizes: (width, height), int32 scalars.
    """
    nowhere = zeros_like(x)
    is_near = gen_ops.logical_and(_is_near(x, sizes[0]), _is_near(y, sizes[1]))
    # Far places are read at the first pixel: no number of a pixel comes of an infinity.
    x, y = where(is_near, x, nowhere), where(is_near, y, nowhere)
    left, top = gen_ops.floor(x), gen_ops.floor(y)
    of_left, of_top = left + 1 - x, top + 1 - y
    columns = [(cast(left, dtypes.int32), of_left), (cast(left, dtypes.int32) + 1, 1 - of_left)]
    rows = [(cast(top, dtypes.int32), of_top), (cast(top, dtypes.int32) + 1, 1 - of_top)]
    parts = [
        _pixels_at(pixels, image, column, row, sizes) * expand_dims(of_column * of_row, 1)
        for column, of_column in columns
        for row, of_row in rows
    ]
    mixed = gen_ops.add_n(parts)
    return where(is_near, mixed, zeros_like(mixed))


def _is_near(x, size):
    """Whether a pixel of an axis has a part in a place."""
    kind = x.dtype.base_dtype
    return gen_ops.logical_and(x > constant(-1, kind), x < cast(size, kind))


def _pixels_at(pixels, image, column, row, sizes):
    """Pixels by their places; zeros outside."""
    width, height = sizes
    inside = gen_ops.logical_and(
        gen_ops.logical_and(column >= 0, column < width),
        gen_ops.logical_and(row >= 0, row < height),
    )
    number = (image * height + row) * width + column
    found = gather(pixels, where(inside, number, zeros_like(number)))
    return where(inside, found, zeros_like(found))
