"""tf.contrib.sparsemax: probabilities of which many are 0, beside projections that NumPy finds."""

import numpy as np
import pytest

import millrace as tf

sparsemax = tf.contrib.sparsemax.sparsemax
sparsemax_loss = tf.contrib.sparsemax.sparsemax_loss
INF, NAN = np.inf, np.nan


def projected(row):
    """The nearest point of the simplex: the threshold found by halving."""
    low, high = row.max() - 1.0, row.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(row - low, 0)


def rows(*shape):
    return np.random.RandomState(3).uniform(-3, 3, shape)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_rows_become_the_nearest_distributions(session, kind):
    logits = rows(40, 7).astype(kind)
    made = sparsemax(logits)
    assert made.dtype == kind and made.shape.as_list() == [40, 7]
    found = session.run(made)
    expected = np.apply_along_axis(projected, 1, logits.astype("float64"))
    np.testing.assert_allclose(found, expected, atol={"float16": 1e-2}.get(kind, 1e-6))
    assert (found == 0).sum() > 100


def test_equal_logits_share_alike_and_a_clear_winner_has_all(session):
    found = session.run(sparsemax([[2.0, 2.0, 2.0, 2.0], [5.0, 0.0, 1.0, 3.9]]))
    assert found.tolist() == [[0.25] * 4, [1, 0, 0, 0]]


def test_how_many_rows_there_are_may_be_known_later(session):
    logits = tf.placeholder(tf.float32, [None, None])
    found = session.run(sparsemax(logits), {logits: [[0.0, 0.5], [9.0, 0.0]]})
    np.testing.assert_allclose(found, [[0.25, 0.75], [1, 0]])


def test_what_is_minus_infinite_has_no_share(session):
    logits = [[-INF, 0.0, 0.5], [-INF, -INF, -7.0]]
    np.testing.assert_allclose(session.run(sparsemax(logits)), [[0, 0.25, 0.75], [0, 0, 1]])


@pytest.mark.parametrize(
    "row", [[INF, 0, 1], [INF, -INF, 1], [INF, INF, 1], [NAN, 0, 1], [-INF, -INF, -INF]]
)
def test_a_row_without_a_distribution_is_not_a_number_and_others_do_not_suffer(session, row):
    found = session.run(sparsemax(np.array([row, [0, 0.5, -INF]])))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], [0.25, 0.75, 0])


def test_logits_that_are_no_matrix_are_refused():
    with pytest.raises(ValueError):
        sparsemax([1.0, 2.0])


def test_gradients_go_to_what_has_a_share(session):
    logits, asked = rows(6, 5), rows(5, 6).T.copy()
    x = tf.constant(logits)
    (grad,) = tf.gradients(sparsemax(x), x, asked)
    found = session.run(grad)
    for row, out, ask in zip(logits, found, asked):
        has = projected(row) > 0
        np.testing.assert_allclose(out, np.where(has, ask - ask[has].mean(), 0), atol=1e-12)
    x = tf.constant([[0.0, 0.5, -INF]])
    (grad,) = tf.gradients(sparsemax(x)[0, 0], x)
    np.testing.assert_allclose(session.run(grad), [[0.5, -0.5, 0]])


def test_the_loss_is_that_of_the_paper(session):
    logits = rows(20, 6)
    labels = np.eye(6)[np.arange(20) % 6]
    labels[0] = [0.5, 0.5, 0, 0, 0, 0]
    shares = np.apply_along_axis(projected, 1, logits)
    threshold = (logits - shares)[np.arange(20), logits.argmax(1)][:, None]
    held = np.where(shares > 0, logits**2 - threshold**2, 0).sum(1)
    expected = -(labels * logits).sum(1) + held / 2 + (labels**2).sum(1) / 2
    loss = sparsemax_loss(logits, sparsemax(logits), labels)
    assert loss.shape.as_list() == [20]
    np.testing.assert_allclose(session.run(loss), expected, atol=1e-12)
    assert (session.run(loss) >= -1e-12).all()


def test_the_gradient_of_the_loss_is_what_probabilities_are_off(session):
    given, labels = rows(4, 5), np.eye(5)[:4]
    given[0, 4] = -INF
    logits = tf.constant(given)
    shares = sparsemax(logits)
    (grad,) = tf.gradients(sparsemax_loss(logits, shares, labels), logits)
    found, made = session.run([grad, shares])
    np.testing.assert_allclose(found, made - labels, atol=1e-12)


def test_a_class_that_can_not_be_costs_only_who_asks_for_it(session):
    logits = np.array([[-INF, 0.0, 0.5], [-INF, 0.0, 0.5], [INF, 0.0, 0.5], [NAN, 0.0, 0.5]])
    labels = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    found = session.run(sparsemax_loss(logits, sparsemax(logits), labels))
    # The first: 1/4 (0 - 1/8) + 3/4 (1/2 - 3/8) + (1/2 - 1/2).
    np.testing.assert_allclose(found[0], 0.0625)
    assert found[1] == INF and np.isnan(found[2:]).all()
