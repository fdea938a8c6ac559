"""Nets of tf.keras.applications on the same weights and pictures, the same text for TensorFlow and for Millrace.

`python3 keras_net_programs.py tensorflow` (or `millrace`) prints a JSON object: of each net the shapes of its
weights in their order, and what it makes of a picture. Run by test_keras_layers_beside_tensorflow.py.
"""

import json
import sys
import zlib

import numpy as np

# The net, and the least pictures that show all of its ways.
NETS = {
    "VGG16": 32,
    "ResNet50": 32,
    "ResNet50V2": 32,
    "DenseNet121": 32,
    "InceptionV3": 75,
    "InceptionResNetV2": 75,
    "MobileNet": 64,
    "MobileNetV2": 33,
    "NASNetMobile": 64,
    "Xception": 71,
}


def drawn(shape, seed):
    scale = (2.0 / np.prod(shape[:-1])) ** 0.5
    return (np.random.RandomState(seed).standard_normal(shape) * scale).astype(np.float32)


def of_net(keras, name, size):
    net = getattr(keras.applications, name)
    model = net(weights=None, include_top=False, input_shape=(size, size, 3), pooling="avg")
    shapes = []
    for layer in model.layers:
        weights = layer.get_weights()
        shapes += [zlib.crc32(str((tuple(w.shape))).encode()) for w in weights]
        if weights and weights[0].ndim > 1:
            layer.set_weights(
                [drawn(w.shape, i) if w.ndim > 1 else w for i, w in enumerate(weights)]
            )
    picture = np.random.RandomState(1).uniform(-1, 1, (1, size, size, 3)).astype(np.float32)
    made = model.predict(picture, verbose=0)[0]
    return {f"{name} shapes": shapes, f"{name} made": (made / np.abs(made).max()).tolist()}


def inputs(keras):
    x = np.arange(24.0, dtype=np.float32).reshape(1, 2, 4, 3)
    first = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    for mode in ("caffe", "tf", "torch"):
        function = keras.applications.imagenet_utils.preprocess_input
        yield f"{mode} last", function(x.copy(), mode=mode).tolist()
        yield f"{mode} first", function(first.copy(), "channels_first", mode).tolist()
        yield f"{mode} one", function(first[0].copy(), "channels_first", mode).tolist()


def main():
    if sys.argv[1] == "tensorflow":
        import tensorflow as tf
    else:
        import millrace as tf
    results = dict(inputs(tf.keras))
    for name, size in NETS.items():
        tf.keras.backend.clear_session()
        results.update(of_net(tf.keras, name, size))
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
