"""tf.layers: values beside NumPy's, names of variables, what joins which collection, what is refused."""

import numpy as np
import pytest

import millrace as tf

BATCH = np.random.RandomState(0).randn(6, 4).astype(np.float32)


def _names(variables):
    return [variable.op.name for variable in variables]


# ---- Dense ---------------------------------------------------------------------------------------


def test_dense_is_a_product_and_a_bias(session):
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.Dense(3, tf.nn.relu, bias_initializer=tf.constant_initializer(0.5))
    y = layer(x)
    session.run(tf.global_variables_initializer())
    value, kernel, bias = session.run([y, layer.kernel, layer.bias], {x: BATCH})
    np.testing.assert_allclose(value, np.maximum(BATCH @ kernel + bias, 0), rtol=1e-5, atol=1e-6)
    assert np.all(bias == 0.5) and kernel.shape == (4, 3)
    assert y.shape.as_list() == [None, 3]
    assert layer.count_params() == 15
    assert layer.compute_output_shape([None, 5, 4]).as_list() == [None, 5, 3]


def test_dense_multiplies_the_last_axis_of_more(session):
    x = tf.placeholder(tf.float32, [None, 2, 4])
    y = tf.layers.dense(x, 3, name="d", use_bias=False)
    session.run(tf.global_variables_initializer())
    value, kernel = session.run([y, tf.trainable_variables()[0]], {x: BATCH.reshape(3, 2, 4)})
    np.testing.assert_allclose(value, BATCH.reshape(3, 2, 4) @ kernel, rtol=1e-5, atol=1e-6)
    assert y.shape.as_list() == [None, 2, 3]


def test_variables_and_nodes_are_named_after_their_layer():
    x = tf.placeholder(tf.float32, [None, 4])
    first = tf.layers.dense(x, 3, activation=tf.nn.relu)
    second = tf.layers.dense(first, 2)
    with tf.variable_scope("tower"):
        third = tf.layers.dense(second, 1, name="head", use_bias=False)
        tf.layers.dense(second, 1)
    assert _names(tf.trainable_variables()) == [
        "dense/kernel",
        "dense/bias",
        "dense_1/kernel",
        "dense_1/bias",
        "tower/head/kernel",
        "tower/dense/kernel",
        "tower/dense/bias",
    ]
    assert first.op.name == "dense/Relu" and second.op.name == "dense_1/BiasAdd"
    assert third.op.name == "tower/head/MatMul"


def test_a_layer_that_is_called_again_shares_its_variables():
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.Dense(4, name="shared")
    with pytest.raises(ValueError, match="No name available for layer scope"):
        layer.scope_name
    with pytest.raises(ValueError, match="isn't built"):
        layer.count_params()
    again = layer(layer(x))
    assert _names(tf.global_variables()) == ["shared/kernel", "shared/bias"]
    assert again.op.name == "shared/BiasAdd_1"
    assert layer.scope_name == "shared" and layer.weights == tf.trainable_variables()
    assert tf.layers.Dense(4, name="shared")(x).op.name == "shared_1/BiasAdd"
    assert _names(tf.global_variables())[2:] == ["shared_1/kernel", "shared_1/bias"]


def test_reuse_takes_the_variables_of_a_name():
    x = tf.placeholder(tf.float32, [None, 4])
    tf.layers.dense(x, 3, name="d", kernel_regularizer=tf.regularizers.l2(0.1))
    tf.layers.dense(x, 3, name="d", reuse=True, kernel_regularizer=tf.regularizers.l2(0.1))
    assert _names(tf.global_variables()) == ["d/kernel", "d/bias"]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    with pytest.raises(ValueError, match="Variable d/kernel already exists"):
        tf.layers.dense(x, 3, name="d")
    with pytest.raises(ValueError, match="Variable e/kernel does not exist"):
        tf.layers.dense(x, 3, name="e", reuse=True)


def test_a_scope_that_is_entered_again_gives_layers_the_same_names():
    x = tf.placeholder(tf.float32, [None, 4])

    def model(reuse):
        with tf.variable_scope("model", reuse=reuse):
            return tf.layers.dense(tf.layers.dense(x, 4), 2)

    model(None)
    model(True)
    with tf.variable_scope("model") as scope:
        scope.reuse_variables()
        tf.layers.dense(x, 4)
    with tf.variable_scope(scope, reuse=True):
        tf.layers.dense(x, 4)
    assert _names(tf.global_variables()) == [
        "model/dense/kernel",
        "model/dense/bias",
        "model/dense_1/kernel",
        "model/dense_1/bias",
    ]


def test_a_default_name_counts_scopes_that_were_named():
    with tf.variable_scope("a"):
        pass
    with tf.variable_scope(None, default_name="a") as second:
        assert second.name == "a_1"
        with tf.variable_scope(None, default_name="a") as inner:
            assert inner.name == "a_1/a"
    with tf.variable_scope(None, default_name="a") as third:
        assert third.name == "a_2"


def test_regularizers_join_the_losses(session):
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.Dense(
        3,
        kernel_regularizer=tf.regularizers.l1_l2(0.1, 0.2),
        bias_initializer=tf.ones_initializer(),
        bias_regularizer=lambda bias: 3.0 * tf.reduce_sum(bias),
        activity_regularizer=tf.regularizers.l2(0.5),
    )
    y = layer(x)
    assert layer.losses == tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    session.run(tf.global_variables_initializer())
    losses, kernel, value = session.run([layer.losses, layer.kernel, y], {x: BATCH})
    expected = [
        0.1 * np.abs(kernel).sum() + 0.2 * (kernel**2).sum(),
        9.0,
        0.5 * (value**2).sum() / len(BATCH),
    ]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert layer.losses[0].op.name.startswith("dense/kernel/Regularizer/")


def test_a_layer_that_is_not_trainable_has_no_trainable_weights():
    x = tf.placeholder(tf.float64, [None, 4])
    layer = tf.layers.Dense(3, trainable=False)
    layer(x)
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2
    assert tf.trainable_variables() == []
    assert layer.dtype == "float64" and layer.kernel.dtype.base_dtype == tf.float64


@pytest.mark.parametrize(
    "shape, message",
    [
        ([4], "Input 0 of layer d is incompatible.*expected min_ndim=2, found ndim=1"),
        ([None, None], "last dimension of the inputs to `Dense` should be defined"),
        (None, "its rank is undefined, but the layer requires a defined rank"),
    ],
)
def test_dense_refuses_inputs_it_has_no_kernel_for(shape, message):
    with pytest.raises(ValueError, match=message):
        tf.layers.dense(tf.placeholder(tf.float32, shape), 3, name="d")


def test_dense_refuses_other_sizes_types_and_arguments():
    layer = tf.layers.Dense(3)
    layer(tf.zeros([2, 4]))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        layer(tf.zeros([2, 5]))
    with pytest.raises(TypeError, match="non-floating point dtype int32"):
        tf.layers.dense(tf.zeros([2, 4], tf.int32), 3)
    with pytest.raises(ValueError, match="invalid value for `units`"):
        tf.layers.Dense(-1)
    with pytest.raises(TypeError, match="not understood: colour"):
        tf.layers.Dense(1, colour="red")


def test_losses_per_step_are_those_of_numpy(session):
    """Two layers trained by gradient descent, beside the same rules by hand."""
    target = np.random.RandomState(1).randn(6, 2).astype(np.float32)
    x, t = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 2])
    hidden = tf.layers.dense(x, 5, activation=tf.nn.relu)
    y = tf.layers.dense(hidden, 2)
    loss = tf.reduce_mean(tf.square(y - t))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    a, b, c, d = [value.astype(np.float64) for value in session.run(tf.trainable_variables())]
    for _ in range(20):
        h = BATCH @ a + b
        r = np.maximum(h, 0)
        e = r @ c + d - target
        expected = (e**2).mean()
        dy = 2 * e / e.size
        dh = (dy @ c.T) * (h > 0)
        steps = [BATCH.T @ dh, dh.sum(0), r.T @ dy, dy.sum(0)]
        a, b, c, d = [value - 0.1 * step for value, step in zip([a, b, c, d], steps)]
        value, _ = session.run([loss, train], {x: BATCH, t: target})
        np.testing.assert_allclose(value, expected, rtol=1e-4)
    assert expected < 1.0


# ---- Layers of a program's own -------------------------------------------------------------------


class ScaledInputs(tf.layers.Layer):
    def build(self, input_shape):
        self.factor = self.add_variable("factor", [], initializer=tf.constant_initializer(3.0))
        self.count = self.add_weight("count", [], tf.int32, trainable=False)
        super().build(input_shape)

    def call(self, inputs, power=1):
        self.add_loss([tf.reduce_sum(inputs), None])
        self.add_update(self.count.assign_add(1))
        return inputs * self.factor**power


def test_a_layer_of_a_program_has_its_class_name_and_its_call_arguments(session):
    layer = ScaledInputs()
    y = layer(1.0, power=2)
    assert _names(layer.variables) == ["scaled_inputs/factor", "scaled_inputs/count"]
    assert layer.name == "scaled_inputs_1"
    assert _names(layer.trainable_variables) == _names(layer.variables)[:1]
    session.run(tf.global_variables_initializer())
    assert session.run(y) == 9.0 and session.run(layer.losses) == [1.0]
    assert layer.updates == tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    session.run(layer.updates)
    assert session.run(layer.count) == 1


def test_a_layer_that_gives_nothing_is_refused():
    class Empty(tf.layers.Layer):
        def call(self, inputs):
            return None

    with pytest.raises(ValueError, match="should return a Tensor or a list of Tensors, not None"):
        Empty()(tf.zeros([2]))


# ---- Dropout and Flatten -------------------------------------------------------------------------


def test_dropout_scales_what_it_keeps_in_training_alone(session):
    x = tf.ones([100, 100])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, rate=0.25, seed=1, training=training)
    dropped = session.run(y, {training: True})
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((dropped == 0).mean() - 0.25) < 0.02
    assert np.all(session.run(y, {training: False}) == 1)
    assert np.all(session.run(tf.layers.dropout(x)) == 1)
    rows = session.run(tf.layers.dropout(x, noise_shape=[None, 1], seed=2, training=True))
    assert np.all(rows == rows[:, :1]) and {*np.unique(rows)} == {0.0, 2.0}
    with pytest.raises(ValueError, match=r"range \[0, 1\), got 1"):
        tf.layers.dropout(x, rate=1)


def test_flatten_keeps_the_batch(check):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(tf.layers.flatten(x), x.reshape(2, 12))
    check(tf.layers.flatten(x, data_format="channels_first"), x.transpose(0, 2, 1).reshape(2, 12))
    check(tf.layers.flatten(x[0, 0]), x[0, 0].reshape(4, 1))
    fed = tf.placeholder(tf.float32, [None, 3, None])
    check(tf.layers.flatten(fed), x.reshape(2, 12), {fed: x})
    assert tf.layers.flatten(tf.placeholder(tf.float32, [None, 3, 4])).shape.as_list() == [None, 12]
    with pytest.raises(ValueError, match="data_format"):
        tf.layers.flatten(x, data_format="NHWC")


# ---- Batch normalization -------------------------------------------------------------------------


def _normalized(x, mean, variance, gamma=1.0, beta=0.0):
    return gamma * (x - mean) / np.sqrt(variance + 1e-3) + beta


def test_batch_normalization_learns_averages_and_uses_them(session):
    x, training = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(
        momentum=0.9,
        beta_initializer=tf.constant_initializer(0.5),
        gamma_initializer=tf.constant_initializer(2.0),
    )
    y = layer(x, training=training)
    assert _names(tf.global_variables()) == [
        f"batch_normalization/{name}"
        for name in ("gamma", "beta", "moving_mean", "moving_variance")
    ]
    assert _names(tf.trainable_variables()) == [
        "batch_normalization/gamma",
        "batch_normalization/beta",
    ]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2 and updates == layer.updates
    session.run(tf.global_variables_initializer())
    mean, variance = np.zeros(4), np.ones(4)
    for step in range(3):
        batch = BATCH + step
        value, *_ = session.run([y, updates], {x: batch, training: True})
        expected = _normalized(batch, batch.mean(0), batch.var(0), 2.0, 0.5)
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
        mean = 0.9 * mean + 0.1 * batch.mean(0)
        variance = 0.9 * variance + 0.1 * batch.var(0)
    value, *_ = session.run([y, updates], {x: BATCH, training: False})
    expected = _normalized(BATCH, mean, variance, 2.0, 0.5)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    moved = session.run([layer.moving_mean, layer.moving_variance])
    np.testing.assert_allclose(moved, [mean, variance], rtol=1e-5)


@pytest.mark.parametrize("use_resource", [False, True])
def test_gradients_go_through_what_is_normalized_if_training_is_fed(use_resource, session):
    x, training = tf.placeholder(tf.float64, [6, 4]), tf.placeholder(tf.bool, [])
    with tf.variable_scope("model", use_resource=use_resource):
        y = tf.layers.batch_normalization(x, training=training, name="fed")
        known = [
            tf.layers.batch_normalization(x, training=way, name="fed", reuse=True)
            for way in (True, False)
        ]
    weights = np.random.RandomState(5).randn(6, 4)
    slopes = [tf.gradients(tf.reduce_sum(made * weights), x)[0] for made in (y, *known)]
    session.run(tf.global_variables_initializer())
    for way, expected in ((True, slopes[1]), (False, slopes[2])):
        pair = session.run([slopes[0], expected], {x: BATCH, training: way})
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12)


def test_images_move_the_variance_of_the_population(session):
    images = np.random.RandomState(2).randn(2, 3, 3, 5).astype(np.float32)
    for fused, count in ((None, 17 / 18), (True, 17 / 18), (False, 1.0)):
        layer = tf.layers.BatchNormalization(momentum=0.0, fused=fused)
        y = layer(images, training=True)
        session.run(tf.global_variables_initializer())
        value, *_ = session.run([y, layer.updates])
        mean, variance = images.mean((0, 1, 2)), images.var((0, 1, 2))
        np.testing.assert_allclose(value, _normalized(images, mean, variance), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(session.run(layer.moving_variance), variance / count, rtol=1e-5)


def test_batch_normalization_of_a_middle_axis_without_scale(session):
    x = np.random.RandomState(3).randn(2, 3, 4).astype(np.float32)
    y = tf.layers.batch_normalization(x, axis=1, scale=False, training=True, name="bn")
    assert _names(tf.trainable_variables()) == ["bn/beta"]
    session.run(tf.global_variables_initializer())
    mean, variance = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    np.testing.assert_allclose(session.run(y), _normalized(x, mean, variance), rtol=1e-4, atol=1e-5)


def test_batch_normalization_without_training_updates_nothing():
    tf.layers.batch_normalization(BATCH)
    tf.layers.batch_normalization(BATCH, training=True, trainable=False)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_gradients_of_batch_normalization_are_differences(session):
    """Against central differences of the same computation in NumPy."""
    x = tf.placeholder(tf.float64, [6, 4])
    weights = np.random.RandomState(4).randn(6, 4)
    y = tf.layers.batch_normalization(x, training=True)
    slope = tf.gradients(tf.reduce_sum(y * weights), x)[0]
    session.run(tf.global_variables_initializer())
    start = BATCH.astype(np.float64)

    def total(batch):
        return (_normalized(batch, batch.mean(0), batch.var(0)) * weights).sum()

    expected = np.zeros_like(start)
    for place in np.ndindex(*start.shape):
        step = np.zeros_like(start)
        step[place] = 1e-5
        expected[place] = (total(start + step) - total(start - step)) / 2e-5
    np.testing.assert_allclose(session.run(slope, {x: start}), expected, rtol=1e-4, atol=1e-7)


def test_batch_normalization_refuses_what_it_lacks():
    with pytest.raises(NotImplementedError, match="has no renorm"):
        tf.layers.BatchNormalization(renorm=True)
    with pytest.raises(ValueError, match="Invalid axis: 2"):
        tf.layers.batch_normalization(BATCH, axis=2)
    with pytest.raises(ValueError, match="undefined `axis` dimension"):
        tf.layers.batch_normalization(tf.placeholder(tf.float32, [3, None]))
    with pytest.raises(TypeError, match="`pred` must be a Tensor"):
        tf.layers.batch_normalization(BATCH, training="yes")


def test_dropout_that_is_told_by_a_fed_value_has_the_gradient_of_what_it_kept(session):
    training = tf.placeholder(tf.bool, [])
    x = tf.ones([1000])
    y = tf.layers.dropout(x, rate=0.25, seed=3, training=training)
    (by_x,) = tf.gradients(y, [x])
    kept, gradient = session.run([y, by_x], {training: True})
    assert np.array_equal(kept, gradient) and 600 < np.count_nonzero(gradient) < 900
    assert np.array_equal(session.run(by_x, {training: False}), np.ones(1000))
