"""What all nets have in common: how they begin and end, and where their weights come from."""

import os

from millrace._keras import calls
from millrace._keras.convolutions import Conv2D, GlobalAveragePooling2D, GlobalMaxPooling2D
from millrace._keras.inputs import Input
from millrace._keras.layers import Activation, BatchNormalization, Dense
from millrace._keras.models import Model
from millrace._keras.settings import image_data_format
from millrace._samples.downloads import get_file


class Settings:
    """What a program asks of a net.

    Args:
      include_top: whether it has the layers that make classes.
      weights: "imagenet" for those that were trained on ImageNet, which are fetched; None for random ones; or
        the path of an HDF5 file or checkpoint.
      input_tensor: a Tensor of pictures to begin with; a new input if None.
      input_shape: the shape of a picture; the net's own if None, of any size without the top.
      pooling: without the top, what becomes of the last picture: "avg", "max", or None to leave it.
      classes: how many classes there are.
    """

    def __init__(
        self,
        include_top=True,
        weights="imagenet",
        input_tensor=None,
        input_shape=None,
        pooling=None,
        classes=1000,
    ):
        self.include_top, self.weights, self.classes = include_top, weights, classes
        self.input_tensor, self.input_shape, self.pooling = input_tensor, input_shape, pooling


def channel_axis():
    """The axis of channels in a batch of pictures."""
    return 1 if image_data_format() == "channels_first" else 3


def sizes_of(x):
    """(height, width) of a batch of pictures."""
    sizes = x.shape.as_list()
    return (sizes[2], sizes[3]) if channel_axis() == 1 else (sizes[1], sizes[2])


def begin(settings, size, least):
    """The Tensor that a net begins with.

    Args:
      settings: Settings; size: how high and wide the net's own pictures are; least: how small they may be.

    Raises:
      ValueError: for weights that do not fit the classes, for others than None, "imagenet" or a file that is
        there, and for pictures that are too small, of another number of channels than the weights are for,
        or of no known size where the top needs it.
    """
    weights = settings.weights
    if weights not in (None, "imagenet") and not _is_there(weights):
        raise ValueError(
            "The `weights` argument should be either `None` (random initialization), `imagenet` "
            f"(pre-training on ImageNet), or the path to the weights file to be loaded: {weights}"
        )
    if weights == "imagenet" and settings.include_top and settings.classes != 1000:
        raise ValueError(
            'If using `weights` as `"imagenet"` with `include_top` as true, `classes` should be 1000, '
            f"not {settings.classes}"
        )
    if settings.pooling not in (None, "avg", "max"):
        raise ValueError(f"`pooling` is None, 'avg' or 'max', not {settings.pooling!r}")
    given = settings.input_tensor
    if given is not None:
        return given if calls.is_remembered(given) else Input(tensor=given)
    return Input(_shape(settings, size, least))


def _is_there(weights):
    path = os.fspath(weights)
    return os.path.exists(path) or os.path.exists(f"{path}.index")


def _shape(settings, size, least):
    is_first = channel_axis() == 1

    def shape(height, width, channels):
        return (channels, height, width) if is_first else (height, width, channels)

    given = settings.input_shape
    if given is None:
        return shape(size, size, 3) if settings.include_top else shape(None, None, 3)
    given = tuple(given)
    if len(given) != 3:
        raise ValueError(f"`input_shape` must be a tuple of three integers, not {given}")
    space, channels = (given[1:], given[0]) if is_first else (given[:2], given[2])
    if settings.weights == "imagenet" and channels != 3:
        raise ValueError(f"The weights of ImageNet are for 3 channels; input_shape is {given}")
    if settings.weights == "imagenet" and settings.include_top and space != (size, size):
        raise ValueError(
            f"With the top, the weights of ImageNet are for pictures of {shape(size, size, 3)}, not {given}"
        )
    if any(each is not None and each < least for each in space):
        raise ValueError(f"Input size must be at least {least}x{least}; got `input_shape={given}`")
    if settings.include_top and None in given:
        raise ValueError(
            f"If `include_top` is True, you should specify a static `input_shape`. Got {given}"
        )
    return given


def pooled(x, pooling):
    """What becomes of the last picture of a net without its top."""
    if pooling is None:
        return x
    return (GlobalAveragePooling2D() if pooling == "avg" else GlobalMaxPooling2D())(x)


def classified(x, settings, pool="avg_pool", name="predictions"):
    """Probabilities of classes by the mean of a picture; or `pooled` without the top."""
    if not settings.include_top:
        return pooled(x, settings.pooling)
    x = GlobalAveragePooling2D(name=pool)(x)
    return Dense(settings.classes, activation="softmax", name=name)(x)


def finished(name, settings, begin_at, x, files=(None, None)):
    """The Model, with its weights.

    Args:
      files: (URL, MD5) of the weights of ImageNet with the top, and the same without it; None where there are none.
    """
    inputs = calls.get_source_inputs(begin_at)
    model = Model(inputs[0] if len(inputs) == 1 else inputs, x, name=name)
    if settings.weights == "imagenet":
        url, digest = files[0] if settings.include_top else files[1]
        path = get_file(os.path.basename(url), url, cache_subdir="models", md5_hash=digest)
        model.load_weights(path)
    elif settings.weights is not None:
        model.load_weights(settings.weights)
    return model


def conv(x, filters, size, strides=1, padding="same", name=None, use_bias=False, **options):
    """A Conv2D of it."""
    layer = Conv2D(
        filters, size, strides=strides, padding=padding, use_bias=use_bias, name=name, **options
    )
    return layer(x)


def norm(x, name=None, **options):
    """A BatchNormalization of its channels."""
    return BatchNormalization(axis=channel_axis(), name=name, **options)(x)


def act(x, name=None, activation="relu"):
    """An Activation of it."""
    return Activation(activation, name=name)(x)


def padding_before(x, size):
    """The zeros around pictures with which strides of 2 begin where TensorFlow's "same" has them."""
    sides = []
    for length in sizes_of(x):
        less = 1 if length is None else 1 - length % 2
        sides.append((size // 2 - less, size // 2))
    return tuple(sides)
