"""Pictures turned, moved, sheared, zoomed and coloured anew, as arrays; by chance, which is np.random's.

Axes of a picture are those of rows, columns and channels, 1, 2 and 0 unless told otherwise.
"""

import numpy as np

from millrace._samples.pictures import array_to_img, img_to_array

_MODES = ("nearest", "constant", "reflect", "wrap")


def _within(at, length, mode):
    """(places of an axis as its numbers, which of them are outside for "constant")."""
    outside = (at < 0) | (at > length - 1)
    if mode == "nearest":
        return np.clip(at, 0, length - 1), None
    if mode == "constant":
        return at, outside
    if length == 1:
        return np.zeros_like(at), None
    if mode == "wrap":
        # The first and last number count as one.
        return np.where(outside, np.mod(at, length - 1), at), None
    # "reflect": each border stands between two equal numbers.
    turned = np.mod(at + 0.5, 2 * length)
    turned = np.where(turned > length, 2 * length - turned, turned) - 0.5
    return np.clip(turned, 0, length - 1), None


def _moved(channel, matrix, offset, mode, cval, order):
    """What is at matrix * place + offset, for each place of a channel."""
    rows, columns = channel.shape
    places = np.indices(channel.shape).reshape(2, -1)
    at = matrix @ places + offset[:, None]
    row, beyond_rows = _within(at[0], rows, mode)
    column, beyond_columns = _within(at[1], columns, mode)
    if order == 0:
        near_row, near_column = (np.floor(each + 0.5).astype(int) for each in (row, column))
        made = channel[np.clip(near_row, 0, rows - 1), np.clip(near_column, 0, columns - 1)]
    else:
        low_row, low_column = np.floor(row).astype(int), np.floor(column).astype(int)
        right, below = column - low_column, row - low_row
        made = 0.0
        for step_row, share_row in ((0, 1 - below), (1, below)):
            for step_column, share_column in ((0, 1 - right), (1, right)):
                r = np.clip(low_row + step_row, 0, rows - 1)
                c = np.clip(low_column + step_column, 0, columns - 1)
                made = made + channel[r, c] * share_row * share_column
    if beyond_rows is not None:
        made = np.where(beyond_rows | beyond_columns, cval, made)
    return made.reshape(channel.shape)


def apply_affine_transform(
    x,
    theta=0,
    tx=0,
    ty=0,
    shear=0,
    zx=1,
    zy=1,
    row_axis=0,
    col_axis=1,
    channel_axis=2,
    fill_mode="nearest",
    cval=0.0,
    order=1,
):
    """A picture that is turned, moved, sheared and zoomed around its middle.

    Args:
      x: numbers of three axes.
      theta, shear: degrees; tx, ty: rows and columns; zx, zy: factors of rows and columns.
      row_axis, col_axis, channel_axis: which axis is which.
      fill_mode: what is beyond the borders: "nearest", "constant" (cval), "reflect" or "wrap".
      order: 0 for the nearest number, 1 for what lies between four.

    Raises:
      ValueError: for another fill_mode or order.
    """
    if fill_mode not in _MODES or order not in (0, 1):
        raise ValueError(
            f"fill_mode {fill_mode!r} and order {order!r}: there are {', '.join(_MODES)}, and 0 and 1"
        )
    x = np.asarray(x)
    angle, slant = np.deg2rad(theta), np.deg2rad(shear)
    matrix = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    matrix = matrix @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    matrix = matrix @ np.array([[1, -np.sin(slant), 0], [0, np.cos(slant), 0], [0, 0, 1]])
    matrix = matrix @ np.diag([zx, zy, 1.0])
    if np.array_equal(matrix, np.eye(3)):
        return x
    rows, columns = x.shape[row_axis], x.shape[col_axis]
    middle = np.array([rows / 2 - 0.5, columns / 2 - 0.5])
    turned = matrix[:2, :2]
    offset = matrix[:2, 2] + middle - turned @ middle
    channels = np.moveaxis(x, [channel_axis, row_axis, col_axis], [0, 1, 2])
    made = np.stack([_moved(each, turned, offset, fill_mode, cval, order) for each in channels])
    made = made.astype(x.dtype)
    return np.moveaxis(made, [0, 1, 2], [channel_axis, row_axis, col_axis])


def _changed(x, seen, **change):
    """apply_affine_transform by a change, with the rest of its arguments, from row_axis on, in order."""
    names = "row_axis", "col_axis", "channel_axis", "fill_mode", "cval", "order"
    return apply_affine_transform(x, **change, **dict(zip(names, seen)))


def random_rotation(
    x,
    rg,
    row_axis=1,
    col_axis=2,
    channel_axis=0,
    fill_mode="nearest",
    cval=0.0,
    interpolation_order=1,
):
    """A picture turned by up to rg degrees; others as for apply_affine_transform."""
    seen = row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    return _changed(x, seen, theta=np.random.uniform(-rg, rg))


def random_shift(
    x,
    wrg,
    hrg,
    row_axis=1,
    col_axis=2,
    channel_axis=0,
    fill_mode="nearest",
    cval=0.0,
    interpolation_order=1,
):
    """A picture moved by up to shares wrg of its width and hrg of its height; others as before."""
    seen = row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return _changed(x, seen, tx=tx, ty=ty)


def random_shear(
    x,
    intensity,
    row_axis=1,
    col_axis=2,
    channel_axis=0,
    fill_mode="nearest",
    cval=0.0,
    interpolation_order=1,
):
    """A picture sheared by up to `intensity` degrees; others as before."""
    seen = row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    return _changed(x, seen, shear=np.random.uniform(-intensity, intensity))


def random_zoom(
    x,
    zoom_range,
    row_axis=1,
    col_axis=2,
    channel_axis=0,
    fill_mode="nearest",
    cval=0.0,
    interpolation_order=1,
):
    """A picture whose rows and columns are zoomed by factors in a range (low, high); others as before.

    Raises:
      ValueError: if the range is no two numbers.
    """
    if len(zoom_range) != 2:
        raise ValueError(
            f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}"
        )
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(*zoom_range, 2)
    seen = row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    return _changed(x, seen, zx=zx, zy=zy)


def apply_channel_shift(x, intensity, channel_axis=0):
    """A picture to whose numbers one is added; they stay between its least and its largest."""
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x, intensity_range, channel_axis=0):
    """apply_channel_shift by up to intensity_range."""
    return apply_channel_shift(
        x, np.random.uniform(-intensity_range, intensity_range), channel_axis
    )


def apply_brightness_shift(x, brightness):
    """A picture [rows, columns, channels] whose brightness is multiplied, as numbers from 0 to 255."""
    pixels = img_to_array(array_to_img(x))
    if pixels.shape[2] == 4:  # how much is seen of it stays
        shone = np.concatenate([pixels[..., :3] * brightness, pixels[..., 3:]], -1)
    else:
        shone = pixels * brightness
    return np.floor(np.clip(shone, 0, 255)).astype(pixels.dtype)


def random_brightness(x, brightness_range):
    """apply_brightness_shift by a factor in a range (low, high). ValueError if it is no two numbers."""
    if len(brightness_range) != 2:
        raise ValueError(
            f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
        )
    return apply_brightness_shift(x, np.random.uniform(*brightness_range))


def flip_axis(x, axis):
    """A picture the other way round along an axis."""
    return np.flip(x, axis)
