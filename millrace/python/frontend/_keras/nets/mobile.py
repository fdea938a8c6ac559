"""Small nets of depthwise convolutions (arXiv 1704.04861 and 1801.04381)."""

from millrace._keras.convolutions import DepthwiseConv2D, GlobalAveragePooling2D
from millrace._keras.layers import Dropout, ReLU, Reshape
from millrace._keras.merging import Add
from millrace._keras.nets.parts import (
    Settings,
    act,
    begin,
    channel_axis,
    classified,
    conv,
    finished,
    norm,
    padding_before,
    pooled,
    sizes_of,
)
from millrace._keras.resizing import ZeroPadding2D

_STORE = "https://storage.googleapis.com/tensorflow/keras-applications/"
_SIZES = {"mobilenet": (128, 160, 192, 224), "mobilenet_v2": (96, 128, 160, 192, 224)}
_ALPHAS = {"mobilenet": (0.25, 0.5, 0.75, 1.0), "mobilenet_v2": (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)}


def _own_size(name, input_shape):
    """The size of the pictures that the weights are for: the input's, if there are some for it."""
    if input_shape is None:
        return 224
    space = tuple(input_shape)[1:] if channel_axis() == 1 else tuple(input_shape)[:2]
    return space[0] if space[0] == space[1] and space[0] in _SIZES[name] else 224


def _check_weights(name, settings, alpha):
    if settings.weights == "imagenet" and alpha not in _ALPHAS[name]:
        raise ValueError(
            f"If imagenet weights are being loaded, alpha can be one of {_ALPHAS[name]}, not {alpha}"
        )


def _relu6(x, name):
    return ReLU(6.0, name=name)(x)


def _depthwise_block(x, filters, stride, depth_multiplier, number):
    if stride > 1:
        x = ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    x = DepthwiseConv2D(
        3,
        strides=stride,
        padding="same" if stride == 1 else "valid",
        depth_multiplier=depth_multiplier,
        use_bias=False,
        name=f"conv_dw_{number}",
    )(x)
    x = _relu6(norm(x, f"conv_dw_{number}_bn"), f"conv_dw_{number}_relu")
    x = norm(conv(x, filters, 1, name=f"conv_pw_{number}"), f"conv_pw_{number}_bn")
    return _relu6(x, f"conv_pw_{number}_relu")


def MobileNet(
    input_shape=None,
    alpha=1.0,
    depth_multiplier=1,
    dropout=1e-3,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
):
    """A net of 13 pairs of a depthwise convolution and one of single pixels, for pictures of 224 x 224.

    Args:
      alpha: a factor of all numbers of filters; depth_multiplier: outputs of each channel of depthwise ones.
      dropout: the share that is dropped before the classes; others: see parts.Settings.

    Raises:
      ValueError: as parts.begin, and for an alpha or depth_multiplier that there are no weights for.
    """
    settings = Settings(include_top, weights, input_tensor, input_shape, pooling, classes)
    _check_weights("mobilenet", settings, alpha)
    if weights == "imagenet" and depth_multiplier != 1:
        raise ValueError(
            f"If imagenet weights are being loaded, depth multiplier must be 1, not {depth_multiplier}"
        )
    size = _own_size("mobilenet", input_shape)
    inputs = begin(settings, size, 32)
    x = ZeroPadding2D(((0, 1), (0, 1)), name="conv1_pad")(inputs)
    x = conv(x, int(32 * alpha), 3, 2, "valid", "conv1")
    x = _relu6(norm(x, "conv1_bn"), "conv1_relu")
    widths = (64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)
    for number, filters in enumerate(widths, 1):
        stride = 2 if number in (2, 4, 6, 12) else 1
        x = _depthwise_block(x, int(filters * alpha), stride, depth_multiplier, number)
    if include_top:
        x = GlobalAveragePooling2D()(x)
        channels = int(1024 * alpha)
        shape = (channels, 1, 1) if channel_axis() == 1 else (1, 1, channels)
        x = Reshape(shape, name="reshape_1")(x)
        x = Dropout(dropout, name="dropout")(x)
        x = conv(x, classes, 1, name="conv_preds", use_bias=True)
        x = act(Reshape((classes,), name="reshape_2")(x), "act_softmax", "softmax")
    else:
        x = pooled(x, pooling)
    share = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0"}.get(alpha, "2_5")
    base = f"{_STORE}mobilenet/mobilenet_{share}_{size}_tf"
    files = ((f"{base}.h5", None), (f"{base}_no_top.h5", None))
    return finished(f"mobilenet_{alpha:0.2f}_{size}", settings, inputs, x, files)


def _in_eights(number):
    """The nearest multiple of 8 that is not less than nine tenths of a number."""
    made = max(8, int(number + 4) // 8 * 8)
    return made + 8 if made < 0.9 * number else made


def _norm(x, name):
    return norm(x, name, epsilon=1e-3, momentum=0.999)


def _turned_block(x, filters, stride, expansion, number):
    """A wide middle between two thin ends, beside a way past it."""
    before, channels = x, x.shape.as_list()[channel_axis()]
    prefix = f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = _norm(conv(x, expansion * channels, 1, name=f"{prefix}expand"), f"{prefix}expand_BN")
        x = _relu6(x, f"{prefix}expand_relu")
    if stride == 2:
        x = ZeroPadding2D(padding_before(x, 3), name=f"{prefix}pad")(x)
    x = DepthwiseConv2D(
        3,
        strides=stride,
        padding="same" if stride == 1 else "valid",
        use_bias=False,
        name=f"{prefix}depthwise",
    )(x)
    x = _relu6(_norm(x, f"{prefix}depthwise_BN"), f"{prefix}depthwise_relu")
    x = _norm(conv(x, filters, 1, name=f"{prefix}project"), f"{prefix}project_BN")
    if channels == filters and stride == 1:
        return Add(name=f"{prefix}add")([before, x])
    return x


def MobileNetV2(
    input_shape=None,
    alpha=1.0,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
):
    """A net of 17 blocks with thin ends and ways past them, for pictures of 224 x 224.

    Args:
      alpha: a factor of all numbers of filters; others: see parts.Settings.

    Raises:
      ValueError: as parts.begin, and for an alpha that there are no weights for.
    """
    settings = Settings(include_top, weights, input_tensor, input_shape, pooling, classes)
    _check_weights("mobilenet_v2", settings, alpha)
    size = _own_size("mobilenet_v2", input_shape)
    inputs = begin(settings, size, 32)
    x = ZeroPadding2D(padding_before(inputs, 3), name="Conv1_pad")(inputs)
    x = conv(x, _in_eights(32 * alpha), 3, 2, "valid", "Conv1")
    x = _relu6(_norm(x, "bn_Conv1"), "Conv1_relu")
    stages = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
    number = 0
    for filters, count, first_stride in stages:
        for at in range(count):
            stride, expansion = (1 if at else first_stride), (6 if number else 1)
            x = _turned_block(x, _in_eights(int(filters * alpha)), stride, expansion, number)
            number += 1
    x = conv(x, _in_eights(1280 * alpha) if alpha > 1.0 else 1280, 1, name="Conv_1")
    x = _relu6(_norm(x, "Conv_1_bn"), "out_relu")
    x = classified(x, settings, None, "Logits")
    base = f"{_STORE}mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{size}"
    files = ((f"{base}.h5", None), (f"{base}_no_top.h5", None))
    return finished(f"mobilenetv2_{alpha:0.2f}_{sizes_of(inputs)[0]}", settings, inputs, x, files)
