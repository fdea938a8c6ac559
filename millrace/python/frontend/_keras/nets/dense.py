"""Nets in which each block sees all before it (arXiv 1608.06993)."""

from millrace._keras.convolutions import AveragePooling2D, MaxPooling2D
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
from millrace._keras.resizing import ZeroPadding2D

_STORE = "https://storage.googleapis.com/tensorflow/keras-applications/densenet/"
_HASHES = {
    121: ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
    169: ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
    201: ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
}
_EPSILON = 1.001e-5


def _norm(x, name):
    return norm(x, name, epsilon=_EPSILON)


def _block(x, growth, name):
    """x, and behind its channels `growth` more."""
    made = act(_norm(x, f"{name}_0_bn"), f"{name}_0_relu")
    made = conv(made, 4 * growth, 1, name=f"{name}_1_conv")
    made = act(_norm(made, f"{name}_1_bn"), f"{name}_1_relu")
    made = conv(made, growth, 3, name=f"{name}_2_conv")
    return Concatenate(axis=channel_axis(), name=f"{name}_concat")([x, made])


def _smaller(x, name):
    """Half of the channels, half of height and width."""
    x = act(_norm(x, f"{name}_bn"), f"{name}_relu")
    channels = x.shape.as_list()[channel_axis()]
    x = conv(x, channels // 2, 1, name=f"{name}_conv")
    return AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _dense(depth, counts, settings):
    inputs = begin(settings, 224, 32)
    x = ZeroPadding2D(((3, 3), (3, 3)))(inputs)
    x = conv(x, 64, 7, 2, "valid", "conv1/conv")
    x = act(_norm(x, "conv1/bn"), "conv1/relu")
    x = ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = MaxPooling2D(3, strides=2, name="pool1")(x)
    for number, count in enumerate(counts, 2):
        for block in range(1, count + 1):
            x = _block(x, 32, f"conv{number}_block{block}")
        if number < 5:
            x = _smaller(x, f"pool{number}")
    x = act(_norm(x, "bn"), "relu")
    x = classified(x, settings, name="fc1000")
    base = f"{_STORE}densenet{depth}_weights_tf_dim_ordering_tf_kernels"
    with_top, without = _HASHES[depth]
    files = ((f"{base}.h5", with_top), (f"{base}_notop.h5", without))
    return finished(f"densenet{depth}", settings, inputs, x, files)


def DenseNet121(*args, **kwargs):
    """A dense net of 121 layers, for pictures of 224 x 224. Arguments: see parts.Settings."""
    return _dense(121, (6, 12, 24, 16), Settings(*args, **kwargs))


def DenseNet169(*args, **kwargs):
    """DenseNet121 with 169 layers."""
    return _dense(169, (6, 12, 32, 32), Settings(*args, **kwargs))


def DenseNet201(*args, **kwargs):
    """DenseNet121 with 201 layers."""
    return _dense(201, (6, 12, 48, 32), Settings(*args, **kwargs))
