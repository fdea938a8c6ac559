"""tf.metrics: values over several steps beside NumPy's, local variables, collections, what is refused."""

import numpy as np
import pytest

import millrace as tf

metrics = tf.metrics
RANDOM = np.random.RandomState(0)
STEPS = [
    (
        RANDOM.randint(0, 2, [5, 2]).astype(np.float32),
        RANDOM.uniform(0, 1, [5, 2]).astype(np.float32),
        RANDOM.randint(0, 3, [5, 1]).astype(np.float32),
    )
    for _ in range(3)
]


def _average(of):
    return lambda y, p, w: (of(y, p) * w).sum() / w.sum()


def _counts(y, p, w):
    y, p = y > 0.5, p > 0.5
    return {
        "tp": (w * (y & p)).sum(),
        "fp": (w * (~y & p)).sum(),
        "tn": (w * (~y & ~p)).sum(),
        "fn": (w * (y & ~p)).sum(),
    }


def _count(kind):
    return lambda y, p, w: _counts(y, p, w)[kind]


def _share(part, rest):
    def share(y, p, w):
        counts = _counts(y, p, w)
        return counts[part] / (counts[part] + counts[rest])

    return share


def _per_class(y, p, w):
    right = [(w * ((y == c) & ((p > 0.5) == c))).sum() / (w * (y == c)).sum() for c in (0, 1)]
    return (right[0] + right[1] + 0) / 3  # the third class does not occur


def _overlap(y, p, w):
    p = p > 0.5
    parts = [(w * ((y == c) & (p == c))).sum() / (w * ((y == c) | (p == c))).sum() for c in (0, 1)]
    return np.mean(parts)


def _area(y, p, w):
    """The area under ROC as the share of pairs in order: what many thresholds come near to."""
    y, p, w = y.ravel() > 0.5, p.ravel(), w.ravel()
    pairs = w[y][:, None] * w[~y][None, :]
    return (pairs * (p[y][:, None] > p[~y][None, :])).sum() / pairs.sum()


# name -> (metric of labels, probabilities and weights; what NumPy has over all elements; tolerance)
CASES = {
    "mean": (lambda y, p, w: metrics.mean(p, w), _average(lambda y, p: p), 1e-5),
    "accuracy": (
        lambda y, p, w: metrics.accuracy(y, p > 0.5, w),
        _average(lambda y, p: y == (p > 0.5)),
        1e-5,
    ),
    "mean_absolute_error": (
        metrics.mean_absolute_error,
        _average(lambda y, p: np.abs(y - p)),
        1e-5,
    ),
    "mean_squared_error": (metrics.mean_squared_error, _average(lambda y, p: (y - p) ** 2), 1e-5),
    "root_mean_squared_error": (
        metrics.root_mean_squared_error,
        lambda y, p, w: np.sqrt(((y - p) ** 2 * w).sum() / w.sum()),
        1e-5,
    ),
    "mean_relative_error": (
        lambda y, p, w: metrics.mean_relative_error(y, p, y, w),
        _average(lambda y, p: np.where(y == 0, 0, np.abs(y - p))),
        1e-5,
    ),
    "percentage_below": (
        lambda y, p, w: metrics.percentage_below(p, 0.4, w),
        _average(lambda y, p: p < 0.4),
        1e-5,
    ),
    "true_positives": (lambda y, p, w: metrics.true_positives(y, p > 0.5, w), _count("tp"), 0),
    "false_positives": (lambda y, p, w: metrics.false_positives(y, p > 0.5, w), _count("fp"), 0),
    "true_negatives": (lambda y, p, w: metrics.true_negatives(y, p > 0.5, w), _count("tn"), 0),
    "false_negatives": (lambda y, p, w: metrics.false_negatives(y, p > 0.5, w), _count("fn"), 0),
    "precision": (lambda y, p, w: metrics.precision(y, p > 0.5, w), _share("tp", "fp"), 1e-5),
    "recall": (lambda y, p, w: metrics.recall(y, p > 0.5, w), _share("tp", "fn"), 1e-5),
    "auc": (lambda y, p, w: metrics.auc(y, p, w, num_thresholds=2000), _area, 2e-3),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_metric_is_that_of_all_steps_so_far(case, weighted, session):
    make, expected, tolerance = CASES[case]
    y, p, w = (tf.placeholder(tf.float32, [None, size]) for size in (2, 2, 1))
    value, update = make(y, p, w if weighted else None)
    session.run(tf.local_variables_initializer())
    assert session.run(value) == session.run(value)  # reading changes nothing
    for count, (labels, guesses, weights) in enumerate(STEPS, 1):
        updated = session.run(update, {y: labels, p: guesses, w: weights})
        seen = [np.concatenate(part) for part in zip(*STEPS[:count])]
        factors = np.broadcast_to(seen[2] if weighted else 1.0, seen[0].shape)
        wanted = expected(seen[0], seen[1], factors)
        np.testing.assert_allclose(session.run(value), wanted, rtol=tolerance)
        np.testing.assert_allclose(updated, wanted, rtol=tolerance)


@pytest.mark.parametrize(
    "metric, expected",
    [(metrics.mean_per_class_accuracy, _per_class), (metrics.mean_iou, _overlap)],
)
def test_a_metric_of_classes_is_that_of_all_steps(metric, expected, session):
    y, p, w = (tf.placeholder(tf.float32, [None, 2]) for _ in range(3))
    value, update = metric(y, tf.cast(p > 0.5, tf.int32), 3, weights=w)
    session.run(tf.local_variables_initializer())
    full = [(labels, guesses, np.tile(weights, [1, 2])) for labels, guesses, weights in STEPS]
    for labels, guesses, weights in full:
        session.run(update, {y: labels, p: guesses, w: weights})
    seen = [np.concatenate(part) for part in zip(*full)]
    np.testing.assert_allclose(session.run(value), expected(*seen), rtol=1e-5)


def test_metrics_at_thresholds_are_those_of_each(session):
    labels, guesses, weights = STEPS[0]
    limits = [0.2, 0.5, 0.7]
    made, expected = [], []
    for name, kind in (
        ("true_positives", "tp"),
        ("false_positives", "fp"),
        ("true_negatives", "tn"),
        ("false_negatives", "fn"),
    ):
        made.append(getattr(metrics, f"{name}_at_thresholds")(labels, guesses, limits, weights))
        expected.append([_counts(labels, guesses - x + 0.5, weights)[kind] for x in limits])
    for name, other in (("precision", 2), ("recall", 4)):
        made.append(getattr(metrics, f"{name}_at_thresholds")(labels, guesses, limits, weights))
        rest = expected[1] if name == "precision" else expected[3]
        expected.append(np.array(expected[0]) / (np.array(expected[0]) + rest))
    session.run(tf.local_variables_initializer())
    updates = session.run([update for _, update in made])
    np.testing.assert_allclose(updates, expected, rtol=1e-5)
    np.testing.assert_allclose(session.run([value for value, _ in made]), expected, rtol=1e-5)


def test_areas_have_bounds(session):
    labels, guesses, _ = STEPS[0]
    for curve in ("ROC", "PR"):
        made = [
            metrics.auc(labels, guesses, curve=curve, summation_method=method, num_thresholds=20)[1]
            for method in ("minoring", "trapezoidal", "careful_interpolation", "majoring")
        ]
        session.run(tf.local_variables_initializer())
        low, middle, careful, high = session.run(made)
        assert 0 < low <= middle <= high <= 1.0 and low - 1e-6 <= careful <= high + 1e-6


def test_a_mean_may_be_of_each_element(session):
    value, update = metrics.mean_tensor([[1.0, 2.0]], [[1.0, 0.0]])
    session.run(tf.local_variables_initializer())
    session.run(update)
    assert session.run(value).tolist() == [[1.0, 0.0]]


def test_what_a_metric_keeps_is_local():
    value, update = metrics.accuracy(
        [1, 2], [1, 3], metrics_collections="values", updates_collections=["updates"]
    )
    metrics.accuracy([1, 2], [1, 3])
    metrics.precision([1, 0], [1, 1], name="p")
    assert value.op.name == "accuracy/value" and update.op.name == "accuracy/update_op"
    assert tf.get_collection("values") == [value] and tf.get_collection("updates") == [update]
    assert [variable.op.name for variable in tf.local_variables()] == [
        "accuracy/total",
        "accuracy/count",
        "accuracy_1/total",
        "accuracy_1/count",
        "p/true_positives/count",
        "p/false_positives/count",
    ]
    assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
    assert tf.global_variables() == [] and tf.trainable_variables() == []


def test_a_last_axis_of_one_is_taken_away(session):
    labels = tf.placeholder(tf.int64, [None, 1])
    made = [metrics.accuracy(labels, tf.constant([1, 2, 3], tf.int64))[1]]
    made.append(metrics.accuracy(tf.placeholder_with_default([[1], [2], [3]], None), [1, 2, 4])[1])
    session.run(tf.local_variables_initializer())
    np.testing.assert_allclose(session.run(made, {labels: [[1], [2], [4]]}), [2 / 3, 2 / 3])


def test_a_confusion_matrix_counts(check):
    check(tf.confusion_matrix([1, 2, 2], [1, 2, 0]), np.int32([[0, 0, 0], [0, 1, 0], [1, 0, 1]]))
    weighted = tf.confusion_matrix([0, 1], [1, 1], 2, tf.float32, weights=[0.5, 2.0])
    check(weighted, np.float32([[0, 0.5], [0, 2]]))
    assert weighted.shape.as_list() == [2, 2]


@pytest.mark.parametrize(
    "labels, predictions, message",
    [
        ([0, 1], [0, -1], "`predictions` contains negative values"),
        ([0, 3], [0, 1], "`labels` out of bound"),
    ],
)
def test_a_confusion_matrix_refuses_what_is_no_class(labels, predictions, message, session):
    fed = [tf.placeholder(tf.int64, [2]) for _ in range(2)]
    matrix = tf.confusion_matrix(*fed, num_classes=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(matrix, dict(zip(fed, (labels, predictions))))


def test_what_metrics_refuse(session):
    with pytest.raises(ValueError, match="incompatible"):
        metrics.accuracy([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="can not be broadcast"):
        metrics.mean([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="rank 1, where only 0 and 3"):
        metrics.true_positives(np.ones([1, 2, 3]), np.ones([1, 2, 3]), [1.0, 2.0])
    with pytest.raises(ValueError, match="Curve must be either ROC or PR"):
        metrics.auc([1], [1.0], curve="roc")
    with pytest.raises(ValueError, match="Invalid summation_method"):
        metrics.auc([1], [1.0], summation_method="midpoint")
    guesses = tf.placeholder(tf.float32, [1])
    update = metrics.auc([1], guesses)[1]
    session.run(tf.local_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
        session.run(update, {guesses: [1.5]})
