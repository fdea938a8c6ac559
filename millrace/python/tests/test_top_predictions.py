"""Metrics of the first k predictions, and of one rate at another; beside TensorFlow they are in tests/interop."""

import numpy as np
import pytest

import millrace as tf

SCORES = np.array([[0.1, 0.4, 0.3, 0.2], [0.9, 0.0, 0.05, 0.05]], np.float32)
LABELS = np.array([[1, 3], [2, 1]])


@pytest.fixture
def measured(session):
    def measure(pair):
        value, update = pair
        session.run(tf.local_variables_initializer())
        after = session.run(update)
        assert session.run(value) == after
        return float(after)

    return measure


def test_how_many_labels_are_found_and_how_many_found_are_labels(measured):
    # The first two are [1, 2] and [0, 2] (of equal ones the first): one label in each row.
    assert measured(tf.metrics.recall_at_k(LABELS, SCORES, 2)) == 0.5
    assert measured(tf.metrics.precision_at_k(LABELS, SCORES, 2)) == 0.5
    assert measured(tf.metrics.recall_at_k(LABELS, SCORES, 1, weights=[3.0, 1.0])) == 3 / 8
    assert measured(tf.metrics.precision_at_k(LABELS, SCORES, 1, weights=[3.0, 1.0])) == 3 / 4
    assert measured(tf.metrics.recall_at_k(np.array([1, 2]), SCORES, 1)) == 0.5


def test_one_class_may_be_counted_alone(measured):
    assert measured(tf.metrics.recall_at_k(LABELS, SCORES, 2, class_id=1)) == 0.5
    assert measured(tf.metrics.precision_at_k(LABELS, SCORES, 2, class_id=2)) == 0.5
    assert measured(tf.metrics.sparse_precision_at_k(LABELS, SCORES, 2, class_id=0)) == 0.0


def test_labels_may_be_as_many_as_a_row_has(measured):
    labels = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([1, 0, 3], tf.int64), [2, 2])
    assert measured(tf.metrics.recall_at_k(labels, SCORES, 1)) == 2 / 3
    single = tf.SparseTensor([[0]], tf.constant([1], tf.int64), [2])
    assert measured(tf.metrics.recall_at_k(single, SCORES, 1)) == 1.0
    found = tf.constant([[1, 2], [3, 2]], tf.int64)
    assert measured(tf.metrics.recall_at_top_k(labels, found)) == 2 / 3
    assert measured(tf.metrics.precision_at_top_k(labels, found)) == 2 / 4


def test_average_precision_asks_where_labels_are_found(measured):
    # Found at place 1 of the first row, at place 2 of the second one.
    expected = np.mean([1 / 2, (1 / 2) / 2])
    assert measured(tf.metrics.average_precision_at_k(LABELS, SCORES, 2)) == expected
    weighed = tf.metrics.average_precision_at_k(LABELS, SCORES, 2, weights=[1.0, 3.0])
    assert measured(weighed) == (0.5 + 3 * 0.25) / 4
    with pytest.raises(ValueError, match="k=0"):
        tf.metrics.average_precision_at_k(LABELS, SCORES, 0)


def test_metrics_of_a_name_keep_variables_of_that_name():
    with tf.variable_scope("eval"):
        tf.metrics.recall_at_k(LABELS, SCORES, 2)
        tf.metrics.precision_at_k(LABELS, SCORES, 1, class_id=3, name="mine")
    assert [v.op.name for v in tf.local_variables()] == [
        "eval/recall_at_2/true_positive_at_2",
        "eval/recall_at_2/false_negative_at_2",
        "eval/mine/true_positive_at_1_class3",
        "eval/mine/false_positive_at_1_class3",
    ]
    with pytest.raises(ValueError, match="Expected labels of rank 1 or 2"):
        tf.metrics.recall_at_k(LABELS[..., None], SCORES, 2)


def test_a_rate_at_the_threshold_of_another(measured):
    truth, chances = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.8]
    sensitivity = tf.metrics.sensitivity_at_specificity(truth, chances, 1.0, num_thresholds=11)
    assert measured(sensitivity) == pytest.approx(0.5, abs=1e-6)
    specificity = tf.metrics.specificity_at_sensitivity(truth, chances, 1.0, num_thresholds=11)
    assert measured(specificity) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(ValueError, match="`specificity` must be in the range"):
        tf.metrics.sensitivity_at_specificity(truth, chances, 1.5)


def test_the_distance_of_directions(measured):
    rows = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    other = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    assert measured(tf.metrics.mean_cosine_distance(rows, other, 1)) == pytest.approx(0.1)
    weighed = tf.metrics.mean_cosine_distance(rows, other, 1, weights=[[0.0], [1.0]])
    assert measured(weighed) == pytest.approx(0.2)
