"""Residual nets (arXiv 1512.03385), and those whose norms stand before the convolutions (arXiv 1603.05027)."""

from millrace._keras.convolutions import MaxPooling2D
from millrace._keras.merging import Add
from millrace._keras.nets.parts import Settings, act, begin, classified, conv, finished, norm
from millrace._keras.resizing import ZeroPadding2D

_STORE = "https://storage.googleapis.com/tensorflow/keras-applications/resnet/"
_COUNTS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
_HASHES = {
    "resnet50": ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    "resnet101": ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    "resnet152": ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
    "resnet50v2": ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    "resnet101v2": ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    "resnet152v2": ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
}
_EPSILON = 1.001e-5


def _conv(x, filters, size, name, **options):
    return conv(x, filters, size, name=name, use_bias=True, **options)


def _norm(x, name):
    return norm(x, name, epsilon=_EPSILON)


def _block(x, filters, name, stride=1, widens=False):
    """Three convolutions beside a way past them."""
    past = x
    if widens:
        past = _conv(x, 4 * filters, 1, f"{name}_0_conv", strides=stride)
        past = _norm(past, f"{name}_0_bn")
    x = _norm(_conv(x, filters, 1, f"{name}_1_conv", strides=stride), f"{name}_1_bn")
    x = act(x, f"{name}_1_relu")
    x = _norm(_conv(x, filters, 3, f"{name}_2_conv"), f"{name}_2_bn")
    x = act(x, f"{name}_2_relu")
    x = _norm(_conv(x, 4 * filters, 1, f"{name}_3_conv"), f"{name}_3_bn")
    return act(Add(name=f"{name}_add")([past, x]), f"{name}_out")


def _stack(x, filters, count, stride, name):
    x = _block(x, filters, f"{name}_block1", stride, widens=True)
    for number in range(2, count + 1):
        x = _block(x, filters, f"{name}_block{number}")
    return x


def _block_v2(x, filters, name, stride=1, widens=False):
    """_block with each norm before its convolution; it makes pictures smaller in its last one."""
    before = act(_norm(x, f"{name}_preact_bn"), f"{name}_preact_relu")
    if widens:
        past = _conv(before, 4 * filters, 1, f"{name}_0_conv", strides=stride)
    else:
        past = MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = conv(before, filters, 1, name=f"{name}_1_conv")
    x = act(_norm(x, f"{name}_1_bn"), f"{name}_1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)), name=f"{name}_2_pad")(x)
    x = conv(x, filters, 3, stride, "valid", f"{name}_2_conv")
    x = act(_norm(x, f"{name}_2_bn"), f"{name}_2_relu")
    x = _conv(x, 4 * filters, 1, f"{name}_3_conv")
    return Add(name=f"{name}_out")([past, x])


def _stack_v2(x, filters, count, stride, name):
    x = _block_v2(x, filters, f"{name}_block1", widens=True)
    for number in range(2, count):
        x = _block_v2(x, filters, f"{name}_block{number}")
    return _block_v2(x, filters, f"{name}_block{count}", stride)


def _residual(name, depth, is_v2, settings):
    inputs = begin(settings, 224, 32)
    x = ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(inputs)
    x = _conv(x, 64, 7, "conv1_conv", strides=2, padding="valid")
    if not is_v2:
        x = act(_norm(x, "conv1_bn"), "conv1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    x = MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    strides = (2, 2, 2, 1) if is_v2 else (1, 2, 2, 2)
    stack = _stack_v2 if is_v2 else _stack
    for number, (count, stride) in enumerate(zip(_COUNTS[depth], strides), 2):
        x = stack(x, 64 * 2 ** (number - 2), count, stride, f"conv{number}")
    if is_v2:
        x = act(_norm(x, "post_bn"), "post_relu")
    x = classified(x, settings, name="probs")
    base = f"{_STORE}{name}_weights_tf_dim_ordering_tf_kernels"
    with_top, without = _HASHES[name]
    return finished(
        name, settings, inputs, x, ((f"{base}.h5", with_top), (f"{base}_notop.h5", without))
    )


def ResNet50(*args, **kwargs):
    """A residual net of 50 layers, for pictures of 224 x 224. Arguments: see parts.Settings."""
    return _residual("resnet50", 50, False, Settings(*args, **kwargs))


def ResNet101(*args, **kwargs):
    """ResNet50 with 101 layers."""
    return _residual("resnet101", 101, False, Settings(*args, **kwargs))


def ResNet152(*args, **kwargs):
    """ResNet50 with 152 layers."""
    return _residual("resnet152", 152, False, Settings(*args, **kwargs))


def ResNet50V2(*args, **kwargs):
    """ResNet50 whose norms stand before the convolutions."""
    return _residual("resnet50v2", 50, True, Settings(*args, **kwargs))


def ResNet101V2(*args, **kwargs):
    """ResNet50V2 with 101 layers."""
    return _residual("resnet101v2", 101, True, Settings(*args, **kwargs))


def ResNet152V2(*args, **kwargs):
    """ResNet50V2 with 152 layers."""
    return _residual("resnet152v2", 152, True, Settings(*args, **kwargs))
