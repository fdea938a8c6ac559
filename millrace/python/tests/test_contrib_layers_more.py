"""The rest of tf.contrib.layers: layers repeated, embeddings, normalizations of examples, lines, volumes."""

import functools

import numpy as np
import pytest

import millrace as tf

layers = tf.contrib.layers
RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.randn(2, 4, 6, 8).astype(np.float32)


def _names(variables=None):
    return [v.op.name for v in (tf.global_variables() if variables is None else variables)]


def _ready(session):
    session.run(tf.global_variables_initializer())


# ---- Embeddings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unique", [False, True])
def test_words_are_embedded_by_a_variable_of_the_model(session, unique):
    ids = np.array([[1, 2, 1], [0, 0, 4]], np.int64)
    made = layers.embed_sequence(ids, 5, 3, unique=unique, scope="words")
    again = layers.embed_sequence(ids, scope="words", reuse=True)
    assert _names() == _names(tf.model_variables()) == ["words/embeddings"]
    assert made.shape.as_list() == [2, 3, 3]
    _ready(session)
    table, value, same = session.run([tf.global_variables()[0], made, again])
    np.testing.assert_array_equal(value, table[ids])
    np.testing.assert_array_equal(same, value)
    with pytest.raises(ValueError, match="Must specify vocab size"):
        layers.embed_sequence(ids)


def test_a_bag_of_words_is_the_average_without_padding(session):
    ids = np.array([[1, 2, 0], [3, 0, 0], [0, 0, 0]], np.int64)
    sparse = layers.bow_encoder(ids, 5, 3, scope="bag")
    dense = layers.bow_encoder(ids, 5, 3, sparse_lookup=False, scope="bag", reuse=True)
    assert _names() == ["bag/embeddings"]
    _ready(session)
    table, sparse, dense = session.run([tf.global_variables()[0], sparse, dense])
    np.testing.assert_allclose(
        sparse, [(table[1] + table[2]) / 2, table[3], table[0]], rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(dense, table[ids].mean(1), rtol=1e-6, atol=1e-7)


def test_what_is_no_end_of_a_sentence_is_sparse(session):
    made = session.run(layers.dense_to_sparse(tf.constant([[1, 0, 2], [0, 0, 3]])))
    assert made.indices.tolist() == [[0, 0], [0, 2], [1, 2]]
    assert made.values.tolist() == [1, 2, 3] and made.dense_shape.tolist() == [2, 3]


# ---- Normalizations ------------------------------------------------------------------------------


def test_an_instance_is_normalized_by_its_own_places(session):
    last = layers.instance_norm(IMAGES, scope="a")
    first = layers.instance_norm(IMAGES.transpose(0, 3, 1, 2), data_format="NCHW", center=False)
    assert _names() == ["a/beta", "a/gamma", "InstanceNorm/gamma"]
    _ready(session)
    mean, variance = IMAGES.mean((1, 2), keepdims=True), IMAGES.var((1, 2), keepdims=True)
    expected = (IMAGES - mean) / np.sqrt(variance + 1e-6)
    last, first = session.run([last, first])
    np.testing.assert_allclose(last, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(first, expected.transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5)


def test_a_group_of_channels_is_normalized_as_one(session):
    last = layers.group_norm(
        IMAGES, groups=4, param_initializers={"beta": tf.constant_initializer(0.5)}
    )
    first = layers.group_norm(
        IMAGES.transpose(0, 3, 1, 2), 4, channels_axis=-3, reduction_axes=(-2, -1), center=False
    )
    assert _names() == ["GroupNorm/beta", "GroupNorm/gamma", "GroupNorm_1/gamma"]
    _ready(session)
    grouped = IMAGES.reshape(2, 4, 6, 4, 2)
    mean, variance = grouped.mean((1, 2, 4), keepdims=True), grouped.var((1, 2, 4), keepdims=True)
    expected = ((grouped - mean) / np.sqrt(variance + 1e-6)).reshape(IMAGES.shape)
    last, first = session.run([last, first])
    np.testing.assert_allclose(last, expected + 0.5, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(first, expected.transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "groups, axes, said",
    [(3, (-3, -2), "commensurate"), (16, (-3, -2), "Invalid groups"), (4, (-1,), "exclusive")],
)
def test_groups_that_do_not_fit_are_refused(groups, axes, said):
    with pytest.raises(ValueError, match=said):
        layers.group_norm(IMAGES, groups, reduction_axes=axes)


# ---- Lines, volumes, planes ----------------------------------------------------------------------


def test_convolutions_are_along_lines_and_over_volumes(session):
    line = layers.conv1d(IMAGES[:, 0], 3, 2, padding="VALID", activation_fn=None)
    volume = layers.conv3d(
        IMAGES[..., None], 3, [4, 6, 8], padding="VALID", activation_fn=None, scope="v"
    )
    wider = layers.conv3d_transpose(IMAGES[..., None], 2, 3, stride=2)
    assert _names() == [
        *("Conv/weights", "Conv/biases", "v/weights", "v/biases"),
        *("Conv3d_transpose/weights", "Conv3d_transpose/biases"),
    ]
    assert wider.shape.as_list() == [2, 8, 12, 16, 2]
    _ready(session)
    variables, line, volume = session.run([tf.global_variables(), line, volume])
    expected = IMAGES[:, 0, :-1] @ variables[0][0] + IMAGES[:, 0, 1:] @ variables[0][1]
    np.testing.assert_allclose(line, expected, rtol=1e-4, atol=1e-5)
    expected = np.einsum("nabc,abcf->nf", IMAGES, variables[2][:, :, :, 0])
    np.testing.assert_allclose(volume.reshape(2, 3), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="rank 3, got 4"):
        layers.conv1d(IMAGES, 3, 2)


def test_an_arg_scope_reaches_each_convolution_alone(session):
    with tf.contrib.framework.arg_scope([layers.conv3d], activation_fn=None):
        assert layers.conv1d(IMAGES[:, 0], 3, 2).op.type == "Relu"
        assert layers.conv3d(IMAGES[..., None], 3, 2).op.type != "Relu"


def test_a_filter_moves_over_each_channel_alone(session):
    made = layers.conv2d_in_plane(IMAGES, [1, 2], padding="VALID", activation_fn=None)
    assert _names() == ["ConvInPlane/weights", "ConvInPlane/biases"]
    _ready(session)
    weights, value = session.run([tf.global_variables()[0], made])
    assert weights.shape == (1, 2, 1, 1)
    a, b = weights.ravel()
    np.testing.assert_allclose(value, IMAGES[:, :, :-1] * a + IMAGES[:, :, 1:] * b, atol=1e-5)


def test_a_separable_convolution_without_outputs_is_depthwise(session):
    made = layers.separable_conv2d(
        IMAGES, None, 1, depth_multiplier=2, normalizer_fn=layers.batch_norm, scope="d"
    )
    plain = layers.separable_conv2d(IMAGES, None, 1, stride=2, activation_fn=None, scope="p")
    assert _names(tf.trainable_variables()) == [
        *("d/depthwise_weights", "d/BatchNorm/beta", "p/depthwise_weights", "p/biases")
    ]
    assert made.shape.as_list() == [2, 4, 6, 16]
    _ready(session)
    weights, value = session.run([tf.trainable_variables()[2], plain])
    np.testing.assert_allclose(value, IMAGES[:, ::2, ::2] * weights[0, 0, :, 0], atol=1e-6)


def test_poolings(check):
    volumes = IMAGES[..., None]
    split = volumes.reshape(2, 2, 2, 3, 2, 4, 2, 1)
    check(layers.max_pool3d(volumes, 2), split.max((2, 4, 6)))
    check(layers.avg_pool3d(volumes, 2), split.mean((2, 4, 6)), rtol=1e-5)
    check(layers.pool(IMAGES, 2, "MAX", stride=2), split[..., 0].max((2, 4)).reshape(2, 2, 3, 8))


# ---- Layers of layers, shapes --------------------------------------------------------------------


def test_layers_are_repeated_and_stacked_in_scopes_of_their_own():
    layers.repeat(IMAGES, 2, layers.conv2d, 3, [3, 3], scope="conv1")
    layers.stack(IMAGES[:, 0, 0], layers.fully_connected, [4, 3])
    layers.stack(IMAGES, layers.conv2d, [(2, [1, 1]), (3, [3, 3])], scope="core")
    layers.repeat(IMAGES[:, 0, 0], 1, functools.partial(layers.fully_connected), 3)
    assert [name for name in _names() if name.endswith("weights")] == [
        "conv1/conv1_1/weights",
        "conv1/conv1_2/weights",
        "Stack/fully_connected_1/weights",
        "Stack/fully_connected_2/weights",
        "core/core_1/weights",
        "core/core_2/weights",
        "Repeat/fully_connected_1/weights",
    ]


def test_biases_are_added(session):
    made = layers.bias_add(IMAGES, tf.nn.relu, initializer=tf.constant_initializer(0.3), scope="b")
    assert _names(tf.model_variables()) == ["b/biases"]
    _ready(session)
    np.testing.assert_allclose(session.run(made), np.maximum(IMAGES + np.float32(0.3), 0))


def test_codes_and_largest_and_units(check):
    check(layers.one_hot_encoding([2, 0], 3, on_value=2.0), np.float32([[0, 0, 2], [2, 0, 0]]))
    check(layers.maxout(IMAGES, 4), IMAGES.reshape(2, 4, 6, 4, 2).max(-1))
    norm = np.sqrt((IMAGES**2).sum(2, keepdims=True))
    check(layers.unit_norm(IMAGES, 2), IMAGES / norm, rtol=1e-5)
    made = np.exp(IMAGES) / np.exp(IMAGES).sum(-1, keepdims=True)
    check(layers.softmax(IMAGES), made, rtol=1e-5)
    with pytest.raises(ValueError, match=r"features\(8\) is not a multiple of num_units\(3\)"):
        layers.maxout(IMAGES, 3)
    with pytest.raises(ValueError, match="dim must be"):
        layers.unit_norm(IMAGES, 4)


def test_the_place_of_a_channel_is_its_mean_place(session):
    made = layers.spatial_softmax(IMAGES)
    assert _names() == ["spatial_softmax/temperature"] and made.shape.as_list() == [2, 16]
    _ready(session)
    weights = np.exp(IMAGES) / np.exp(IMAGES).sum((1, 2), keepdims=True)
    down = np.einsum("nhwc,h->nc", weights, np.linspace(-1, 1, 4))
    across = np.einsum("nhwc,w->nc", weights, np.linspace(-1, 1, 6))
    expected = np.stack([down, across], -1).reshape(2, 16)
    np.testing.assert_allclose(session.run(made), expected, rtol=1e-4, atol=1e-5)


def test_images_are_sequences_and_back(check):
    sequence = layers.images_to_sequence(IMAGES)
    check(sequence, IMAGES.transpose(2, 0, 1, 3).reshape(6, 8, 8))
    check(layers.sequence_to_images(sequence, 4), IMAGES)
    first = IMAGES.transpose(0, 3, 1, 2)
    check(layers.images_to_sequence(first, "NCHW"), IMAGES.transpose(2, 0, 1, 3).reshape(6, 8, 8))
    check(layers.sequence_to_images(sequence, 4, "channels_first"), first)


def test_a_gradient_is_scaled(check):
    x = tf.constant([1.0, 2.0])
    made = layers.scale_gradient(x, 0.25)
    check(made, np.float32([1, 2]))
    check(tf.gradients(made * 4.0, x)[0], np.float32([1, 1]))


def test_the_legacy_layer_keeps_its_names(session):
    x = RANDOM.randn(2, 3, 4).astype(np.float32)
    made = layers.legacy_relu(x, 5)
    assert _names() == ["fully_connected/weights", "fully_connected/bias"]
    assert _names(tf.get_collection(tf.GraphKeys.WEIGHTS)) == ["fully_connected/weights"]
    assert tf.get_collection(tf.GraphKeys.ACTIVATIONS) == [made]
    assert made.shape.as_list() == [2, 3, 5]
    _ready(session)
    weights, value = session.run([tf.global_variables()[0], made])
    np.testing.assert_allclose(value, np.maximum(x @ weights, 0), rtol=1e-5, atol=1e-6)
