"""VGG of 16 and 19 layers (arXiv 1409.1556)."""

from millrace._keras.convolutions import MaxPooling2D
from millrace._keras.layers import Dense, Flatten
from millrace._keras.nets.parts import Settings, begin, conv, finished, pooled

_STORE = "https://storage.googleapis.com/tensorflow/keras-applications/"
_HASHES = {
    "vgg16": ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"),
    "vgg19": ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"),
}


def _vgg(name, counts, settings):
    inputs = x = begin(settings, 224, 32)
    for block, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512, 512)), 1):
        for number in range(1, count + 1):
            label = f"block{block}_conv{number}"
            x = conv(x, filters, 3, name=label, use_bias=True, activation="relu")
        x = MaxPooling2D((2, 2), strides=(2, 2), name=f"block{block}_pool")(x)
    if settings.include_top:
        x = Flatten(name="flatten")(x)
        x = Dense(4096, activation="relu", name="fc1")(x)
        x = Dense(4096, activation="relu", name="fc2")(x)
        x = Dense(settings.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(x, settings.pooling)
    base = f"{_STORE}{name}/{name}_weights_tf_dim_ordering_tf_kernels"
    with_top, without = _HASHES[name]
    return finished(
        name, settings, inputs, x, ((f"{base}.h5", with_top), (f"{base}_notop.h5", without))
    )


def VGG16(*args, **kwargs):
    """VGG with 13 convolutions, for pictures of 224 x 224. Arguments and what it raises: see parts.Settings."""
    return _vgg("vgg16", (2, 2, 3, 3, 3), Settings(*args, **kwargs))


def VGG19(*args, **kwargs):
    """VGG with 16 convolutions, for pictures of 224 x 224. Arguments and what it raises: see parts.Settings."""
    return _vgg("vgg19", (2, 2, 4, 4, 4), Settings(*args, **kwargs))
