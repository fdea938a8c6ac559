"""Layers of tf.keras beside formulas in NumPy; tests/interop has them beside TensorFlow's."""

import json

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(13)
keras, layers, K = tf.keras, tf.keras.layers, tf.keras.backend


def values(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def made(layer, x, training=False):
    tensor = keras.Input(x.shape[1:])
    model = keras.Model(tensor, layer(tensor))
    return K.get_session().run(model.output, {tensor: x, K.learning_phase(): training})


def test_layers_say_the_shape_that_they_give():
    for layer, shape in [
        (layers.UpSampling2D((2, 3), data_format="channels_first"), [None, 2, 8, 15]),
        (layers.ZeroPadding2D(1, data_format="channels_first"), [None, 2, 6, 7]),
        (layers.Cropping2D(((1, 0), (2, 1)), data_format="channels_first"), [None, 2, 3, 2]),
        (layers.DepthwiseConv2D(2, depth_multiplier=3), [None, 1, 3, 15]),
        (layers.Conv2DTranspose(7, 3, strides=2, output_padding=1), [None, 6, 10, 7]),
    ]:
        x = keras.Input([2, 4, 5])
        y = layer(x)
        assert y.shape.as_list() == shape == layer.compute_output_shape(x.shape).as_list()
        assert list(K.get_session().run(y, {x: values(3, 2, 4, 5)}).shape) == [3, *shape[1:]]


def test_the_format_of_images_can_be_set_for_all_layers():
    K.set_image_data_format("channels_first")
    try:
        assert K.image_data_format() == "channels_first"
        x = values(2, 3, 4, 4)
        assert np.allclose(made(layers.GlobalMaxPooling2D(), x), x.max((2, 3)))
        assert made(layers.ZeroPadding2D(), x).shape == (2, 3, 6, 6)
    finally:
        K.set_image_data_format("channels_last")
    with pytest.raises(ValueError, match="Unknown data_format"):
        K.set_image_data_format("middle")


def test_noise_is_there_in_training_alone():
    x = np.ones((200, 10, 6), np.float32)
    for layer in (
        layers.GaussianNoise(0.5),
        layers.GaussianDropout(0.2),
        layers.AlphaDropout(0.3),
        layers.SpatialDropout1D(0.5),
    ):
        assert (made(layer, x) == x).all()
    noisy = made(layers.GaussianNoise(0.5), x, training=True)
    assert abs(noisy.mean() - 1) < 0.05 and abs(noisy.std() - 0.5) < 0.05
    scaled = made(layers.GaussianDropout(0.2), x, training=True)
    assert abs(scaled.mean() - 1) < 0.05 and abs(scaled.std() - 0.5) < 0.05
    dropped = made(layers.AlphaDropout(0.3), values(400, 10, 6), training=True)
    assert abs(dropped.mean()) < 0.05 and abs(dropped.std() - 1) < 0.05
    channels = made(layers.SpatialDropout1D(0.5), x, training=True)
    assert set(np.unique(channels)) == {0.0, 2.0} and (channels == channels[:, :1]).all()
    with pytest.raises(ValueError, match="rate"):
        layers.GaussianDropout(1.5)


def test_constraints_hold_after_each_step():
    model = keras.Sequential(
        [
            layers.InputLayer([3]),
            layers.Dense(
                4, kernel_constraint="non_neg", bias_constraint=keras.constraints.MaxNorm(0.1)
            ),
            layers.Dense(2, kernel_constraint=keras.constraints.unit_norm(), use_bias=False),
        ]
    )
    assert len(model.layers) == 2
    model.compile(keras.optimizers.SGD(1.0), "mse")
    model.fit(values(16, 3), 9 * values(16, 2), batch_size=4, epochs=2, verbose=0)
    first, bias, second = model.get_weights()
    assert (first >= 0).all() and np.linalg.norm(bias) < 0.101
    assert np.allclose(np.linalg.norm(second, axis=0), 1, atol=1e-5)


def test_constraints_by_name_settings_and_formula():
    constraints = keras.constraints
    w = values(4, 3)
    run = K.get_session().run
    norms = np.linalg.norm(w, axis=0)
    between = constraints.get("min_max_norm")
    between.min_value, between.max_value = 0.5, 0.6
    assert np.allclose(
        run(between(tf.constant(w))), w * np.clip(norms, 0.5, 0.6) / norms, atol=1e-5
    )
    told = constraints.serialize(constraints.MaxNorm(3, axis=1))
    assert told == {"class_name": "MaxNorm", "config": {"max_value": 3, "axis": 1}}
    assert constraints.deserialize(told).axis == 1 and constraints.get(None) is None
    rings = run(constraints.RadialConstraint()(tf.constant(values(5, 5, 1, 2))))
    assert (rings[0] == rings[0, 0]).all() and (rings[:, 0] == rings[0, 0]).all()
    assert (rings[1, 1:4] == rings[1, 1]).all() and (rings[4, 2] == rings[0, 0]).all()
    with pytest.raises(ValueError, match="Unknown constraint: small"):
        layers.Dense(2, kernel_constraint="small")


def test_what_a_mask_leaves_out_does_not_count_in_losses():
    x = values(4, 5, 2)
    x[:, 3:] = 0
    model = keras.Sequential(
        [
            layers.Masking(input_shape=(5, 2)),
            layers.SimpleRNN(3, return_sequences=True),
            layers.TimeDistributed(layers.Dense(1)),
        ]
    )
    model.compile("sgd", "mse")
    y = values(4, 5, 1)
    errors = (model.predict(x) - y)[:, :3] ** 2
    assert np.isclose(model.evaluate(x, y, verbose=0), errors.sum() / 20, atol=1e-5)
    states = made(layers.SimpleRNN(3), x)
    assert states.shape == (4, 3)


def test_layers_refuse_what_makes_no_sense():
    image = keras.Input([4, 4, 2])
    with pytest.raises(ValueError, match="crops"):
        layers.Cropping2D(3)(image)
    with pytest.raises(ValueError, match="interpolation"):
        layers.UpSampling2D(2, interpolation="cubic")
    with pytest.raises(ValueError, match="padding"):
        layers.ZeroPadding2D(((1, 2), 3, 4))
    with pytest.raises(ValueError, match="output padding"):
        layers.Conv2DTranspose(2, 3, strides=2, output_padding=2)
    with pytest.raises(ValueError, match="exactly 2"):
        layers.Dot(1)([image])
    with pytest.raises(ValueError, match="PReLU"):
        layers.PReLU()(keras.Input([None, 2]))
    with pytest.raises(ValueError, match="Invalid axis"):
        layers.LayerNormalization(axis=7)(image)


def test_initializers_are_made_again_of_theirs():
    initializers = keras.initializers
    for made in (
        initializers.he_normal(3),
        initializers.RandomUniform(-1, 2),
        initializers.Constant(4),
    ):
        config = json.loads(json.dumps(initializers.serialize(made)))
        assert vars(initializers.deserialize(config)).keys() == vars(made).keys()
        assert initializers.serialize(initializers.deserialize(config)) == config
