"""Convolutions and poolings: values beside NumPy's, gradients beside finite differences, layers."""

import inspect

import numpy as np
import pytest

import millrace as tf

_RANDOM = np.random.RandomState(3)


def _images(*shape):
    return _RANDOM.normal(size=shape)


def _windows(x, size, strides, padding, fill):
    """x of [n, h, w, c] as [n, oh, ow, kh, kw, c], and what stands around it is `fill`."""
    pads = []
    for axis in (0, 1):
        length, k, s = x.shape[1 + axis], size[axis], strides[axis]
        need = max(0, (-(-length // s) - 1) * s + k - length) if padding == "SAME" else 0
        pads.append((need // 2, need - need // 2))
    x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    made = np.lib.stride_tricks.sliding_window_view(x, size, (1, 2))
    return made[:, :: strides[0], :: strides[1]].transpose(0, 1, 2, 4, 5, 3)


def _conv2d(x, w, strides=(1, 1), padding="VALID"):
    return np.einsum("nyxhwc,hwco->nyxo", _windows(x, w.shape[:2], strides, padding, 0.0), w)


def _check_gradient(session, function, *at):
    xs = [tf.placeholder(tf.float64, value.shape) for value in at]
    y = function(*xs)
    weights = np.linspace(0.5, 1.5, int(np.prod(y.shape.as_list()))).reshape(y.shape.as_list())
    total = tf.reduce_sum(y * weights)
    first = tf.gradients(total, xs)
    # Of the gradients, too.
    squares = sum(tf.reduce_sum(g * g) for g in first)
    for goal in (total, squares):
        wanted = tf.gradients(goal, xs)
        found = session.run([0.0 if g is None else g for g in wanted], dict(zip(xs, at)))
        for number, value in enumerate(at):
            if wanted[number] is None:
                continue
            for place in np.ndindex(value.shape):

                def moved(by):
                    values = [each.copy() for each in at]
                    values[number][place] += by
                    return session.run(goal, dict(zip(xs, values)))

                expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
                assert found[number][place] == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (2, 3)])
def test_conv2d_is_a_sum_over_windows(check, padding, strides):
    x, w = _images(2, 7, 6, 3), _images(3, 2, 3, 4)
    expected = _conv2d(x, w, strides, padding)
    check(tf.nn.conv2d(x, w, strides, padding), expected)
    check(tf.nn.conv2d(x, filters=w, strides=[1, *strides, 1], padding=padding), expected)
    turned = tf.nn.conv2d(x.transpose(0, 3, 1, 2), w, [1, 1, *strides], padding, data_format="NCHW")
    check(turned, expected.transpose(0, 3, 1, 2))


def test_explicit_paddings_pad_each_side(check):
    x, w = _images(1, 4, 5, 2), _images(2, 2, 2, 3)
    padded = np.pad(x, [(0, 0), (1, 0), (0, 2), (0, 0)])
    check(tf.nn.conv2d(x, w, 1, [[0, 0], [1, 0], [0, 2], [0, 0]]), _conv2d(padded, w))
    with pytest.raises(ValueError, match="batch or depth"):
        tf.nn.conv2d(x, w, 1, [[1, 0], [0, 0], [0, 0], [0, 0]])


def test_dilated_filters_have_holes(check):
    x, w = _images(1, 9, 8, 2), _images(3, 2, 2, 3)
    spread = np.zeros((5, 3, 2, 3))
    spread[::2, ::2] = w
    for made in (
        tf.nn.conv2d(x, w, 1, "VALID", dilations=[1, 2, 2, 1]),
        tf.nn.atrous_conv2d(x, w, 2, "VALID"),
        tf.nn.convolution(x, w, "VALID", dilation_rate=[2, 2]),
    ):
        check(made, _conv2d(x, spread))
    check(tf.nn.atrous_conv2d(x, w, 2, "SAME"), _conv2d(x, spread, padding="SAME"))


def test_lines_are_images_of_one_row(check):
    x, w = _images(2, 7, 3), _images(3, 3, 4)
    expected = _conv2d(x[:, None], w[None], (1, 2), "SAME")[:, 0]
    check(tf.nn.conv1d(x, w, 2, "SAME"), expected)
    check(tf.nn.conv1d(input=x, filters=w, stride=2, padding="SAME"), expected)
    check(tf.nn.convolution(x, w, "SAME", strides=[2]), expected)
    first = tf.nn.conv1d(x.transpose(0, 2, 1), w, 2, "SAME", data_format="NCW")
    check(first, expected.transpose(0, 2, 1))


def test_depthwise_and_separable(check):
    x, w, point = _images(2, 5, 5, 3), _images(2, 3, 3, 2), _images(1, 1, 6, 4)
    windows = _windows(x, (2, 3), (1, 1), "SAME", 0.0)
    each = np.einsum("nyxhwc,hwcm->nyxcm", windows, w).reshape(2, 5, 5, 6)
    check(tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), each)
    check(tf.nn.depthwise_conv2d_native(x, w, [1, 1, 1, 1], "SAME"), each)
    mixed = tf.nn.separable_conv2d(x, w, point, [1, 1, 1, 1], "SAME")
    check(mixed, _conv2d(each, point))


def test_conv2d_transpose_is_the_gradient_of_conv2d(session, check):
    x, w = tf.constant(_images(1, 7, 7, 2)), tf.constant(_images(3, 3, 2, 4))
    y = tf.nn.conv2d(x, w, 2, "SAME")
    dy = tf.constant(_images(1, 4, 4, 4))
    (expected,) = tf.gradients(y, [x], dy)
    found = tf.nn.conv2d_transpose(dy, w, [1, 7, 7, 2], 2)
    assert found.shape.as_list() == [1, 7, 7, 2]
    check(found, session.run(expected))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_of_convolutions(session, padding):
    x, w = _images(2, 4, 3, 2), _images(2, 2, 2, 2)
    _check_gradient(session, lambda a, b: tf.nn.conv2d(a, b, [1, 2, 1, 1], padding), x, w)
    _check_gradient(session, lambda a, b: tf.nn.depthwise_conv2d(a, b, 1, padding), x, w)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pools_are_the_largest_and_the_average(session, check, padding):
    x = _images(2, 6, 5, 3)
    windows = _windows(x, (3, 2), (2, 2), padding, np.nan)
    largest, average = np.nanmax(windows, (3, 4)), np.nanmean(windows, (3, 4))
    check(tf.nn.max_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], padding), largest)
    check(tf.nn.avg_pool(x, [3, 2], 2, padding), average)
    check(tf.nn.pool(x, [3, 2], "MAX", padding, strides=[2, 2]), largest)
    first = x.transpose(0, 3, 1, 2)
    made = tf.nn.avg_pool(first, [1, 1, 3, 2], [1, 1, 2, 2], padding, data_format="NCHW")
    check(made, average.transpose(0, 3, 1, 2))
    small = x[:1, :4, :3, :1]
    _check_gradient(session, lambda a: tf.nn.max_pool(a * a, [2, 2], 1, padding), small)
    _check_gradient(session, lambda a: tf.nn.avg_pool(a * a, [2, 2], 1, padding), small)


def test_a_filter_raises_or_lowers_its_windows(session, check):
    x, w = _images(2, 6, 5, 3), _images(2, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))[:, ::2]
    windows = windows.transpose(0, 1, 2, 4, 5, 3)
    ones, strides = [1] * 4, [1, 2, 1, 1]
    check(tf.nn.dilation2d(x, w, strides, ones, "VALID"), (windows + w).max((3, 4)))
    check(tf.nn.erosion2d(x, w, strides, ones, "VALID"), (windows - w[::-1, ::-1]).min((3, 4)))


def test_where_the_largest_is(session):
    x = np.float32([[[[1], [5]], [[7], [2]]], [[[9], [8]], [[3], [4]]]])
    for in_batch, expected in ((False, [2, 0]), (True, [2, 4])):
        largest, where = tf.nn.max_pool_with_argmax(
            x, 2, 2, "VALID", include_batch_in_index=in_batch
        )
        values, places = session.run([largest, where])
        assert values.ravel().tolist() == [7, 9] and places.ravel().tolist() == expected
    (gradient,) = tf.gradients(largest, [tf.constant(x)])
    assert gradient is None


def test_half_is_computed_as_float(session):
    x, w = _images(1, 8, 8, 16).astype(np.float16), _images(3, 3, 16, 8).astype(np.float16)
    found = session.run(tf.nn.conv2d(x, w, 1, "SAME"))
    assert found.dtype == np.float16
    expected = _conv2d(x.astype(np.float64), w.astype(np.float64), padding="SAME")
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-2)


def test_sizes_that_do_not_fit_are_refused_when_the_graph_is_made():
    x = tf.placeholder(tf.float32, [None, 4, 4, 3])
    with pytest.raises(ValueError, match="Negative dimension size"):
        tf.nn.conv2d(x, np.zeros((5, 5, 3, 1), np.float32), 1, "VALID")
    with pytest.raises(ValueError, match="not a multiple of input depth"):
        tf.nn.conv2d(x, np.zeros((2, 2, 2, 1), np.float32), 1, "VALID")
    with pytest.raises(ValueError, match="strides should be of length 1, 2 or 4"):
        tf.nn.max_pool(x, 2, [1, 2, 1], "SAME")
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.nn.conv2d(x, 1.0, 1, "SAME", filters=1.0)


# ---- Layers --------------------------------------------------------------------------------------


def test_layers_convolve_and_add_a_bias(session, check):
    x = tf.placeholder(tf.float32, [None, 6, 5, 3])
    layer = tf.layers.Conv2D(4, (3, 2), 2, "same", bias_initializer=tf.constant_initializer(0.5))
    y = layer(x)
    assert y.shape.as_list() == [None, 3, 3, 4] == layer.compute_output_shape(x.shape).as_list()
    assert y.op.name == "conv2d/BiasAdd" and y.op.inputs[0].op.name == "conv2d/Conv2D"
    session.run(tf.global_variables_initializer())
    at = _images(2, 6, 5, 3).astype(np.float32)
    found, kernel = session.run([y, layer.kernel], {x: at})
    np.testing.assert_allclose(
        found, _conv2d(at, kernel, (2, 2), "SAME") + 0.5, rtol=1e-4, atol=1e-5
    )
    again = tf.layers.conv2d(x, 4, (3, 2), 2, "SAME", name="conv2d", reuse=True)
    assert [v.op.name for v in tf.trainable_variables()] == ["conv2d/kernel", "conv2d/bias"]
    assert session.run(again, {x: at}).shape == (2, 3, 3, 4)


def test_layers_of_every_kind_have_the_shapes_they_say(session):
    images, lines = tf.zeros([2, 8, 8, 3]), tf.zeros([2, 8, 3])
    first = tf.zeros([2, 3, 8, 8])
    made = {
        "conv1d": (tf.layers.conv1d(lines, 4, 3), [2, 6, 4]),
        "transposed": (tf.layers.conv2d_transpose(images, 4, 3, 2, "same"), [2, 16, 16, 4]),
        "transposed valid": (tf.layers.conv2d_transpose(images, 4, 3, 2), [2, 17, 17, 4]),
        "separable": (tf.layers.separable_conv2d(images, 4, 3, depth_multiplier=2), [2, 6, 6, 4]),
        "separable lines": (tf.layers.separable_conv1d(lines, 4, 3), [2, 6, 4]),
        "first": (tf.layers.conv2d(first, 4, 3, data_format="channels_first"), [2, 4, 6, 6]),
        "max": (tf.layers.max_pooling2d(images, 2, 2), [2, 4, 4, 3]),
        "average": (tf.layers.average_pooling2d(images, 3, 2, "same"), [2, 4, 4, 3]),
        "max lines": (tf.layers.max_pooling1d(lines, 2, 2), [2, 4, 3]),
        "average lines": (tf.layers.average_pooling1d(lines, 2, 1), [2, 7, 3]),
        "max first": (
            tf.layers.max_pooling2d(first, 2, 2, data_format="channels_first"),
            [2, 3, 4, 4],
        ),
    }
    session.run(tf.global_variables_initializer())
    for name, (tensor, shape) in made.items():
        assert tensor.shape.as_list() == shape, name
        assert list(session.run(tensor).shape) == shape, name


def test_a_transposed_layer_follows_the_batch(session):
    x = tf.placeholder(tf.float32, [None, None, 4, 3])
    y = tf.layers.conv2d_transpose(x, 2, 3, 2, "same")
    assert y.shape.as_list() == [None, None, 8, 2]
    session.run(tf.global_variables_initializer())
    assert session.run(y, {x: np.zeros((5, 3, 4, 3))}).shape == (5, 6, 8, 2)


def test_contrib_has_its_own_names_and_defaults(session):
    slim = tf.contrib.slim
    x = tf.zeros([2, 8, 8, 3])
    with slim.arg_scope([slim.conv2d], weights_regularizer=slim.l2_regularizer(0.1)):
        y = slim.conv2d(x, 4, [3, 3], scope="c1")
    y = slim.max_pool2d(y, [2, 2], scope="p1")
    y = slim.separable_conv2d(y, 5, [3, 3], 1)
    y = slim.avg_pool2d(slim.conv2d_transpose(y, 6, 3, 2), 2)
    assert y.shape.as_list() == [2, 4, 4, 6]
    assert [v.op.name for v in tf.trainable_variables()] == [
        "c1/weights",
        "c1/biases",
        "SeparableConv2d/depthwise_weights",
        "SeparableConv2d/pointwise_weights",
        "SeparableConv2d/biases",
        "Conv2d_transpose/weights",
        "Conv2d_transpose/biases",
    ]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    session.run(tf.global_variables_initializer())
    assert session.run(y).shape == (2, 4, 4, 6)


# ---- Normalization -------------------------------------------------------------------------------


def _normalized(x, scale, offset, epsilon):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) / np.sqrt(variance + epsilon) * scale + offset, mean, variance


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_a_batch_is_normalized_by_its_channels(session, data_format):
    x, scale, offset = _images(3, 4, 5, 6), _images(6), _images(6)
    expected, mean, variance = _normalized(x, scale, offset, 0.01)
    order = (0, 1, 2, 3) if data_format == "NHWC" else (0, 3, 1, 2)
    made = tf.nn.fused_batch_norm(
        x.transpose(order).astype(np.float32),
        scale.astype(np.float32),
        offset.astype(np.float32),
        epsilon=0.01,
        data_format=data_format,
    )
    found = session.run(list(made))
    np.testing.assert_allclose(found[0], expected.transpose(order), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[2], variance * 60 / 59, rtol=1e-4)


def test_means_and_variances_that_are_given_are_used(session):
    x, mean, variance = np.float32(_images(2, 2, 2, 3)), [1.0, 2.0, 3.0], [4.0, 1.0, 0.25]
    y, _, _ = tf.nn.fused_batch_norm(
        x, [1.0, 1.0, 2.0], [0.0, 1.0, 0.0], mean, variance, epsilon=0.002, is_training=False
    )
    expected = (x - mean) / np.sqrt(np.array(variance) + 0.002) * [1, 1, 2] + [0, 1, 0]
    np.testing.assert_allclose(session.run(y), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="must be a 1D tensor"):
        tf.nn.fused_batch_norm(x, [1.0] * 3, [0.0] * 3, is_training=False)


def test_averages_move_by_the_factor_that_is_given(session):
    x = np.float32(_images(2, 3, 2, 2))
    _, mean, variance = tf.nn.fused_batch_norm(
        x, [1.0, 1.0], [0.0, 0.0], [1.0, 2.0], [3.0, 4.0], exponential_avg_factor=0.25
    )
    found = session.run([mean, variance])
    expected = 0.75 * np.array([1, 2]) + 0.25 * x.mean((0, 1, 2))
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)
    expected = 0.75 * np.array([3, 4]) + 0.25 * x.var((0, 1, 2), ddof=1)
    np.testing.assert_allclose(found[1], expected, rtol=1e-4)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_gradients_of_a_normalized_batch_of_both_orders(session, training, data_format):
    # Beside the same of plain ops, whose gradients are held against differences elsewhere.
    shape = [3, 2, 4, 5] if data_format == "NHWC" else [3, 5, 2, 4]
    axes = [0, 1, 2] if data_format == "NHWC" else [0, 2, 3]
    broad = [1, 1, 1, 5] if data_format == "NHWC" else [1, 5, 1, 1]
    x = tf.constant(np.float32(_images(*shape)))
    scale, offset = (tf.constant(np.float32(_images(5))) for _ in range(2))
    mean, variance = tf.constant([0.1] * 5), tf.constant([0.5, 1.0, 1.5, 2.0, 2.5])
    given = {} if training else {"mean": mean, "variance": variance}
    fused, _, _ = tf.nn.fused_batch_norm(
        x, scale, offset, is_training=training, data_format=data_format, **given
    )
    if training:
        mean = tf.reduce_mean(x, axes)
        off = x - tf.reshape(mean, broad)
        variance = tf.reduce_mean(off * off, axes)
    plain = tf.nn.batch_normalization(
        x, *(tf.reshape(each, broad) for each in (mean, variance, offset, scale)), 0.001
    )
    weights = tf.constant(np.float32(_images(*shape)))
    results = []
    for y in (fused, plain):
        first = tf.gradients(tf.tanh(y) * weights, [x, scale, offset])
        mixed = sum(tf.reduce_sum(tf.sin(3.0 * g)) for g in first)
        results.append(session.run([*first, *tf.gradients(mixed, [x, scale, offset])]))
    for found, expected in zip(*results):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def test_channels_are_divided_by_their_neighbours(session, check):
    x = np.float32(_images(2, 3, 2, 7))
    squares = np.pad(x * x, [(0, 0)] * 3 + [(2, 2)])
    sums = sum(squares[..., i : i + 7] for i in range(5))
    check(tf.nn.lrn(x, 2, 1.5, 0.5, 0.75), x / (1.5 + 0.5 * sums) ** np.float32(0.75))
    at = tf.constant(x)
    y = tf.nn.local_response_normalization(at, 2, 1.0, 0.5, 0.5)
    (found,) = session.run(tf.gradients(tf.reduce_sum(y * y), [at]))
    padded = tf.pad(at * at, [[0, 0]] * 3 + [[2, 2]])
    plain = at * tf.rsqrt(1.0 + 0.5 * sum(padded[..., i : i + 7] for i in range(5)))
    (expected,) = session.run(tf.gradients(tf.reduce_sum(plain * plain), [at]))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["known", "fed"])
def test_a_fused_layer_normalizes_and_moves_its_averages(session, kind):
    x = np.float32(_images(4, 3, 3, 2))
    fed = tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(momentum=0.75)
    y = layer(tf.constant(x), training=True if kind == "known" else fed)
    ops = [op.type for op in tf.get_default_graph().get_operations()]
    assert ops.count("FusedBatchNormV3") == (1 if kind == "known" else 2)
    session.run(tf.global_variables_initializer())
    feeds = {} if kind == "known" else {fed: True}
    found, _ = session.run([y, layer.updates], feeds)
    expected, mean, _ = _normalized(x, 1, 0, 1e-3)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    moved = session.run([layer.moving_mean, layer.moving_variance])
    np.testing.assert_allclose(moved[0], 0.25 * mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(moved[1], 0.75 + 0.25 * x.var((0, 1, 2), ddof=1), rtol=1e-4)
    if kind == "fed":
        still = session.run(y, {fed: False})
        np.testing.assert_allclose(
            still, (x - moved[0]) / np.sqrt(moved[1] + 1e-3), rtol=1e-4, atol=1e-5
        )


def test_functions_take_the_arguments_of_their_layers():
    taken = inspect.signature(tf.layers.conv3d_transpose).parameters
    assert list(taken)[:4] == ["inputs", "filters", "kernel_size", "strides"]
    assert list(taken)[-2:] == ["name", "reuse"] and "dilation_rate" not in taken
    assert taken["strides"].default == (1, 1, 1)
    with pytest.raises(TypeError, match=r"conv2d\(\) .*'kernel_size'"):
        tf.layers.conv2d(tf.zeros([1, 2, 2, 1]), 3)
    with pytest.raises(TypeError, match=r"dense\(\) .*'unit'"):
        tf.layers.dense(tf.zeros([1, 2]), 3, unit=3)
