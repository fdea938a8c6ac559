"""tf.contrib.losses and its losses of embeddings, beside NumPy; metrics with predictions before labels."""

import numpy as np
import pytest

import millrace as tf

losses, metrics = tf.contrib.losses, tf.contrib.metrics
learning = losses.metric_learning
RANDOM = np.random.RandomState(0)
A, B = RANDOM.rand(4, 3).astype(np.float32), RANDOM.rand(4, 3).astype(np.float32)
WEIGHTS = np.float32([1, 0, 2, 0.5])


def test_losses_take_predictions_first_and_weights_of_samples(check):
    squares = (A - B) ** 2
    check(losses.mean_squared_error(A, B), squares.mean(), rtol=1e-5)
    weighted = (squares * WEIGHTS[:, None]).sum() / 9
    check(losses.mean_squared_error(A, B, WEIGHTS), weighted, rtol=1e-5)
    check(losses.absolute_difference(A, labels=B), np.abs(A - B).mean(), rtol=1e-5)
    logs = -(B * np.log(A + 1e-7) + (1 - B) * np.log(1 - A + 1e-7))
    check(losses.log_loss(A, B), logs.mean(), rtol=1e-4)
    check(losses.cosine_distance(A, B, 1), (1 - (A * B).sum(1)).mean(), rtol=1e-4)
    check(losses.compute_weighted_loss(A, WEIGHTS), (A * WEIGHTS[:, None]).sum() / 9, rtol=1e-5)
    assert len(losses.get_losses()) == 6
    total = losses.get_total_loss()
    assert total.op.name == "total_loss"


def test_cross_entropies_take_logits_first(check):
    labels = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
    logs = A - np.log(np.exp(A).sum(1, keepdims=True))
    expected = -(logs * labels).sum(1).mean()
    check(losses.softmax_cross_entropy(A, labels), expected, rtol=1e-5)
    check(losses.sparse_softmax_cross_entropy(A, labels.argmax(1)), expected, rtol=1e-5)
    each = np.log1p(np.exp(A)) - A * labels
    check(losses.sigmoid_cross_entropy(A, labels), each.mean(), rtol=1e-5)


def test_a_hinge_is_of_each_element_and_in_no_collection(check):
    labels = np.float32([[1, 0, 1]] * 4)
    check(losses.hinge_loss(A, labels), np.maximum(0, 1 - (2 * labels - 1) * A), rtol=1e-5)
    assert losses.get_losses() == []


def test_pairs_are_near_or_apart(check):
    labels = np.int32([1, 0, 1, 0])
    far = np.sqrt(((A - B) ** 2).sum(1))
    expected = np.where(labels, far**2, np.maximum(1 - far, 0) ** 2).mean()
    check(learning.contrastive_loss(labels, A, B), np.float32(expected), rtol=1e-5)


def test_pairs_find_each_other_among_all(check):
    labels = np.int32([0, 1, 0, 2])
    same = (labels[:, None] == labels).astype(np.float32)
    logits = A @ B.T
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = -(logs * same / same.sum(1, keepdims=True)).sum(1).mean()
    expected += 0.25 * 0.002 * ((A**2).sum(1).mean() + (B**2).sum(1).mean())
    check(learning.npairs_loss(labels, A, B), np.float32(expected), rtol=1e-5)


@pytest.mark.parametrize("margin", [1.0, 0.1])
def test_a_triplet_has_the_nearest_stranger_beyond_its_pair(session, margin):
    points = RANDOM.randn(10, 4).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    labels = RANDOM.randint(0, 3, 10)
    far = ((points[:, None] - points) ** 2).sum(2)
    missed = []
    for a in range(10):
        strangers = far[a][labels != labels[a]]
        for p in np.flatnonzero(labels == labels[a]):
            if p != a:
                beyond = strangers[strangers > far[a, p]]
                chosen = beyond.min() if beyond.size else strangers.max()
                missed.append(max(0, margin + far[a, p] - chosen))
    embeddings = tf.constant(points)
    loss = learning.triplet_semihard_loss(tf.constant(labels), embeddings, margin)
    value, slope = session.run([loss, tf.gradients(loss, embeddings)[0]])
    np.testing.assert_allclose(value, np.mean(missed), rtol=1e-4)
    assert np.isfinite(slope).all()


def test_metrics_take_predictions_first(session):
    scores, truth = np.float32([0.1, 0.6, 0.8, 0.4]), np.array([False, True, False, True])
    made = {
        "precision": metrics.streaming_precision_at_thresholds(scores, truth, [0.5, 0.3]),
        "recall": metrics.streaming_recall_at_thresholds(scores, truth, [0.5, 0.3]),
        "hits": metrics.streaming_true_positives_at_thresholds(scores, truth, [0.5, 0.3]),
        "iou": metrics.streaming_mean_iou([0, 1, 1], [0, 1, 0], 2),
        "relative": metrics.streaming_mean_relative_error(
            np.float32([1, 2]), np.float32([2, 2]), np.float32([2, 2])
        ),
    }
    values, updates = metrics.aggregate_metric_map(made)
    session.run(tf.local_variables_initializer())
    session.run(updates)
    found = session.run(values)
    np.testing.assert_allclose(found["precision"], [0.5, 2 / 3], rtol=1e-4)
    np.testing.assert_allclose(found["recall"], [0.5, 1.0], rtol=1e-4)
    np.testing.assert_allclose(found["hits"], [1, 2])
    assert found["iou"] == pytest.approx(0.5) and found["relative"] == pytest.approx(0.25)


def _after(session, metric, batches):
    """The value of a metric, which each last update gives too, after batches; and its variables' names."""
    given = [tf.placeholder(tf.float32, [None]) for _ in batches[0]]
    value, update = metric(*given)
    session.run(tf.local_variables_initializer())
    for batch in batches:
        last = session.run(update, dict(zip(given, batch)))
    found = session.run(value)
    np.testing.assert_allclose(found, last, rtol=1e-6)
    return found, sorted(each.op.name for each in tf.local_variables())


ROWS = RANDOM.randn(5, 3, 8).astype(np.float32) + np.float32(100)


def test_a_covariance_is_of_all_batches_together(session):
    found, names = _after(session, metrics.streaming_covariance, ROWS[:, :2])
    a, b = ROWS[:, 0].ravel(), ROWS[:, 1].ravel()
    np.testing.assert_allclose(found, np.cov(a, b)[0, 1], rtol=1e-3)
    parts = ("comoment", "count", "mean_label", "mean_prediction")
    assert names == [f"covariance/{part}" for part in parts]


def test_a_covariance_may_have_weights_and_needs_two(session):
    weights = np.abs(ROWS[:, 2] - 100)
    batches = [(*rows[:2], each) for rows, each in zip(ROWS, weights)]
    found, _ = _after(session, metrics.streaming_covariance, batches)
    a, b, w = ROWS[:, 0].ravel(), ROWS[:, 1].ravel(), weights.ravel()
    off = (a - np.average(a, weights=w)) * (b - np.average(b, weights=w))
    np.testing.assert_allclose(found, (w * off).sum() / (w.sum() - 1), rtol=1e-3)
    value, update = metrics.streaming_covariance([1.0], [2.0])
    session.run(tf.local_variables_initializer())
    assert np.isnan(session.run(update)) and np.isnan(session.run(value))


def test_a_correlation(session):
    rows = ROWS[:, :2].copy()
    rows[:, 1] += rows[:, 0]
    found, _ = _after(session, metrics.streaming_pearson_correlation, rows)
    expected = np.corrcoef(rows[:, 0].ravel(), rows[:, 1].ravel())[0, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_rates_of_errors_and_how_many_there_were(session):
    predicted, truth = np.float32([1, 1, 0, 0, 1]), np.float32([0, 1, 0, 1, 1])
    batches = [(predicted[:3], truth[:3]), (predicted[3:], truth[3:])]
    assert _after(session, metrics.streaming_false_positive_rate, batches)[0] == 0.5
    assert _after(session, metrics.streaming_false_negative_rate, batches)[0] == pytest.approx(
        1 / 3
    )
    assert _after(session, metrics.count, [(predicted,), (truth[:2],)])[0] == 7


def test_judges_agree_beyond_chance(session):
    labels, predicted = np.float32([0, 1, 2, 1, 0, 2]), np.float32([0, 1, 1, 1, 2, 2])
    batches = [(labels[:4], predicted[:4]), (labels[4:], predicted[4:])]
    found, names = _after(session, lambda a, b: metrics.cohen_kappa(a, b, 3), batches)
    chance = (2 * 1 + 2 * 3 + 2 * 2) / 36
    assert found == pytest.approx((4 / 6 - chance) / (1 - chance))
    assert names == ["cohen_kappa/pe_col", "cohen_kappa/pe_row", "cohen_kappa/po"]
    with pytest.raises(ValueError, match="must be >= 2"):
        metrics.cohen_kappa([0], [0], 1)
