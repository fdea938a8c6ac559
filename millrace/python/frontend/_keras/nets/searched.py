"""NASNet: two cells that were searched for, again and again (arXiv 1707.07012)."""

from millrace._keras.convolutions import AveragePooling2D, MaxPooling2D, SeparableConv2D
from millrace._keras.merging import add, concatenate
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
    sizes_of,
)
from millrace._keras.resizing import Cropping2D, ZeroPadding2D

_STORE = "https://storage.googleapis.com/tensorflow/keras-applications/nasnet/"


def _norm(x, name):
    return norm(x, name, momentum=0.9997, epsilon=1e-3)


def _conv(x, filters, name, size=1, **options):
    return conv(x, filters, size, name=name, kernel_initializer="he_normal", **options)


def _separable(x, filters, size, name, strides=1):
    """Twice: cut off below 0, a separable convolution, a norm."""
    x = act(x)
    padding = "same"
    if strides == 2:
        x = ZeroPadding2D(padding_before(x, size), name=f"separable_conv_1_pad_{name}")(x)
        padding = "valid"
    for number in (1, 2):
        x = act(x) if number == 2 else x
        x = SeparableConv2D(
            filters,
            size,
            strides=strides if number == 1 else 1,
            padding=padding if number == 1 else "same",
            use_bias=False,
            name=f"separable_conv_{number}_{name}",
        )(x)
        x = _norm(x, f"separable_conv_{number}_bn_{name}")
    return x


def _fitted(before, x, filters, name):
    """What was before x, of the same size and with this many channels."""
    if before is None:
        return x
    if sizes_of(before) != sizes_of(x):
        before = act(before, f"adjust_relu_1_{name}")
        # Every other pixel, and those between them.
        moved = Cropping2D(((1, 0), (1, 0)))(ZeroPadding2D(((0, 1), (0, 1)))(before))
        halves = []
        for number, each in ((1, before), (2, moved)):
            each = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{number}_{name}")(each)
            halves.append(_conv(each, filters // 2, f"adjust_conv_{number}_{name}"))
        return _norm(concatenate(halves, axis=channel_axis()), f"adjust_bn_{name}")
    if before.shape.as_list()[channel_axis()] != filters:
        before = _conv(act(before), filters, f"adjust_conv_projection_{name}")
        return _norm(before, f"adjust_bn_{name}")
    return before


def _normal_cell(x, before, filters, name):
    """(a picture of the same size, x)."""
    past = _fitted(before, x, filters, name)
    here = _norm(_conv(act(x), filters, f"normal_conv_1_{name}"), f"normal_bn_1_{name}")

    def averaged(each, side):
        return AveragePooling2D(3, strides=1, padding="same", name=f"normal_{side}_{name}")(each)

    def summed(number, *parts):
        return add(list(parts), name=f"normal_add_{number}_{name}")

    made = [
        summed(
            1,
            _separable(here, filters, 5, f"normal_left1_{name}"),
            _separable(past, filters, 3, f"normal_right1_{name}"),
        ),
        summed(
            2,
            _separable(past, filters, 5, f"normal_left2_{name}"),
            _separable(past, filters, 3, f"normal_right2_{name}"),
        ),
        summed(3, averaged(here, "left3"), past),
        summed(4, averaged(past, "left4"), averaged(past, "right4")),
        summed(5, _separable(here, filters, 3, f"normal_left5_{name}"), here),
    ]
    return concatenate([past, *made], axis=channel_axis(), name=f"normal_concat_{name}"), x


def _reducing_cell(x, before, filters, name):
    """(a picture of half the height and width, x)."""
    past = _fitted(before, x, filters, name)
    here = _norm(_conv(act(x), filters, f"reduction_conv_1_{name}"), f"reduction_bn_1_{name}")
    padded = ZeroPadding2D(padding_before(here, 3), name=f"reduction_pad_1_{name}")(here)

    def separable(each, size, side):
        return _separable(each, filters, size, f"reduction_{side}_{name}", strides=2)

    first = add(
        [separable(here, 5, "left1"), separable(past, 7, "right1")], name=f"reduction_add_1_{name}"
    )
    most = MaxPooling2D(3, strides=2, name=f"reduction_left2_{name}")(padded)
    second = add([most, separable(past, 7, "right2")], name=f"reduction_add_2_{name}")
    mean = AveragePooling2D(3, strides=2, name=f"reduction_left3_{name}")(padded)
    third = add([mean, separable(past, 5, "right3")], name=f"reduction_add3_{name}")
    fourth = AveragePooling2D(3, strides=1, padding="same", name=f"reduction_left4_{name}")(first)
    fourth = add([second, fourth])
    fifth = add(
        [
            _separable(first, filters, 3, f"reduction_left4_{name}"),
            MaxPooling2D(3, strides=2, name=f"reduction_right5_{name}")(padded),
        ],
        name=f"reduction_add4_{name}",
    )
    made = concatenate(
        [second, third, fourth, fifth], axis=channel_axis(), name=f"reduction_concat_{name}"
    )
    return made, x


def _searched(size, last_filters, count, stem_filters, skips, settings, files):
    inputs = begin(settings, size, 32)
    filters = last_filters // 24
    x = _conv(inputs, stem_filters, "stem_conv1", 3, strides=2, padding="valid")
    x = _norm(x, "stem_bn1")
    x, before = _reducing_cell(x, None, filters // 4, "stem_1")
    x, before = _reducing_cell(x, before, filters // 2, "stem_2")
    for stage in range(3):
        if stage:
            x, left = _reducing_cell(x, before, filters * 2**stage, f"reduce_{stage * count}")
            before = before if skips else left
        for at in range(count):
            number = stage * count + at + (stage > 0)
            x, before = _normal_cell(x, before, filters * 2**stage, f"{number}")
    x = classified(act(x), settings, None)
    return finished("NASNet", settings, inputs, x, files)


def NASNetMobile(
    input_shape=None,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
):
    """The smaller NASNet, for pictures of 224 x 224. Arguments and what it raises: see parts.Settings."""
    settings = Settings(include_top, weights, input_tensor, input_shape, pooling, classes)
    files = (
        (f"{_STORE}NASNet-mobile.h5", "020fb642bf7360b370c678b08e0adf61"),
        (f"{_STORE}NASNet-mobile-no-top.h5", "1ed92395b5b598bdda52abe5c0dbfd63"),
    )
    return _searched(224, 1056, 4, 32, False, settings, files)


def NASNetLarge(
    input_shape=None,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
):
    """The larger NASNet, for pictures of 331 x 331. Arguments and what it raises: see parts.Settings."""
    settings = Settings(include_top, weights, input_tensor, input_shape, pooling, classes)
    files = (
        (f"{_STORE}NASNet-large.h5", "11577c9a518f0070763c2b964a382f17"),
        (f"{_STORE}NASNet-large-no-top.h5", "d81d89dc07e6e56530c4e77faddd61b5"),
    )
    return _searched(331, 4032, 6, 96, True, settings, files)
