"""tf.contrib.metrics that tf.metrics has not, beside what NumPy finds by brute force."""

import itertools

import numpy as np
import pytest

import millrace as tf

metrics = tf.contrib.metrics
LABELS = [np.array([1, 0, 1, 0, 0, 1], bool), np.array([0, 1, 1, 0], bool)]
SCORES = [np.array([0.9, 0.8, 0.35, 0.3, 0.1, 0.3]), np.array([0.4, 0.6, 0.2, 0.05])]
ALL_LABELS, ALL_SCORES = np.concatenate(LABELS), np.concatenate(SCORES)
WEIGHTS = [np.arange(1.0, 7), np.arange(1.0, 5) / 2]
ALL_WEIGHTS = np.concatenate(WEIGHTS)


def measured(session, metric, weights=None, **arguments):
    """A metric's value after both batches."""
    labels = tf.placeholder(tf.bool, [None])
    scores = tf.placeholder(tf.float32, [None])
    factors = tf.placeholder(tf.float64, [None])
    given = {} if weights is None else {"weights": factors}
    value, update = metric(labels=labels, predictions=scores, **given, **arguments)
    session.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
    for n in range(2):
        session.run(update, {labels: LABELS[n], scores: SCORES[n], factors: WEIGHTS[n]})
    # The value needs no batch, but for auc_with_confidence_intervals.
    return session.run(value, {labels: LABELS[1], scores: SCORES[1], factors: WEIGHTS[1]})


def counts(limits, weights=np.ones(10)):
    """(tp, fp, fn, tn) at each limit."""
    above = ALL_SCORES[None].astype(np.float32) > np.float32(limits)[:, None]
    both = [
        (above & ALL_LABELS, above & ~ALL_LABELS),
        (~above & ALL_LABELS, ~above & ~ALL_LABELS),
    ]
    return [(each * weights).sum(1) for pair in both for each in pair]


LIMITS = np.concatenate([[-1e-7], np.arange(1, 199) / 199, [1 + 1e-7]])


@pytest.mark.parametrize("weights", [None, ALL_WEIGHTS])
def test_f1_is_that_of_the_best_threshold(session, weights):
    tp, fp, fn, _ = counts(LIMITS, np.ones(10) if weights is None else weights)
    best = (2 * tp / (2 * tp + fp + fn)).max()
    assert measured(session, metrics.f1_score, weights) == pytest.approx(best, rel=1e-5)


def test_precision_and_recall_are_told_where_the_other_one_is_wanted(session):
    tp, fp, fn, _ = counts(LIMITS)
    recall, precision = tp / (tp + fn), tp / np.maximum(tp + fp, 1e-7)
    found = measured(session, metrics.precision_at_recall, target_recall=0.6)
    assert found == pytest.approx(precision[np.flatnonzero(recall >= 0.6)[-1]], rel=1e-5)
    found = measured(session, metrics.recall_at_precision, precision=0.7)
    assert found == pytest.approx(recall[np.abs(precision - 0.7).argmin()], rel=1e-5)
    enough = np.where(precision >= 0.7, precision, 2).argmin()
    found = measured(session, metrics.recall_at_precision, precision=0.7, strict_mode=True)
    assert found == pytest.approx(recall[enough], rel=1e-5)
    for metric, name in (
        (metrics.precision_at_recall, "target_recall"),
        (metrics.recall_at_precision, "precision"),
    ):
        with pytest.raises(ValueError, match="must be in the range"):
            measured(session, metric, **{name: 1.5})


def test_counts_at_equal_thresholds_are_those_of_each_threshold(session):
    found = measured(
        session, metrics.precision_recall_at_equal_thresholds, ALL_WEIGHTS, num_thresholds=11
    )
    above = np.floor(np.float32(ALL_SCORES) * 10)[None] >= np.arange(11)[:, None]
    tp = (above & ALL_LABELS) @ ALL_WEIGHTS
    fp = (above & ~ALL_LABELS) @ ALL_WEIGHTS
    np.testing.assert_allclose(found.tp, tp, rtol=1e-6)
    np.testing.assert_allclose(found.fn, tp[0] - tp, rtol=1e-6)
    np.testing.assert_allclose(found.tn, fp[0] - fp, rtol=1e-6)
    np.testing.assert_allclose(found.precision, tp / np.maximum(tp + fp, 1e-7), rtol=1e-6)
    np.testing.assert_allclose(found.recall, tp / tp[0], rtol=1e-6)
    np.testing.assert_allclose(found.thresholds, np.arange(11) / 10, rtol=1e-6)
    assert found.tp.dtype == np.float32
    with pytest.raises(tf.errors.InvalidArgumentError, match="in .0, 1."):
        value, update = metrics.precision_recall_at_equal_thresholds([True], [1.5])
        session.run(tf.local_variables_initializer())
        session.run(update)


def test_a_curve_is_told_point_by_point(session):
    tp, fp, fn, tn = counts(np.concatenate([[-1e-7], np.arange(1, 4) / 4, [1 + 1e-7]]))
    found = measured(session, metrics.streaming_curve_points, num_thresholds=5)
    np.testing.assert_allclose(found, np.stack([fp / (fp + tn), tp / (tp + fn)], 1), atol=1e-5)
    found = measured(session, metrics.streaming_curve_points, num_thresholds=5, curve="PR")
    np.testing.assert_allclose(found[:4, 1], (tp / (tp + fp))[:4], atol=1e-5)


def test_rates_of_errors_are_told_at_thresholds(session):
    tp, fp, fn, tn = counts([0.2, 0.5])
    found = measured(
        session, metrics.streaming_false_positive_rate_at_thresholds, thresholds=[0.2, 0.5]
    )
    np.testing.assert_allclose(found, fp / (fp + tn), rtol=1e-5)
    found = measured(
        session, metrics.streaming_false_negative_rate_at_thresholds, thresholds=[0.2, 0.5]
    )
    np.testing.assert_allclose(found, fn / (fn + tp), rtol=1e-5)


def exact_auc(weights):
    """The share of pairs of a true and a false label in which the true one is higher."""
    won = total = 0.0
    for i, j in itertools.product(np.flatnonzero(ALL_LABELS), np.flatnonzero(~ALL_LABELS)):
        total += weights[i] * weights[j]
        difference = ALL_SCORES[i] - ALL_SCORES[j]
        won += weights[i] * weights[j] * (0.5 if difference == 0 else difference > 0)
    return won / total


@pytest.mark.parametrize("weights", [None, ALL_WEIGHTS])
def test_an_area_by_all_predictions_is_exact(session, weights):
    expected = exact_auc(np.ones(10) if weights is None else weights)
    found = measured(session, metrics.streaming_dynamic_auc, weights)
    assert found == pytest.approx(expected, rel=1e-6)
    if weights is None:
        found = measured(session, metrics.auc_with_confidence_intervals)
        assert found.auc == pytest.approx(expected, rel=1e-6)
        assert 0 < found.lower < found.auc < found.upper < 1
        wider = measured(
            session, metrics.auc_with_confidence_intervals, alpha=0.99, logit_transformation=False
        )
        assert wider.upper - wider.auc == pytest.approx(wider.auc - wider.lower)


def test_an_area_under_precision_over_recall_is_that_of_its_points(session):
    found = measured(session, metrics.streaming_dynamic_auc, curve="PR")
    points = [(0.0, 1.0)]
    for limit in np.unique(ALL_SCORES)[::-1]:
        above = ALL_SCORES >= limit
        points.append(((above & ALL_LABELS).sum() / 5, (above & ALL_LABELS).sum() / above.sum()))
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:]))
    assert found == pytest.approx(area)


def test_labels_of_one_kind_have_no_area(session):
    value, update = metrics.streaming_dynamic_auc(tf.constant([1, 1]), tf.constant([0.5, 0.2]))
    session.run(tf.local_variables_initializer())
    session.run(update)
    assert session.run(value) == 0
    bad, update = metrics.streaming_dynamic_auc(tf.constant([2]), tf.constant([0.5]), name="bad")
    session.run(tf.local_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels must be 0 or 1"):
        session.run(update)


def test_an_area_may_come_from_histograms(session):
    labels, scores = tf.placeholder(tf.bool, [None]), tf.placeholder(tf.float32, [None])
    value, update = metrics.auc_using_histogram(labels, scores, [0.0, 1.0], nbins=1000)
    session.run(tf.local_variables_initializer())
    for n in range(2):
        session.run(update, {labels: LABELS[n], scores: SCORES[n]})
    assert session.run(value) == pytest.approx(exact_auc(np.ones(10)), rel=1e-5)


@pytest.mark.parametrize("axis, most", [(0, None), (1, None), (-1, 5), (0, 3)])
def test_all_values_are_kept_in_their_order(session, axis, most):
    shape = [2, 2]
    shape[axis] = None
    values = tf.placeholder(tf.float32, shape)
    value, update = metrics.streaming_concat(values, axis, most)
    session.run(tf.local_variables_initializer())
    batches = []
    for size in (2, 3, 1, 9):
        sizes = [2, 2]
        sizes[axis] = size
        batches.append(np.random.RandomState(size).rand(*sizes).astype(np.float32))
        session.run(update, {values: batches[-1]})
    whole = np.concatenate(batches, axis)
    whole = whole if most is None else np.take(whole, range(most), axis)
    np.testing.assert_array_equal(session.run(value), whole)


def test_the_highest_predictions_are_counted(session):
    scores = tf.constant([[0.1, 0.5, 0.4], [0.7, 0.2, 0.1], [0.3, 0.1, 0.6]])
    single, several = tf.constant([2, 0, 1], tf.int64), tf.constant([[2], [0], [1]], tf.int64)
    top = tf.constant([[1, 2], [0, 1], [2, 0]], tf.int64)
    pairs = {
        "recall": metrics.streaming_recall_at_k(scores, single, 2),
        "sparse recall": metrics.streaming_sparse_recall_at_k(scores, several, 2),
        "recall at top": metrics.sparse_recall_at_top_k(several, top),
        "precision": metrics.streaming_sparse_precision_at_k(scores, several, 2),
        "precision at top": metrics.streaming_sparse_precision_at_top_k(top, several),
        "precision of 0": metrics.streaming_sparse_precision_at_k(scores, several, 2, class_id=0),
        "average": metrics.streaming_sparse_average_precision_at_k(scores, several, 2),
        "average at top": metrics.streaming_sparse_average_precision_at_top_k(top, several),
    }
    session.run([tf.local_variables_initializer()])
    session.run([update for _, update in pairs.values()])
    found = session.run({name: value for name, (value, _) in pairs.items()})
    thirds = {
        "recall": 2, "sparse recall": 2, "recall at top": 2, "precision": 1, "precision at top": 1,
        "precision of 0": 1.5, "average": 1.5, "average at top": 1.5,
    }  # fmt: skip
    assert found == pytest.approx({name: number / 3 for name, number in thirds.items()})


def test_metrics_that_tf_has_too_take_predictions_first(session):
    scores, labels = tf.constant(ALL_SCORES, tf.float32), tf.constant(ALL_LABELS)
    pairs = [
        (
            metrics.streaming_sensitivity_at_specificity(scores, labels, 0.6),
            tf.metrics.sensitivity_at_specificity(labels, scores, 0.6),
        ),
        (
            metrics.streaming_specificity_at_sensitivity(scores, labels, 0.6),
            tf.metrics.specificity_at_sensitivity(labels, scores, 0.6),
        ),
        (
            metrics.streaming_mean_cosine_distance(scores[None], scores[None] / 2, 1),
            tf.metrics.mean_cosine_distance(scores[None] / 2, scores[None], 1),
        ),
    ]
    session.run(tf.local_variables_initializer())
    for ours, theirs in pairs:
        a, b = session.run([ours[1], theirs[1]])
        assert a == b
