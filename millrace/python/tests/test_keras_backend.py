"""Functions of tf.keras.backend beside formulas in NumPy."""

import numpy as np
import pytest

import millrace as tf

K = tf.keras.backend
RNG = np.random.default_rng(17)


def values(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def run(x, feeds=None):
    return K.get_session().run(x, feeds)


def test_numbers_along_axes_are_numpys():
    x = values(3, 4)
    t = K.constant(x)
    for name in ("sum", "prod", "max", "min", "mean", "var", "std"):
        made = getattr(K, name)(t, axis=1, keepdims=True)
        assert np.allclose(run(made), getattr(x, name)(1, keepdims=True), atol=1e-5), name
    assert run(K.any(t > 0, axis=0)).tolist() == (x > 0).any(0).tolist()
    assert run(K.all(K.greater(t, 9.0))) == np.False_
    assert np.isclose(run(K.mean(t > 0)), (x > 0).mean())
    assert np.allclose(run(K.l2_normalize(t, 1)), x / np.linalg.norm(x, axis=1, keepdims=True))
    assert np.allclose(run(K.cumsum(t, 1)), x.cumsum(1), atol=1e-5)


def test_shapes_change_as_their_names_say():
    x = values(2, 3, 4)
    t = K.constant(x)
    assert (run(K.permute_dimensions(t, (2, 0, 1))) == x.transpose(2, 0, 1)).all()
    assert (run(K.transpose(t)) == x.T).all() and (run(K.flatten(t)) == x.ravel()).all()
    assert K.batch_flatten(t).shape.as_list() == [2, 12]
    unknown = K.placeholder((None, 3, None))
    assert run(K.batch_flatten(unknown), {unknown: x}).shape == (2, 12)
    assert (run(K.repeat_elements(t, 2, 1)) == x.repeat(2, 1)).all()
    assert (run(K.repeat(K.constant(x[0]), 5))[:, 3] == x[0]).all()
    assert (run(K.tile(t, 2)) == np.tile(x, (2, 2, 2))).all()
    assert (run(K.concatenate([t, t])) == np.concatenate([x, x], -1)).all()
    assert run(K.one_hot(K.constant([1, 0], "int32"), 3)).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert run(K.arange(5)).tolist() == [0, 1, 2, 3, 4] and K.arange(2, 9, 3).dtype == tf.int32
    assert K.int_shape(unknown) == (None, 3, None) and K.ndim(t) == 3 and K.count_params(t) == 24


@pytest.mark.parametrize(
    "first, second, axes, formula",
    [
        ((4, 5), (4, 5), 1, "bi,bi->b"),
        ((4, 2, 5), (4, 5, 3), None, "bij,bjk->bik"),
        ((4, 2, 5), (4, 3, 5), (2, 2), "bij,bkj->bik"),
        ((4, 5, 2), (4, 5), 1, "bji,bj->bi"),
        ((4, 5), (4, 5, 2), (1, 1), "bj,bji->bi"),
        ((4, 3, 2, 5), (4, 3, 6, 5), (3, 3), "bhij,bhkj->bhik"),
    ],
)
def test_batches_are_multiplied_sample_by_sample(first, second, axes, formula):
    x, y = values(*first), values(*second)
    made = run(K.batch_dot(K.constant(x), K.constant(y), axes))
    wanted = np.einsum(formula, x, y)
    assert made.shape == (wanted.shape if wanted.ndim > 1 else (4, 1))
    assert np.allclose(made, wanted.reshape(made.shape), atol=1e-5)


def test_switches_choose_by_a_scalar_or_element_by_element():
    x, y = values(3, 2), values(3, 2)
    rows = np.array([True, False, True])
    assert (run(K.switch(tf.constant(rows), x, y)) == np.where(rows[:, None], x, y)).all()
    which = K.placeholder((), dtype="bool")
    made = K.switch(which, lambda: tf.constant(x), lambda: tf.constant(y))
    assert (run(made, {which: True}) == x).all() and (run(made, {which: False}) == y).all()
    with pytest.raises(ValueError, match="Rank of `condition`"):
        K.switch(tf.constant([[True]]), tf.constant([1.0]), tf.constant([2.0]))


def test_what_is_for_training_is_so_by_the_phase():
    made = K.in_train_phase(lambda: tf.constant(1), lambda: tf.constant(2))
    assert run(made) == 2 and run(made, {K.learning_phase(): True}) == 1
    assert run(K.in_test_phase(K.constant(1.0), K.constant(2.0), training=1)) == 2
    before = K.learning_phase()
    with K.learning_phase_scope(1):
        assert K.learning_phase() is True
    assert K.learning_phase() is before
    with pytest.raises(ValueError, match="learning phase"), K.learning_phase_scope(3):
        pass


def test_variables_have_values_and_are_changed_by_updates():
    v = K.variable(np.arange(3), name="v")
    assert K.eval(v).tolist() == [0, 1, 2] and v.dtype.base_dtype == tf.float32
    run(K.update_add(v, K.ones((3,))))
    run(K.update_sub(v, [0.0, 0.0, 1.0]))
    assert K.get_value(v).tolist() == [1, 2, 2]
    run(K.moving_average_update(v, K.zeros_like(v), 0.5))
    assert K.get_value(v).tolist() == [0.5, 1, 1]
    run(K.update(v, [7.0, 8.0, 9.0]))
    assert K.get_value(v).tolist() == [7, 8, 9] and K.eval(K.eye(2)).tolist() == [[1, 0], [0, 1]]
    drawn = K.random_uniform_variable((100,), 2, 3, seed=1)
    assert ((K.eval(drawn) >= 2) & (K.eval(drawn) < 3)).all()
    assert set(run(K.random_binomial((99,), 0.5, seed=2))) == {0.0, 1.0}


def test_functions_run_parts_of_models_and_updates():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(3, input_dim=2), tf.keras.layers.Dropout(0.5)]
    )
    count = K.variable(0.0)
    ask = K.function(
        [model.input, K.learning_phase()], [model.output], updates=[K.update_add(count, 1.0)]
    )
    x = values(64, 2)
    (plain,), (dropped,) = ask([x, 0]), ask([x, 1])
    assert np.allclose(plain, model.predict(x)) and 40 < (dropped == 0).sum() < 160
    assert K.eval(count) == 2
    with pytest.raises(ValueError, match="2 inputs"):
        ask([x])


def test_images_are_convolved_pooled_padded_and_made_larger():
    x = values(2, 6, 6, 3)
    t = K.constant(x)
    kernel = K.constant(values(3, 3, 3, 4))
    valid = run(K.conv2d(t, kernel))
    assert valid.shape == (2, 4, 4, 4)
    assert np.allclose(run(K.conv2d(t, kernel, padding="same"))[:, 1:-1, 1:-1], valid, atol=1e-5)
    assert K.conv2d_transpose(K.constant(valid), kernel, (None, 6, 6, 3)).shape.as_list()[-1] == 3
    pooled = run(K.pool2d(t, (2, 2), (2, 2), pool_mode="avg"))
    assert np.allclose(pooled, x.reshape(2, 3, 2, 3, 2, 3).mean((2, 4)), atol=1e-5)
    padded = run(K.spatial_2d_padding(t, ((1, 0), (0, 2))))
    assert (padded == np.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0)))).all()
    larger = run(K.resize_images(t, 2, 3, "channels_last"))
    assert (larger == x.repeat(2, 1).repeat(3, 2)).all()
    lines = values(2, 5, 3)
    seen = run(K.conv1d(K.constant(lines), K.constant(np.ones((2, 3, 1))), padding="causal"))
    wanted = lines.sum(-1) + np.pad(lines.sum(-1), ((0, 0), (1, 0)))[:, :-1]
    assert np.allclose(seen[..., 0], wanted, atol=1e-5)
    bias = values(6, 6, 3)
    assert np.allclose(run(K.bias_add(t, K.constant(bias))), x + bias)
    with pytest.raises(ValueError, match="pooling mode"):
        K.pool2d(t, (2, 2), pool_mode="least")


def test_a_batch_is_normalized_over_axes():
    x = values(8, 4)
    gamma, beta = values(4), values(4)
    made, mean, variance = run(
        K.normalize_batch_in_training(K.constant(x), K.constant(gamma), K.constant(beta), [0])
    )
    wanted = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * gamma + beta
    assert np.allclose(made, wanted, atol=1e-4) and np.allclose(mean, x.mean(0), atol=1e-5)
    again = K.batch_normalization(K.constant(x), mean, variance, beta, gamma)
    assert np.allclose(run(again), wanted, atol=1e-4)


def test_names_and_numbers_of_the_backend():
    assert K.backend() == "tensorflow"
    assert [K.get_uid("a"), K.get_uid("a"), K.get_uid("b")] == [1, 2, 1]
    K.reset_uids()
    assert K.get_uid("a") == 1
    assert K.is_sparse(K.placeholder((2, 2), sparse=True)) and not K.is_sparse(K.placeholder((2,)))
    dense = K.to_dense(tf.SparseTensor([[0, 1]], [5.0], [1, 2]))
    assert run(dense).tolist() == [[0, 5]]
