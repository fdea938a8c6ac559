"""tf.contrib's layers and scopes of arguments, initializers and regularizers: values, names, collections."""

import numpy as np
import pytest

import millrace as tf

layers, framework = tf.contrib.layers, tf.contrib.framework
BATCH = np.random.RandomState(0).randn(6, 4).astype(np.float32)


def _names(variables):
    return [variable.op.name for variable in variables]


# ---- Layers --------------------------------------------------------------------------------------


def test_fully_connected_is_relu_of_a_product_and_biases(session):
    x = tf.placeholder(tf.float32, [None, 4])
    y = layers.fully_connected(
        x, 3, biases_initializer=tf.constant_initializer(0.5), outputs_collections="ends"
    )
    assert _names(tf.model_variables()) == ["fully_connected/weights", "fully_connected/biases"]
    assert tf.model_variables() == tf.trainable_variables() == tf.global_variables()
    assert y.op.name == "fully_connected/Relu" and tf.get_collection("ends") == [y]
    session.run(tf.global_variables_initializer())
    value, weights = session.run([y, tf.model_variables()[0]], {x: BATCH})
    np.testing.assert_allclose(value, np.maximum(BATCH @ weights + 0.5, 0), rtol=1e-5, atol=1e-6)


def test_a_normalizer_takes_the_place_of_biases(session):
    y = layers.fully_connected(
        BATCH,
        3,
        activation_fn=None,
        normalizer_fn=layers.batch_norm,
        normalizer_params={"decay": 0.9},
        scope="fc",
        variables_collections={"weights": ["kernels"]},
    )
    assert _names(tf.trainable_variables()) == ["fc/weights", "fc/BatchNorm/beta"]
    assert _names(tf.get_collection("kernels")) == ["fc/weights"]
    assert _names(tf.model_variables()) == [
        "fc/weights",
        "fc/BatchNorm/beta",
        "fc/BatchNorm/moving_mean",
        "fc/BatchNorm/moving_variance",
    ]
    session.run(tf.global_variables_initializer())
    value, weights = session.run([y, tf.trainable_variables()[0]])
    made = BATCH @ weights
    expected = (made - made.mean(0)) / np.sqrt(made.var(0) + 1e-3)
    np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-5)
    session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    mean, variance = session.run(tf.global_variables()[2:])
    np.testing.assert_allclose(mean, 0.1 * made.mean(0), rtol=1e-4, atol=1e-6)
    # As TensorFlow's op has it: of the population.
    np.testing.assert_allclose(variance, 0.9 + 0.1 * made.var(0) * 6 / 5, rtol=1e-4)


def test_updates_without_a_collection_happen_with_the_outputs(session):
    y = layers.batch_norm(BATCH, decay=0.0, updates_collections=None, fused=False, scope="bn")
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    session.run(tf.global_variables_initializer())
    session.run(y)
    mean, variance = session.run(tf.global_variables()[1:])
    np.testing.assert_allclose(mean, BATCH.mean(0), rtol=1e-4)
    np.testing.assert_allclose(variance, BATCH.var(0), rtol=1e-4)


def test_reuse_and_regularizers(session):
    for reuse in (None, True):
        layers.fully_connected(
            BATCH, 3, scope="fc", reuse=reuse, weights_regularizer=layers.l2_regularizer(0.1)
        )
    assert _names(tf.global_variables()) == ["fc/weights", "fc/biases"]
    assert tf.model_variables() == tf.global_variables()
    (loss,) = tf.losses.get_regularization_losses()
    session.run(tf.global_variables_initializer())
    value, weights = session.run([loss, tf.global_variables()[0]])
    np.testing.assert_allclose(value, 0.1 * (weights**2).sum() / 2, rtol=1e-5)


def test_flatten_and_dropout(check, session):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) + 1
    check(layers.flatten(x), x.reshape(2, 12))
    check(layers.dropout(x, is_training=False), x)
    dropped = session.run(layers.dropout(x, keep_prob=0.5, seed=3))
    assert np.all((dropped == 0) | (dropped == 2 * x)) and 0 < (dropped == 0).sum() < 24


def test_what_contrib_layers_refuse():
    with pytest.raises(ValueError, match="num_outputs type should be an integer"):
        layers.fully_connected(BATCH, 2.5)
    with pytest.raises(ValueError, match="NCHW or NHWC"):
        layers.batch_norm(BATCH, data_format="channels_last")
    with pytest.raises(NotImplementedError, match="batch_weights"):
        layers.batch_norm(BATCH, batch_weights=[1.0])


# ---- Scopes of arguments -------------------------------------------------------------------------


@framework.add_arg_scope
def _told(a, b=2, c=3):
    return a, b, c


def test_an_argument_scope_sets_what_a_call_does_not(session):
    with framework.arg_scope([_told], b=20) as outer:
        assert _told(1) == (1, 20, 3) and _told(1, b=5) == (1, 5, 3)
        with framework.arg_scope([_told], c=30):
            assert _told(1) == (1, 20, 30)
        assert _told(1) == (1, 20, 3)
    assert _told(1) == (1, 2, 3)
    with framework.arg_scope(outer):
        assert _told(1) == (1, 20, 3)
    with tf.contrib.slim.arg_scope([layers.fully_connected], activation_fn=None, scope="same"):
        assert layers.fully_connected(BATCH, 3).op.name == "same/BiasAdd"
    assert framework.arg_scoped_arguments(_told) == ("b", "c")
    assert framework.has_arg_scope(_told) and not framework.has_arg_scope(print)
    scoped = framework.add_arg_scope(tf.layers.conv2d)
    names = framework.arg_scoped_arguments(scoped)
    assert (names[:2], names[-1]) == (("strides", "padding"), "reuse")


def test_argument_scopes_are_for_functions_that_have_them():
    for given, more, error, message in [
        ([print], {"b": 1}, ValueError, "not decorated with @add_arg_scope"),
        (print, {"b": 1}, TypeError, "must either be a list/tuple or reused scope"),
        ({}, {"b": 1}, ValueError, "kwargs must be empty"),
    ]:
        with pytest.raises(error, match=message):
            with framework.arg_scope(given, **more):
                pass


# ---- Variables by name ---------------------------------------------------------------------------


def test_variables_are_found_by_scope_and_suffix():
    with tf.variable_scope("a") as scope:
        one, two = tf.get_variable("w", []), tf.get_variable("b", [], trainable=False)
    three = tf.get_variable("w", [])
    four = framework.local_variable(1.0, name="here")
    assert framework.get_variables(scope) == [one, two] == framework.get_variables("a/")
    assert framework.get_variables(suffix="w") == [one, three]
    assert framework.get_variables_by_name("w") == [one, three]
    assert framework.get_variables_by_suffix("b") == [two]
    assert framework.get_trainable_variables() == [one, three]
    assert framework.get_local_variables() == [four]
    assert framework.get_unique_variable("w") is three
    assert framework.get_variables_to_restore(exclude=["a/b"]) == [one, three]
    assert framework.get_variables_to_restore(include=["a"], exclude=["a/b"]) == [one]
    with pytest.raises(ValueError, match="Couldn't find variable v"):
        framework.get_unique_variable("v")
    with pytest.raises(TypeError, match="include is provided but is not a list"):
        framework.get_variables_to_restore(include="a")


def test_the_global_step_has_its_place_in_contrib_too():
    step = framework.get_or_create_global_step()
    assert step is tf.train.get_global_step() is framework.get_global_step()


# ---- Initializers and regularizers ---------------------------------------------------------------


@pytest.mark.parametrize(
    "make, deviation, limit",
    [
        (lambda: tf.initializers.he_normal(1), np.sqrt(2 / 200), None),
        (lambda: tf.initializers.he_uniform(1), np.sqrt(2 / 200), np.sqrt(6 / 200)),
        (lambda: tf.initializers.lecun_normal(1), np.sqrt(1 / 200), None),
        (lambda: tf.keras.initializers.lecun_uniform(1), np.sqrt(1 / 200), np.sqrt(3 / 200)),
        (lambda: layers.xavier_initializer(seed=1), np.sqrt(1 / 250), np.sqrt(3 / 250)),
        (lambda: layers.variance_scaling_initializer(seed=1), 0.88 * np.sqrt(2.6 / 200), None),
        (
            lambda: layers.variance_scaling_initializer(1.0, "FAN_OUT", True, seed=1),
            np.sqrt(1 / 300),
            np.sqrt(3 / 300),
        ),
        (lambda: tf.initializers.uniform_unit_scaling(2.0, 1), 2 * np.sqrt(1 / 200), None),
        (lambda: tf.keras.initializers.RandomNormal(seed=1), 0.05, None),
        (lambda: tf.keras.initializers.RandomUniform(seed=1), 0.05 / np.sqrt(3), 0.05),
        (lambda: tf.keras.initializers.TruncatedNormal(seed=1), 0.88 * 0.05, 0.1),
    ],
)
def test_random_initializers_have_their_spread(make, deviation, limit, session):
    values = session.run(make()([200, 300], dtype=tf.float32))
    assert values.shape == (200, 300) and abs(values.mean()) < deviation / 50
    assert abs(values.std() / deviation - 1) < 0.02
    if limit:
        assert 0.99 * limit < np.abs(values).max() <= np.float32(limit)


def test_the_identity_is_a_matrix(check):
    check(tf.initializers.identity(2.0)([2, 3]), np.float32([[2, 0, 0], [0, 2, 0]]))
    check(tf.keras.initializers.identity()([2, 2], tf.float64), np.eye(2))
    with pytest.raises(ValueError, match="only be used for 2D"):
        tf.initializers.identity()([2, 2, 2])


def test_initializers_of_contrib_refuse_other_types_and_modes():
    with pytest.raises(TypeError, match="non-floating point type"):
        layers.xavier_initializer()([2], tf.int32)
    with pytest.raises(TypeError, match="Unknown mode fan_in"):
        layers.variance_scaling_initializer(mode="fan_in")


def test_regularizers_are_sums_over_weights(check):
    weights = tf.constant([[1.0, -2.0], [3.0, 0.0]])
    check(layers.l1_regularizer(0.5)(weights), np.float32(3.0))
    check(layers.l2_regularizer(0.5)(weights), np.float32(3.5))
    check(layers.l1_l2_regularizer(0.5, 1.0)(weights), np.float32(10.0))
    check(tf.regularizers.l1_l2(0.5, 1.0)(weights), np.float32(17.0))
    check(tf.keras.regularizers.l1(0.5)(weights), np.float32(3.0))
    assert layers.l2_regularizer(0.0)(weights) is None
    assert layers.sum_regularizer([None]) is None
    total = layers.apply_regularization(layers.l2_regularizer(1.0), [weights, weights])
    check(total, np.float32(14.0))
    assert tf.losses.get_regularization_losses() == [total]


def test_what_regularizers_refuse():
    with pytest.raises(ValueError, match="less than 0"):
        layers.l1_regularizer(-1.0)
    with pytest.raises(ValueError, match="cannot be an integer"):
        layers.l2_regularizer(1)
    with pytest.raises(ValueError, match="not a valid regularization penalty"):
        tf.regularizers.l2(float("nan"))
    with pytest.raises(ValueError, match="No weights to regularize"):
        layers.apply_regularization(layers.l2_regularizer(1.0))
    with pytest.raises(ValueError, match="must return a scalar"):
        layers.apply_regularization(lambda w: w, [tf.zeros([2])])


# ---- Nested structures ---------------------------------------------------------------------------


def test_nested_structures_are_taken_apart_and_put_together():
    nest = framework.nest
    given = {"b": (1, 2), "a": [3]}
    assert nest.flatten(given) == [3, 1, 2] and nest.flatten(4) == [4]
    assert nest.is_sequence(given) and not nest.is_sequence("text")
    assert nest.map_structure(lambda x, y: x * y, given, given) == {"b": (1, 4), "a": [9]}
    assert nest.pack_sequence_as(given, "xyz") == {"b": ("y", "z"), "a": ["x"]}
    with pytest.raises(ValueError, match="Structure had 3 elements, but flat_sequence had 2"):
        nest.pack_sequence_as(given, [1, 2])
    with pytest.raises(ValueError, match="don't have the same nesting"):
        nest.assert_same_structure([1, [2]], [1, 2])
    with pytest.raises(TypeError, match="same sequence type: tuple and list"):
        nest.map_structure(max, [(1, 2)], [[3, 4]])
    nest.assert_same_structure([(1, 2)], [[3, 4]], check_types=False)
    with pytest.raises(TypeError, match="func must be callable"):
        nest.map_structure(1, [2])
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(max)


def test_layer_norm_takes_the_mean_and_variance_of_each_example(session):
    x = np.random.RandomState(1).randn(3, 4, 5).astype(np.float32)
    y = layers.layer_norm(x, scope="ln", outputs_collections="ends")
    assert _names(tf.model_variables()) == ["ln/beta", "ln/gamma"]
    assert [v.shape.as_list() for v in tf.model_variables()] == [[5], [5]]
    last = layers.layer_norm(x, begin_norm_axis=-1, center=False, activation_fn=tf.nn.relu)
    session.run(tf.global_variables_initializer())
    flat = x.reshape(3, -1)
    expected = (flat - flat.mean(1, keepdims=True)) / flat.std(1, keepdims=True)
    np.testing.assert_allclose(session.run(y), expected.reshape(x.shape), rtol=1e-4, atol=1e-5)
    expected = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    np.testing.assert_allclose(session.run(last), np.maximum(expected, 0), rtol=1e-4, atol=1e-5)
    assert tf.get_collection("ends") == [y]
    with pytest.raises(ValueError, match="begin_norm_axis"):
        layers.layer_norm(x, begin_norm_axis=3)
    with pytest.raises(ValueError, match="not fully defined"):
        layers.layer_norm(tf.placeholder(tf.float32, [2, None]))
