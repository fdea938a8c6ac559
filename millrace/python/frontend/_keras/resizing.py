"""Keras's layers that repeat, pad and crop lines, images and volumes."""

from millrace._keras.backend_images import resize_images
from millrace._keras.layer import Layer
from millrace._keras.settings import format_or_default
from millrace._layers.convolutions import format_of, sizes_of
from millrace._layers.input_spec import InputSpec
from millrace._ops.arrays import pad
from millrace._ops.broadcasting import repeat
from millrace._values.tensor_shape import TensorShape


class _OfSpace(Layer):
    """The base: layers that change the axes of space, of which there are `rank`."""

    rank = 2

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = format_of(format_or_default(data_format))
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def first_axis(self):
        """The first axis of space."""
        return 2 if self.rank > 1 and self.data_format == "channels_first" else 1

    def changed_length(self, length, axis):
        """How long an axis of space is, counted from 0, that was of this length."""
        raise NotImplementedError

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        for axis in range(self.rank):
            length = sizes[self.first_axis + axis]
            if length is not None:
                sizes[self.first_axis + axis] = self.changed_length(length, axis)
        return TensorShape(sizes)


class _UpSampling(_OfSpace):
    """Each element as often as `size` says along each axis of space."""

    def __init__(self, size=2, data_format=None, **kwargs):
        super().__init__(data_format=data_format, **kwargs)
        self.size = sizes_of(size, self.rank, "size")

    def changed_length(self, length, axis):
        return length * self.size[axis]

    def call(self, inputs):
        made = inputs
        for axis, times in enumerate(self.size):
            made = repeat(made, times, axis=self.first_axis + axis)
        made.set_shape(self.compute_output_shape(inputs.shape))
        return made


class UpSampling1D(_UpSampling):
    """[batch, time, features] with each time `size` times."""

    rank = 1

    def __init__(self, size=2, **kwargs):
        super().__init__(size, **kwargs)


class UpSampling2D(_UpSampling):
    """Images that are larger by whole factors.

    Args:
      size: a number, or two for height and width.
      data_format: "channels_last" or "channels_first".
      interpolation: "nearest", or "bilinear" for what lies between the middles of elements.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                '`interpolation` argument should be one of `"nearest"` or `"bilinear"`, got '
                f"{interpolation!r}"
            )
        self.interpolation = interpolation

    def call(self, inputs):
        return resize_images(inputs, *self.size, self.data_format, self.interpolation)


class UpSampling3D(_UpSampling):
    """Volumes that are larger by whole factors; see UpSampling2D, whose "nearest" it is."""

    rank = 3


def pairs_of(value, rank, name):
    """`rank` pairs (before, after) of one number, `rank` numbers or `rank` pairs.

    Raises:
      ValueError: for anything else, and for negative numbers.
    """
    given = (value,) * rank if isinstance(value, int) else value
    if rank == 1 and isinstance(given, (tuple, list)) and len(given) == 2:
        given = (given,)
    made = []
    if isinstance(given, (tuple, list)) and len(given) == rank:
        made = [(each, each) if isinstance(each, int) else each for each in given]
    are_pairs = [
        isinstance(each, (tuple, list))
        and len(each) == 2
        and all(isinstance(size, int) and size >= 0 for size in each)
        for each in made
    ]
    if not are_pairs or not all(are_pairs):
        raise ValueError(
            f"`{name}` should be a number, {rank} numbers or {rank} pairs of numbers from 0 on. "
            f"Found: {value}"
        )
    return tuple(tuple(each) for each in made)


class _ZeroPadding(_OfSpace):
    """Zeros around each axis of space."""

    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(data_format=data_format, **kwargs)
        self.padding = pairs_of(padding, self.rank, "padding")

    def changed_length(self, length, axis):
        return length + sum(self.padding[axis])

    def call(self, inputs):
        around = [(0, 0)] * (self.rank + 2)
        around[self.first_axis : self.first_axis + self.rank] = self.padding
        return pad(inputs, around)


class ZeroPadding1D(_ZeroPadding):
    """[batch, time, features] with zeros before and after; `padding`: a number or a pair."""

    rank = 1

    def __init__(self, padding=1, **kwargs):
        super().__init__(padding, **kwargs)


class ZeroPadding2D(_ZeroPadding):
    """Images with zeros around.

    Args:
      padding: a number, two for height and width, or ((top, bottom), (left, right)).
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: if an argument is none of these.
    """


class ZeroPadding3D(_ZeroPadding):
    """Volumes with zeros around; see ZeroPadding2D, with three axes for two."""

    rank = 3


class _Cropping(_OfSpace):
    """What is left of each axis of space."""

    def __init__(self, cropping=0, data_format=None, **kwargs):
        super().__init__(data_format=data_format, **kwargs)
        self.cropping = pairs_of(cropping, self.rank, "cropping")

    def changed_length(self, length, axis):
        if length < sum(self.cropping[axis]):
            raise ValueError(
                f"Layer {self.name} crops {self.cropping[axis]} of an axis of length {length}"
            )
        return length - sum(self.cropping[axis])

    def call(self, inputs):
        known = self.compute_output_shape(inputs.shape)
        kept = [slice(None)] * (self.rank + 2)
        for axis, (before, after) in enumerate(self.cropping):
            kept[self.first_axis + axis] = slice(before, -after if after else None)
        made = inputs[tuple(kept)]
        made.set_shape(known)
        return made


class Cropping1D(_Cropping):
    """[batch, time, features] without the first and last; `cropping`: a number or a pair."""

    rank = 1

    def __init__(self, cropping=(1, 1), **kwargs):
        super().__init__(cropping, **kwargs)


class Cropping2D(_Cropping):
    """Images without what is at their borders.

    Args:
      cropping: a number, two for height and width, or ((top, bottom), (left, right)).
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: if an argument is none of these, or when called, if more is cropped than is there.
    """


class Cropping3D(_Cropping):
    """Volumes without what is at their borders; see Cropping2D, with three axes for two."""

    rank = 3

    def __init__(self, cropping=1, data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)
