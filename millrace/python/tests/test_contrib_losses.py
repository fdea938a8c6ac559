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
