"""Pictures as arrays, and the other way: with Pillow where it is installed, else with the runtime's decoders."""

import os
from importlib import import_module

import numpy as np

from millrace import _gen as gen_ops
from millrace._files import paths
from millrace._graph.graph import Graph
from millrace._ops.arrays import squeeze
from millrace._ops.images import decode_image, resize_images
from millrace._run.session import Session

_CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
# Of Pillow, and the numbers that resize_images has for them.
_METHODS = {"nearest": ("NEAREST", 1), "bilinear": ("BILINEAR", 0), "bicubic": ("BICUBIC", 2)}
# Pillow's alone.
_MORE_METHODS = {"hamming": "HAMMING", "box": "BOX", "lanczos": "LANCZOS"}
# What counts as a picture in a folder; TIFF and PPM need Pillow.
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff")


class Picture:
    """A picture where Pillow is not installed: np.asarray gives its pixels.

    Attributes:
      size: (width, height); mode: "L", "RGB" or "RGBA".
    """

    def __init__(self, pixels):
        self._pixels = pixels
        self.size = (pixels.shape[1], pixels.shape[0])
        self.mode = _MODES[pixels.shape[2]]

    def __array__(self, dtype=None, copy=None):
        pixels = self._pixels[:, :, 0] if self.mode == "L" else self._pixels
        return np.array(pixels, dtype)


def _pillow():
    """The module PIL.Image, or None."""
    try:
        return import_module("PIL.Image")
    except ImportError:
        return None


def _run(make):
    with Graph().as_default():
        made = make()
        with Session() as session:
            return session.run(made)


def _format(data_format):
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}")
    return data_format == "channels_first"


def array_to_img(x, data_format="channels_last", scale=True, dtype="float32"):
    """An array as a picture: Pillow's, or a Picture where it is not installed.

    Args:
      x: numbers of shape [height, width, channels], or with the channels first.
      data_format: where they are; scale: whether the numbers become such from 0 to 255, the least one 0 and
        the largest one 255; dtype: the type that it is done in.

    Raises:
      ValueError: if it has not three axes, or another number of channels than 1, 3 or 4.
    """
    x = np.asarray(x, dtype)
    if x.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}"
        )
    if _format(data_format):
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        most = x.max()
        x = x / most * 255 if most else x
    if x.shape[2] not in _MODES:
        raise ValueError(f"Unsupported channel number: {x.shape[2]}")
    pixels = x.astype("uint8")
    pillow = _pillow()
    if pillow is None:
        return Picture(pixels)
    is_grey = pixels.shape[2] == 1
    return pillow.fromarray(pixels[:, :, 0] if is_grey else pixels, _MODES[pixels.shape[2]])


def img_to_array(img, data_format="channels_last", dtype="float32"):
    """A picture as an array [height, width, channels], or with the channels first.

    Raises:
      ValueError: if it has neither two nor three axes, or for an unknown data_format.
    """
    is_first = _format(data_format)
    x = np.asarray(img, dtype)
    if x.ndim == 2:
        x = x[:, :, None]
    if x.ndim != 3:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x.transpose(2, 0, 1) if is_first else x


def _check_reading(color_mode, target_size, interpolation):
    if color_mode not in _CHANNELS:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    if target_size is not None and interpolation not in {**_METHODS, **_MORE_METHODS}:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are "
            f"{', '.join([*_METHODS, *_MORE_METHODS])}"
        )


def load_img(path, grayscale=False, color_mode="rgb", target_size=None, interpolation="nearest"):
    """The picture in a file.

    Args:
      path: of a PNG, JPEG, BMP or GIF; Pillow knows more.
      grayscale: the older name of color_mode="grayscale".
      color_mode: "grayscale", "rgb" or "rgba".
      target_size: (height, width) that it becomes; None to leave it.
      interpolation: how: "nearest", "bilinear" or "bicubic"; with Pillow also "hamming", "box" and "lanczos".

    Returns:
      Pillow's picture; a Picture where it is not installed.

    Raises:
      ValueError: for other modes and methods; ImportError: for a method that needs Pillow; OSError, OpError: if
        the file cannot be read.
    """
    color_mode = "grayscale" if grayscale else color_mode
    _check_reading(color_mode, target_size, interpolation)
    channels = _CHANNELS[color_mode]
    pillow = _pillow()
    if pillow is None:
        return Picture(_decoded(path, channels, target_size, interpolation))
    with paths.open_file(os.fspath(path), "rb") as file:
        picture = pillow.open(file).convert(_MODES[channels])
    if target_size is not None and picture.size != (target_size[1], target_size[0]):
        method = {**{name: each for name, (each, _) in _METHODS.items()}, **_MORE_METHODS}[
            interpolation
        ]
        return picture.resize((target_size[1], target_size[0]), getattr(pillow, method))
    return picture


def _decoded(path, channels, target_size, interpolation):
    """Pixels, uint8 [height, width, channels]."""
    if target_size is not None and interpolation not in _METHODS:
        raise ImportError(f"interpolation {interpolation!r} needs Pillow: install it")
    with paths.open_file(os.fspath(path), "rb") as file:
        data = file.read()

    def make():
        made = decode_image(data, channels=channels, expand_animations=False)
        if target_size is None:
            return made
        made = gen_ops.expand_dims(made, 0)
        made.set_shape([1, None, None, channels])
        made = resize_images(made, target_size, method=_METHODS[interpolation][1])
        return squeeze(made, [0])

    return np.clip(np.rint(_run(make)), 0, 255).astype("uint8")


def save_img(path, x, data_format="channels_last", file_format=None, scale=True):
    """Writes an array as a picture.

    Args:
      path: the file; x, data_format, scale: as for array_to_img.
      file_format: "png", "jpeg", ...; what the path ends with if None. PNG and JPEG need no Pillow.

    Raises:
      ImportError: for another format without Pillow.
    """
    picture = array_to_img(x, data_format, scale)
    kind = (file_format or os.path.splitext(os.fspath(path))[1].lstrip(".")).lower()
    kind = "jpeg" if kind == "jpg" else kind
    if kind == "jpeg" and picture.mode == "RGBA":
        picture = array_to_img(img_to_array(picture)[:, :, :3], scale=False)
    if not isinstance(picture, Picture):
        picture.save(path, format=kind)
        return
    if kind not in ("png", "jpeg"):
        raise ImportError(f"pictures of format {kind!r} need Pillow: install it, or write a PNG")
    pixels = img_to_array(picture, dtype="uint8")
    encode = gen_ops.encode_png if kind == "png" else gen_ops.encode_jpeg
    paths.write_whole(os.fspath(path), _run(lambda: encode(pixels)))
