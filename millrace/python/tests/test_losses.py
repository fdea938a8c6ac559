"""tf.losses: values beside NumPy's, reductions and weights, collections, what is refused."""

import numpy as np
import pytest

import millrace as tf

Reduction = tf.losses.Reduction
RANDOM = np.random.RandomState(0)
LABELS = RANDOM.randint(0, 2, [4, 3]).astype(np.float32)
GUESSES = RANDOM.uniform(0.05, 0.95, [4, 3]).astype(np.float32)
LOGITS = RANDOM.randn(4, 3).astype(np.float32) * 3


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _huber(e, delta):
    return np.where(np.abs(e) <= delta, e * e / 2, delta * (np.abs(e) - delta / 2))


def _sigmoid_entropy(labels):
    p = 1 / (1 + np.exp(-LOGITS.astype(np.float64)))
    return -labels * np.log(p) - (1 - labels) * np.log(1 - p)


ERROR = GUESSES - LABELS
# name -> (the loss without weights, losses of elements in NumPy, name of the node)
CASES = {
    "absolute_difference": (
        lambda **more: tf.losses.absolute_difference(LABELS, GUESSES, **more),
        np.abs(ERROR),
        "absolute_difference",
    ),
    "cosine_distance": (
        lambda **more: tf.losses.cosine_distance(LABELS, GUESSES, axis=1, **more),
        1 - (LABELS * GUESSES).sum(1, keepdims=True),
        "cosine_distance_loss",
    ),
    "hinge_loss": (
        lambda **more: tf.losses.hinge_loss(LABELS, LOGITS, **more),
        np.maximum(0, 1 - (2 * LABELS - 1) * LOGITS),
        "hinge_loss",
    ),
    "huber_loss": (
        lambda **more: tf.losses.huber_loss(LABELS, GUESSES, delta=0.3, **more),
        _huber(ERROR, 0.3),
        "huber_loss",
    ),
    "log_loss": (
        lambda **more: tf.losses.log_loss(LABELS, GUESSES, **more),
        -LABELS * np.log(GUESSES + 1e-7) - (1 - LABELS) * np.log(1 - GUESSES + 1e-7),
        "log_loss",
    ),
    "mean_squared_error": (
        lambda **more: tf.losses.mean_squared_error(LABELS, GUESSES, **more),
        ERROR**2,
        "mean_squared_error",
    ),
    "sigmoid_cross_entropy": (
        lambda **more: tf.losses.sigmoid_cross_entropy(LABELS, LOGITS, **more),
        _sigmoid_entropy(LABELS),
        "sigmoid_cross_entropy_loss",
    ),
    "smoothed_sigmoid_cross_entropy": (
        lambda **more: tf.losses.sigmoid_cross_entropy(LABELS, LOGITS, label_smoothing=0.1, **more),
        _sigmoid_entropy(LABELS * 0.9 + 0.05),
        "sigmoid_cross_entropy_loss",
    ),
    "softmax_cross_entropy": (
        lambda **more: tf.losses.softmax_cross_entropy(LABELS, LOGITS, **more),
        -(LABELS * np.log(_softmax(LOGITS))).sum(1),
        "softmax_cross_entropy_loss",
    ),
    "smoothed_softmax_cross_entropy": (
        lambda **more: tf.losses.softmax_cross_entropy(LABELS, LOGITS, label_smoothing=0.3, **more),
        -((LABELS * 0.7 + 0.1) * np.log(_softmax(LOGITS))).sum(1),
        "softmax_cross_entropy_loss",
    ),
    "sparse_softmax_cross_entropy": (
        lambda **more: tf.losses.sparse_softmax_cross_entropy([[0], [1], [2], [1]], LOGITS, **more),
        -np.log(_softmax(LOGITS))[range(4), [0, 1, 2, 1]],
        "sparse_softmax_cross_entropy_loss",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_loss_is_the_mean_of_numpys(case, session):
    make, losses, name = CASES[case]
    loss = make()
    assert loss.op.name == f"{name}/value" and loss.shape.as_list() == []
    np.testing.assert_allclose(session.run(loss), losses.mean(), rtol=2e-5)
    assert tf.losses.get_losses() == [loss]
    none = make(reduction=Reduction.NONE, loss_collection=None)
    np.testing.assert_allclose(session.run(none), losses, rtol=2e-5, atol=1e-6)
    assert tf.losses.get_losses() == [loss]


@pytest.mark.parametrize("case", CASES)
def test_a_loss_has_a_slope(case, session):
    """Every loss can be trained on: its gradient by the predictions is finite and not all 0."""
    make = {
        "absolute_difference": lambda x: tf.losses.absolute_difference(LABELS, x),
        "cosine_distance": lambda x: tf.losses.cosine_distance(LABELS, x, dim=1),
        "hinge_loss": lambda x: tf.losses.hinge_loss(LABELS, x),
        "huber_loss": lambda x: tf.losses.huber_loss(LABELS, x),
        "log_loss": lambda x: tf.losses.log_loss(LABELS, x),
        "mean_squared_error": lambda x: tf.losses.mean_squared_error(LABELS, x),
        "sigmoid_cross_entropy": lambda x: tf.losses.sigmoid_cross_entropy(LABELS, x),
        "softmax_cross_entropy": lambda x: tf.losses.softmax_cross_entropy(LABELS, x),
        "sparse_softmax_cross_entropy": lambda x: tf.losses.sparse_softmax_cross_entropy(
            [0, 1, 2, 1], x
        ),
    }[case.replace("smoothed_", "")]
    x = tf.constant(GUESSES)
    slope = session.run(tf.gradients(make(x), x)[0])
    assert np.all(np.isfinite(slope)) and np.any(slope != 0)


@pytest.mark.parametrize(
    "weights",
    [2.0, 0.0, 3, [[1.0], [0.0], [2.0], [0.0]], [[1.0, 0.0, 2.0]], np.arange(12.0).reshape(4, 3)],
)
@pytest.mark.parametrize("fed", [False, True])
def test_weights_and_reductions_are_those_of_numpy(weights, fed, session):
    losses = ERROR.astype(np.float64) ** 2
    full = np.broadcast_to(np.asarray(weights, np.float64), losses.shape)
    present = (full != 0).sum()
    expected = {
        Reduction.NONE: losses * full,
        Reduction.SUM: (losses * full).sum(),
        Reduction.MEAN: (losses * full).sum() / (full.sum() or 1),
        Reduction.SUM_OVER_BATCH_SIZE: (losses * full).sum() / 12,
        Reduction.SUM_BY_NONZERO_WEIGHTS: (losses * full).sum() / (present or 1),
    }
    given = tf.placeholder(tf.float32, None) if fed else weights
    feeds = {given: weights} if fed else None
    for reduction, value in expected.items():
        loss = tf.losses.mean_squared_error(LABELS, GUESSES, given, reduction=reduction)
        np.testing.assert_allclose(session.run(loss, feeds), value, rtol=1e-5, atol=1e-7)


def test_pairs_of_elements(session):
    weights = [[1.0], [2.0], [0.0], [1.0]]
    total = 0.0
    for row, weight in zip(ERROR.astype(np.float64), np.ravel(weights)):
        pairs = [(a - b) ** 2 for i, a in enumerate(row) for j, b in enumerate(row) if i != j]
        total += weight * np.mean(pairs)
    loss = tf.losses.mean_pairwise_squared_error(LABELS, GUESSES, weights)
    np.testing.assert_allclose(session.run(loss), total, rtol=1e-5)
    assert tf.losses.get_losses() == [loss]
    none = tf.losses.mean_pairwise_squared_error(LABELS, GUESSES, 0.0)
    assert session.run(none) == 0.0


def test_losses_and_regularization_add_up(session):
    assert session.run(tf.losses.get_regularization_loss()) == 0.0
    with pytest.raises(ValueError, match="there are no losses"):
        tf.losses.get_total_loss()
    with tf.name_scope("first"):
        tf.losses.add_loss(tf.constant(1.0))
    tf.losses.add_loss(tf.constant(2.0, name="second"))
    tf.losses.add_loss(tf.constant(8.0), loss_collection=None)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(4.0))
    total = tf.losses.get_total_loss()
    assert total.op.name == "total_loss" and session.run(total) == 7.0
    assert session.run(tf.losses.get_total_loss(add_regularization_losses=False)) == 3.0
    assert [loss.op.name for loss in tf.losses.get_losses("first")] == ["first/Const"]
    assert len(tf.losses.get_regularization_losses()) == 1


def test_float64_is_answered_in_float32(session):
    assert tf.losses.mean_squared_error(LABELS.astype(np.float64), GUESSES).dtype == tf.float32
    losses = tf.constant([1.0, 3.0], tf.float64)
    loss = tf.losses.compute_weighted_loss(losses)
    assert loss.dtype == tf.float64 and session.run(loss) == 2.0


def test_what_does_not_fit_is_refused(session):
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_squared_error(None, GUESSES)
    with pytest.raises(ValueError, match="logits must not be None"):
        tf.losses.sparse_softmax_cross_entropy([0], None)
    with pytest.raises(ValueError, match="incompatible"):
        tf.losses.mean_squared_error(LABELS, GUESSES[:2])
    with pytest.raises(
        ValueError, match="can not be broadcast to values. values.rank=2. weights.rank=1"
    ):
        tf.losses.mean_squared_error(LABELS, GUESSES, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="Mismatch at dim 0"):
        tf.losses.mean_squared_error(LABELS, GUESSES, [[1.0], [2.0]])
    with pytest.raises(ValueError, match="Invalid Reduction Key average"):
        tf.losses.mean_squared_error(LABELS, GUESSES, reduction="average")
    with pytest.raises(ValueError, match="specify 'axis'"):
        tf.losses.cosine_distance(LABELS, GUESSES)
    weights = tf.placeholder(tf.float32, None)
    loss = tf.losses.mean_squared_error(LABELS, GUESSES, weights)
    with pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
        session.run(loss, {weights: [1.0, 2.0, 3.0]})


def test_a_model_trains_on_its_total_loss_as_numpy_does(session):
    """Softmax regression with weight decay: the loss per step beside the same by hand."""
    x = RANDOM.randn(8, 5).astype(np.float32)
    labels = RANDOM.randint(0, 3, [8])
    logits = tf.layers.dense(x, 3, kernel_regularizer=tf.regularizers.l2(0.01))
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss = tf.losses.get_total_loss()
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    session.run(tf.global_variables_initializer())
    w, b = [value.astype(np.float64) for value in session.run(tf.trainable_variables())]
    for _ in range(15):
        p = _softmax(x @ w + b)
        expected = -np.log(p[range(8), labels]).mean() + 0.01 * (w**2).sum()
        slope = (p - np.eye(3)[labels]) / 8
        w, b = w - 0.5 * (x.T @ slope + 0.02 * w), b - 0.5 * slope.sum(0)
        np.testing.assert_allclose(session.run([loss, train])[0], expected, rtol=1e-4)
