"""Layers of tf.keras on the same weights and inputs, the same text for TensorFlow and for Millrace.

`python3 keras_layer_programs.py tensorflow` (or `millrace`) prints a JSON object: of each layer what it makes.
Run by test_keras_layers_beside_tensorflow.py.
"""

import json
import sys

import numpy as np


def data(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def layers(keras):
    """{name: (a layer, the shapes of its inputs)}."""
    kl = keras.layers
    lines, images, volumes = (7, 3), (6, 8, 3), (4, 5, 6, 2)
    return {
        "conv 1d": (kl.Conv1D(4, 3, padding="causal", dilation_rate=2), [lines]),
        "conv 3d": (kl.Conv3D(3, 2, strides=2, padding="same", activation="tanh"), [volumes]),
        "transposed": (kl.Conv2DTranspose(4, 3, strides=2, padding="same"), [images]),
        "transposed valid": (kl.Conv2DTranspose(2, (3, 2), strides=(2, 3)), [images]),
        "transposed 3d": (kl.Conv3DTranspose(2, 2, strides=2), [volumes]),
        "separable 1d": (kl.SeparableConv1D(4, 3, depth_multiplier=2, padding="same"), [lines]),
        "separable": (kl.SeparableConv2D(4, 3, strides=2, activation="relu"), [images]),
        "depthwise": (kl.DepthwiseConv2D(3, padding="same", depth_multiplier=2), [images]),
        "depthwise strides": (kl.DepthwiseConv2D(2, strides=2, use_bias=False), [images]),
        "max 3d": (kl.MaxPooling3D(2), [volumes]),
        "average 3d": (kl.AveragePooling3D(2, strides=1, padding="same"), [volumes]),
        "global average 3d": (kl.GlobalAveragePooling3D(), [volumes]),
        "global max 3d": (kl.GlobalMaxPooling3D(), [volumes]),
        "up 1d": (kl.UpSampling1D(3), [lines]),
        "up": (kl.UpSampling2D((2, 3)), [images]),
        "up bilinear": (kl.UpSampling2D(2, interpolation="bilinear"), [images]),
        "up 3d": (kl.UpSampling3D((1, 2, 2)), [volumes]),
        "pad 1d": (kl.ZeroPadding1D((1, 2)), [lines]),
        "pad": (kl.ZeroPadding2D(((1, 0), (2, 3))), [images]),
        "pad alike": (kl.ZeroPadding2D((1, 2)), [images]),
        "pad 3d": (kl.ZeroPadding3D(1), [volumes]),
        "crop 1d": (kl.Cropping1D((2, 1)), [lines]),
        "crop": (kl.Cropping2D(((1, 2), (0, 3))), [images]),
        "crop 3d": (kl.Cropping3D((1, 1, 2)), [volumes]),
        "elu": (kl.ELU(0.5), [lines]),
        "prelu": (kl.PReLU("ones"), [lines]),
        "prelu shared": (kl.PReLU(shared_axes=[1, 2]), [images]),
        "layer normalization": (kl.LayerNormalization(), [images]),
        "layer normalization of axes": (kl.LayerNormalization(axis=[1, 2, 3]), [images]),
        "gaussian": (kl.GaussianNoise(1.0), [lines]),
        "spatial": (kl.SpatialDropout2D(0.5), [images]),
        "subtract": (kl.Subtract(), [lines, lines]),
        "average": (kl.Average(), [lines, lines, lines]),
        "maximum": (kl.Maximum(), [lines, lines]),
        "minimum": (kl.Minimum(), [lines, lines]),
        "dot": (kl.Dot(axes=(2, 2)), [(7, 3), (5, 3)]),
        "dot of vectors": (kl.Dot(axes=1, normalize=True), [(6,), (6,)]),
        "dot of a vector": (kl.Dot(axes=1), [(6, 4), (6,)]),
    }


def of_layer(keras, layer, shapes):
    inputs = [keras.Input(shape) for shape in shapes]
    model = keras.Model(inputs, layer(inputs if len(inputs) > 1 else inputs[0]))
    layer.set_weights([data(*w.shape, seed=w.ndim + 1) for w in layer.get_weights()])
    arrays = [data(2, *shape, seed=i) for i, shape in enumerate(shapes)]
    return model.predict(arrays if len(arrays) > 1 else arrays[0], verbose=0)


def masked(keras):
    """Models of sequences that have different lengths."""
    kl = keras.layers
    x = data(3, 5, 2)
    x[0, 2:], x[1, 1], x[2, 0] = 0, 0, 0
    ids = np.array([[3, 1, 0, 0], [2, 0, 4, 0], [0, 0, 0, 1]])
    numbers, words = keras.Input([5, 2]), keras.Input([4], dtype="int32")
    kept = kl.Masking()(numbers)
    embedded = kl.Embedding(6, 3, mask_zero=True)(words)
    gates = {"recurrent_activation": "sigmoid"}
    models = {
        "masked lstm": ([numbers], kl.LSTM(3, **gates)(kept), x),
        "masked gru": (
            [numbers],
            kl.GRU(3, return_sequences=True, reset_after=False, **gates)(kept),
            x,
        ),
        "masked backwards": ([words], kl.SimpleRNN(3, go_backwards=True)(embedded), ids),
        "masked both ways": ([words], kl.Bidirectional(kl.LSTM(2, **gates))(embedded), ids),
        "masked twice": (
            [words],
            kl.LSTM(2, **gates)(kl.LSTM(3, return_sequences=True, **gates)(embedded)),
            ids,
        ),
        "masked average": ([words], kl.GlobalAveragePooling1D()(embedded), ids),
    }
    for name, (inputs, outputs, values) in models.items():
        model = keras.Model(inputs, outputs)
        for layer in model.layers:
            layer.set_weights([data(*w.shape, seed=w.size) for w in layer.get_weights()])
        yield name, model.predict(values, verbose=0)


def main():
    if sys.argv[1] == "tensorflow":
        import tensorflow as tf
    else:
        import millrace as tf
    results = {}
    for name, (layer, shapes) in layers(tf.keras).items():
        results[name] = of_layer(tf.keras, layer, shapes).tolist()
    for name, values in masked(tf.keras):
        results[name] = values.tolist()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
