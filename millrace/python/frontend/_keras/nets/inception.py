"""Inception, whose blocks look at windows of several sizes (arXiv 1512.00567), and with ways past them
(arXiv 1602.07261)."""

from millrace._keras.convolutions import AveragePooling2D, MaxPooling2D
from millrace._keras.layer import Layer
from millrace._keras.merging import Concatenate
from millrace._keras.nets.parts import (
    Settings,
    act,
    begin,
    channel_axis,
    classified,
    conv,
    finished,
    norm,
)
from millrace._values.tensor_shape import TensorShape

_STORE = "https://storage.googleapis.com/tensorflow/keras-applications/"


def _unit(x, filters, size, strides=1, padding="same", name=None):
    """A convolution, normed and cut off below 0."""
    x = conv(x, filters, size, strides, padding, name)
    x = norm(x, None if name is None else f"{name}_bn", scale=False)
    return act(x, None if name is None else f"{name}_ac")


def _chain(x, *units):
    """One unit after the other: (filters, size) each, and strides and padding if they are not 1 and "same"."""
    for unit in units:
        x = _unit(x, *unit)
    return x


def _joined(branches, name=None):
    return Concatenate(axis=channel_axis(), name=name)(branches)


def _averaged(x, filters):
    return _unit(AveragePooling2D(3, strides=1, padding="same")(x), filters, 1)


def _halved(x):
    return MaxPooling2D(3, strides=2)(x)


_SMALLER = (3, 2, "valid")  # size, strides and padding of what halves a picture


def _stem(x):
    """What both nets begin with."""
    x = _chain(x, (32, *_SMALLER), (32, 3, 1, "valid"), (64, 3))
    x = _chain(_halved(x), (80, 1, 1, "valid"), (192, 3, 1, "valid"))
    return _halved(x)


def InceptionV3(*args, **kwargs):
    """A net of 11 blocks, for pictures of 299 x 299. Arguments: see parts.Settings."""
    settings = Settings(*args, **kwargs)
    inputs = begin(settings, 299, 75)
    x = _stem(inputs)
    for number, filters in enumerate((32, 64, 64)):
        branches = [
            _unit(x, 64, 1),
            _chain(x, (48, 1), (64, 5)),
            _chain(x, (64, 1), (96, 3), (96, 3)),
            _averaged(x, filters),
        ]
        x = _joined(branches, f"mixed{number}")
    branches = [_unit(x, 384, *_SMALLER), _chain(x, (64, 1), (96, 3), (96, *_SMALLER)), _halved(x)]
    x = _joined(branches, "mixed3")
    for number, inner in enumerate((128, 160, 160, 192), 4):
        flat, high = (inner, (1, 7)), (inner, (7, 1))
        branches = [
            _unit(x, 192, 1),
            _chain(x, (inner, 1), flat, (192, (7, 1))),
            _chain(x, (inner, 1), high, flat, high, (192, (1, 7))),
            _averaged(x, 192),
        ]
        x = _joined(branches, f"mixed{number}")
    branches = [
        _chain(x, (192, 1), (320, *_SMALLER)),
        _chain(x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, *_SMALLER)),
        _halved(x),
    ]
    x = _joined(branches, "mixed8")
    for number in range(2):
        one = _unit(x, 320, 1)
        three = _unit(x, 384, 1)
        three = _joined([_unit(three, 384, (1, 3)), _unit(three, 384, (3, 1))], f"mixed9_{number}")
        twice = _chain(x, (448, 1), (384, 3))
        twice = _joined([_unit(twice, 384, (1, 3)), _unit(twice, 384, (3, 1))])
        x = _joined([one, three, twice, _averaged(x, 192)], f"mixed{9 + number}")
    x = classified(x, settings)
    base = f"{_STORE}inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels"
    files = (
        (f"{base}.h5", "9a0d58056eeedaa3f26cb7ebd46da564"),
        (f"{base}_notop.h5", "bcbd6486424b2319ff4ef7d526e38f63"),
    )
    return finished("inception_v3", settings, inputs, x, files)


class ScaledSum(Layer):
    """The first of two inputs, and `scale` of the second."""

    def __init__(self, scale, **kwargs):
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, inputs):
        return inputs[0] + inputs[1] * self.scale

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape[0])


_BRANCHES = {
    "block35": [((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))],
    "block17": [((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1)))],
    "block8": [((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))],
}


def _block(x, kind, number, scale, cuts=True):
    """Several chains beside a way past them."""
    name = f"{kind}_{number}"
    made = _joined([_chain(x, *units) for units in _BRANCHES[kind]], f"{name}_mixed")
    channels = x.shape.as_list()[channel_axis()]
    made = conv(made, channels, 1, name=f"{name}_conv", use_bias=True)
    x = ScaledSum(scale, name=name)([x, made])
    return act(x, f"{name}_ac") if cuts else x


def InceptionResNetV2(*args, **kwargs):
    """Inception with 40 blocks that have ways past them, for pictures of 299 x 299. Arguments: see parts.Settings."""
    settings = Settings(*args, **kwargs)
    inputs = begin(settings, 299, 75)
    x = _stem(inputs)
    branches = [
        _unit(x, 96, 1),
        _chain(x, (48, 1), (64, 5)),
        _chain(x, (64, 1), (96, 3), (96, 3)),
        _averaged(x, 64),
    ]
    x = _joined(branches, "mixed_5b")
    for number in range(1, 11):
        x = _block(x, "block35", number, 0.17)
    branches = [
        _unit(x, 384, *_SMALLER),
        _chain(x, (256, 1), (256, 3), (384, *_SMALLER)),
        _halved(x),
    ]
    x = _joined(branches, "mixed_6a")
    for number in range(1, 21):
        x = _block(x, "block17", number, 0.1)
    branches = [
        _chain(x, (256, 1), (384, *_SMALLER)),
        _chain(x, (256, 1), (288, *_SMALLER)),
        _chain(x, (256, 1), (288, 3), (320, *_SMALLER)),
        _halved(x),
    ]
    x = _joined(branches, "mixed_7a")
    for number in range(1, 10):
        x = _block(x, "block8", number, 0.2)
    x = _block(x, "block8", 10, 1.0, cuts=False)
    x = classified(_unit(x, 1536, 1, name="conv_7b"), settings)
    base = f"{_STORE}inception_resnet_v2/inception_resnet_v2_weights_tf_dim_ordering_tf_kernels"
    files = (
        (f"{base}.h5", "e693bd0210a403b3192acc6073ad2e96"),
        (f"{base}_notop.h5", "d19885ff4a710c122648d3b5c3b684e4"),
    )
    return finished("inception_resnet_v2", settings, inputs, x, files)
