"""tf.nn: values beside NumPy, gradients beside finite differences, and what is refused."""

import numpy as np
import pytest

import millrace as tf

_RANDOM = np.random.RandomState(7)


def _softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _check_gradient(session, function, *at):
    """Gradients of sum(function * weights) by each argument, held against finite differences."""
    xs = [tf.placeholder(tf.float64, value.shape) for value in at]
    y = function(*xs)
    weights = np.linspace(0.5, 1.5, int(np.prod(y.shape.as_list()))).reshape(y.shape.as_list())
    total = tf.reduce_sum(y * weights)
    found = session.run(tf.gradients(total, xs), dict(zip(xs, at)))
    for number, value in enumerate(at):
        for place in np.ndindex(value.shape):

            def moved(by):
                values = [each.copy() for each in at]
                values[number][place] += by
                return session.run(total, dict(zip(xs, values)))

            expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
            assert found[number][place] == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_softmax_goes_along_any_axis(session, check):
    x = _RANDOM.randn(2, 3, 4)
    for axis in (None, -1, 2, 1, -2, 0):
        expected = _softmax(x, -1 if axis is None else axis)
        check(tf.nn.softmax(x, axis=axis), expected)
        check(tf.nn.log_softmax(x, axis=axis), np.log(expected))
    check(tf.nn.softmax(x, dim=1), _softmax(x, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be in the range"):
        tf.nn.softmax(x, axis=3)
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.nn.softmax(x, axis=1, dim=1)
    _check_gradient(session, lambda v: tf.nn.softmax(v, axis=1), x)


def test_activations_are_their_formulas(check):
    x = np.float32([-2.0, -0.5, 0.0, 3.0, 7.0])
    check(tf.nn.relu(x), np.maximum(x, 0))
    check(tf.nn.relu6(x), np.clip(x, 0, 6))
    check(tf.nn.leaky_relu(x), np.where(x > 0, x, np.float32(0.2) * x))
    check(tf.nn.leaky_relu(x, alpha=0.5), np.where(x > 0, x, 0.5 * x).astype(np.float32))
    check(tf.nn.leaky_relu([-5, 5]), np.float32([-1, 5]))
    check(tf.nn.elu(x), np.where(x > 0, x, np.expm1(x)))
    check(tf.nn.softplus(x), np.log1p(np.exp(x)))
    check(tf.nn.softsign(x), x / (1 + np.abs(x)))
    check(tf.nn.sigmoid(x), 1 / (1 + np.exp(-x)))
    check(tf.nn.swish(x), x / (1 + np.exp(-x)))
    check(tf.nn.crelu(x), np.maximum(np.concatenate([x, -x]), 0))
    assert tf.nn.selu(x).shape.as_list() == [5] and tf.nn.tanh(x).dtype == tf.float32


def test_biases_go_to_the_channels(check):
    x, w, b = _RANDOM.randn(2, 3), _RANDOM.randn(3, 4), _RANDOM.randn(4)
    check(tf.nn.xw_plus_b(x, w, b), x @ w + b)
    check(tf.nn.relu_layer(x, w, b), np.maximum(x @ w + b, 0))
    image = _RANDOM.randn(2, 4, 3, 3)
    check(tf.nn.bias_add(image, b, data_format="NCHW"), image + b[:, None, None])
    check(tf.nn.bias_add(image.transpose(0, 2, 3, 1), b), image.transpose(0, 2, 3, 1) + b)
    with pytest.raises(ValueError, match="data_format must be of the form"):
        tf.nn.bias_add(image, b, data_format="HWCN")


def test_softmax_losses_are_cross_entropies_along_any_axis(session, check):
    x, labels = _RANDOM.randn(2, 3, 4), _softmax(_RANDOM.randn(2, 3, 4))
    for axis in (-1, 1):
        by_hand = -(labels * np.log(_softmax(x, axis))).sum(axis)
        for function in (
            tf.nn.softmax_cross_entropy_with_logits,
            tf.nn.softmax_cross_entropy_with_logits_v2,
        ):
            check(function(labels=labels, logits=x, axis=axis), by_hand)
    by_hand = -(labels * np.log(_softmax(x))).sum(-1)
    short = tf.nn.softmax_cross_entropy_with_logits(
        labels=labels.astype(np.float16), logits=x.astype(np.float16)
    )
    assert short.dtype == tf.float16
    assert np.allclose(session.run(short), by_hand, rtol=1e-2)
    # Rows of labels as probabilities: the gradient by logits supposes it.
    logits, probabilities = x[0], labels[0]
    _check_gradient(
        session,
        lambda v: tf.nn.softmax_cross_entropy_with_logits_v2(probabilities, v),
        logits,
    )
    given = tf.constant(probabilities)
    old = tf.nn.softmax_cross_entropy_with_logits(labels=given, logits=logits)
    new = tf.nn.softmax_cross_entropy_with_logits_v2(given, logits)
    assert tf.gradients(old, given) == [None]
    assert np.allclose(session.run(tf.gradients(new, given)[0]), -np.log(_softmax(logits)))


def test_second_order_of_softmax_losses(session):
    labels, sparse = _softmax(_RANDOM.randn(2, 3)), np.array([2, 0])

    def slope(loss):
        return lambda x: tf.gradients(tf.reduce_sum(tf.square(loss(x))), x)[0]

    at = _RANDOM.randn(2, 3)
    _check_gradient(
        session, slope(lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels, x)), at
    )
    _check_gradient(
        session,
        slope(lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=sparse, logits=x)),
        at,
    )
    for activation in (tf.tanh, tf.sigmoid, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign):
        _check_gradient(session, slope(activation), at)


def test_sparse_losses_take_numbers_of_classes(check):
    x, labels = _RANDOM.randn(2, 3, 4), np.array([[0, 3, 1], [2, 2, 0]])
    by_hand = -np.take_along_axis(np.log(_softmax(x)), labels[..., None], -1)[..., 0]
    check(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x), by_hand)
    check(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[0], logits=x[0]), by_hand[0])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits
    with pytest.raises(ValueError, match="Rank mismatch"):
        loss(labels=labels, logits=x[0])
    with pytest.raises(ValueError, match="Shape mismatch"):
        loss(labels=labels[:1], logits=x)
    with pytest.raises(ValueError, match="Logits cannot be scalars"):
        loss(labels=0, logits=1.0)
    with pytest.raises(ValueError, match="with named arguments"):
        loss(x, labels)
    with pytest.raises(ValueError, match="Both labels and logits must be provided"):
        loss(logits=x)


def test_losses_of_sigmoids(session, check):
    x, z = np.array([-100.0, -1.0, 0.0, 2.0, 100.0]), np.array([0.0, 1.0, 0.5, 0.25, 1.0])
    plain = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
    check(tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x), plain)
    q = 3.0
    weighted = (1 - z) * x + (1 + (q - 1) * z) * (np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0))
    check(tf.nn.weighted_cross_entropy_with_logits(z, x, q), weighted)
    check(tf.nn.weighted_cross_entropy_with_logits(targets=z, logits=x, pos_weight=1.0), plain)
    logits = tf.constant(x)
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=logits)
    assert np.allclose(session.run(tf.gradients(loss, logits)[0]), 1 / (1 + np.exp(-x)) - z)
    with pytest.raises(ValueError, match="must have the same shape"):
        tf.nn.sigmoid_cross_entropy_with_logits(labels=z[:2], logits=x)


def test_moments_and_what_is_normalized_by_them(session, check):
    x = _RANDOM.randn(4, 5, 3)
    mean, variance = tf.nn.moments(tf.constant(x), [0, 1])
    check(mean, x.mean((0, 1)))
    check(variance, x.var((0, 1)))
    kept, _ = tf.nn.moments(tf.constant(x), [0], keep_dims=True)
    assert kept.shape.as_list() == [1, 5, 3]
    _check_gradient(session, lambda v: tf.nn.moments(v, [0, 1])[1], x)
    scaled = tf.nn.batch_normalization(tf.constant(x), mean, variance, 0.5, 2.0, 1e-3)
    by_hand = 2 * (x - x.mean((0, 1))) / np.sqrt(x.var((0, 1)) + 1e-3) + 0.5
    check(scaled, by_hand)
    bare = tf.nn.batch_normalization(tf.constant(x), mean, variance, None, None, 1e-3)
    check(bare, (by_hand - 0.5) / 2)
    check(tf.nn.l2_normalize(x, axis=[1, 2]), x / np.sqrt((x * x).sum((1, 2), keepdims=True)))
    check(tf.nn.l2_normalize(np.zeros(3), dim=0), np.zeros(3))
    check(tf.nn.zero_fraction([[0, 1], [0, 0]]), np.float32(0.75))


def test_the_largest_of_each_row(session, check):
    x = tf.constant([[3.0, 9.0, 4.0], [5.0, 1.0, 6.0]])
    values, indices = tf.nn.top_k(x, 2)
    check(values, np.float32([[9, 4], [6, 5]]))
    check(indices, np.int32([[1, 2], [2, 0]]))
    check(tf.nn.top_k(x).values, np.float32([[9], [6]]))
    by_x = tf.gradients(values * [[1.0, 2.0], [3.0, 4.0]], x)[0]
    check(by_x, np.float32([[0, 1, 2], [4, 0, 3]]))
    check(tf.nn.in_top_k(x, [2, 1], 2), np.array([True, False]))


def test_dropout_drops_a_share_and_keeps_the_mean(session):
    x = tf.ones([100, 100])
    for kept in (
        tf.nn.dropout(x, 0.75, seed=3),
        tf.nn.dropout(x, rate=0.25, seed=3),
        tf.nn.dropout(x, rate=tf.constant(0.25), seed=3),
    ):
        values = session.run(kept)
        assert set(np.unique(values)) == {np.float32(0.0), np.float32(4 / 3)}
        assert 0.7 < (values > 0).mean() < 0.8
    rows = session.run(tf.nn.dropout(x, rate=0.5, noise_shape=[None, 1], seed=3))
    assert all(len(set(row)) == 1 for row in rows) and len(np.unique(rows)) == 2
    assert tf.nn.dropout(x, rate=0) is x
    by_x = tf.gradients(kept, x)[0]
    found, values = session.run([by_x, kept])
    assert np.array_equal(found, values)
    with pytest.raises(ValueError, match="You must provide a rate"):
        tf.nn.dropout(x)
    with pytest.raises(ValueError, match=r"in the range \[0, 1\)"):
        tf.nn.dropout(x, rate=1.0)
    with pytest.raises(ValueError, match="has to be a floating point tensor"):
        tf.nn.dropout(tf.constant([1]), rate=0.5)


@pytest.mark.parametrize("use_resource", [False, True])
def test_embeddings_are_rows_whose_gradients_stay_slices(session, use_resource):
    table = np.arange(14.0, dtype=np.float32).reshape(7, 2)
    w = tf.Variable(table, use_resource=use_resource)
    ids = np.array([[6, 0], [3, 6]])
    found = tf.nn.embedding_lookup(w, ids)
    session.run(tf.global_variables_initializer())
    assert np.array_equal(session.run(found), table[ids])
    (gradient,) = tf.gradients(found, [w])
    assert isinstance(gradient, tf.IndexedSlices)
    norms = np.linalg.norm(session.run(tf.nn.embedding_lookup(w, ids, max_norm=1.0)), axis=-1)
    assert np.allclose(norms, 1.0)
    with pytest.raises(ValueError, match="Need at least one param"):
        tf.nn.embedding_lookup([], ids)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_embeddings_may_be_spread_over_variables(session, strategy, use_resource):
    table = np.arange(14.0, dtype=np.float32).reshape(7, 2)
    parts = [table[k::3] for k in range(3)] if strategy == "mod" else np.array_split(table, 3)
    variables = [tf.Variable(part, use_resource=use_resource) for part in parts]
    ids = tf.placeholder(tf.int64, [None, 2])
    found = tf.nn.embedding_lookup(variables, ids, partition_strategy=strategy)
    assert found.shape.as_list() == [None, 2, 2]
    by_parts = tf.gradients(tf.reduce_sum(found * 3.0), variables)
    assert all(isinstance(gradient, tf.IndexedSlices) for gradient in by_parts)
    dense = [tf.convert_to_tensor(gradient) for gradient in by_parts]
    session.run(tf.global_variables_initializer())
    wanted = np.array([[6, 0], [3, 6], [5, 1]])
    rows, slopes = session.run([found, dense], {ids: wanted})
    assert np.array_equal(rows, table[wanted])
    whole = 3.0 * np.bincount(wanted.ravel(), minlength=7)[:, None] * np.ones((1, 2))
    split = [whole[k::3] for k in range(3)] if strategy == "mod" else np.array_split(whole, 3)
    for slope, expected in zip(slopes, split):
        assert np.array_equal(slope, expected)
    with pytest.raises(ValueError, match="Unrecognized partition strategy"):
        tf.nn.embedding_lookup(variables, ids, partition_strategy="other")


@pytest.mark.parametrize("axis", [0, 1, -2, -1])
def test_classes_are_found_along_an_axis_of_a_tensor_of_unknown_rank(axis):
    logits, labels = np.random.RandomState(1).uniform(size=(2, 2, 3, 4)).astype(np.float32)
    labels /= labels.sum(axis, keepdims=True)
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    found = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, axis=axis)
    known = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=axis)
    with tf.Session() as session:
        found, known = session.run([found, known], {x: logits, y: labels})
    np.testing.assert_array_equal(found, known)


def test_a_matrix_of_unknown_rank_is_transposed():
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        found = session.run(tf.matrix_transpose(x), {x: np.arange(24).reshape(2, 3, 4)})
    np.testing.assert_array_equal(found, np.arange(24).reshape(2, 3, 4).swapaxes(1, 2))
