"""Xception: separable convolutions with ways past them (arXiv 1610.02357)."""

from millrace._keras.convolutions import MaxPooling2D, SeparableConv2D
from millrace._keras.merging import add
from millrace._keras.nets.parts import Settings, act, begin, classified, conv, finished, norm

_BASE = (
    "https://storage.googleapis.com/tensorflow/keras-applications/xception/"
    "xception_weights_tf_dim_ordering_tf_kernels"
)
_FILES = (
    (f"{_BASE}.h5", "0a58e3b7378bc2990ea3b43d5981f1f6"),
    (f"{_BASE}_notop.h5", "b0042744bf5b25fce3cb969f33bebb97"),
)


def _separable(x, filters, name):
    made = SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return norm(made, f"{name}_bn")


def _smaller(x, number, first, second):
    """Two separable convolutions, then half of height and width, beside a way past."""
    past = norm(conv(x, second, 1, 2))
    name = f"block{number}_sepconv"
    x = x if number == 2 else act(x, f"{name}1_act")
    x = act(_separable(x, first, f"{name}1"), f"{name}2_act")
    x = _separable(x, second, f"{name}2")
    x = MaxPooling2D(3, strides=2, padding="same", name=f"block{number}_pool")(x)
    return add([x, past])


def Xception(*args, **kwargs):
    """A net of 36 convolutions, most of them separable, for pictures of 299 x 299. Arguments: see parts.Settings."""
    settings = Settings(*args, **kwargs)
    inputs = begin(settings, 299, 71)
    x = conv(inputs, 32, 3, 2, "valid", "block1_conv1")
    x = act(norm(x, "block1_conv1_bn"), "block1_conv1_act")
    x = conv(x, 64, 3, 1, "valid", "block1_conv2")
    x = act(norm(x, "block1_conv2_bn"), "block1_conv2_act")
    for number, filters in ((2, 128), (3, 256), (4, 728)):
        x = _smaller(x, number, filters, filters)
    for number in range(5, 13):
        past = x
        for part in (1, 2, 3):
            name = f"block{number}_sepconv{part}"
            x = _separable(act(x, f"{name}_act"), 728, name)
        x = add([x, past])
    x = _smaller(x, 13, 728, 1024)
    for part, filters in ((1, 1536), (2, 2048)):
        name = f"block14_sepconv{part}"
        x = act(_separable(x, filters, name), f"{name}_act")
    x = classified(x, settings)
    return finished("xception", settings, inputs, x, _FILES)
