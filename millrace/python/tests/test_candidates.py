"""Losses over some classes of many."""

import numpy as np

import millrace as tf


def test_a_sampler_says_what_it_drew_and_what_it_expected(session):
    drawn = tf.nn.log_uniform_candidate_sampler([[0, 1], [3, 4]], 2, 4, True, 50, seed=1)
    assert [t.shape.as_list() for t in drawn] == [[4], [2, 2], [4]]
    sampled, true_expected, sampled_expected = session.run(drawn)
    assert len(set(sampled)) == 4
    assert true_expected[0, 0] > true_expected[1, 1] > 0
    assert (sampled_expected > 0).all()


def losses(session, loss, **options):
    rng = np.random.default_rng(3)
    weights, biases = rng.normal(size=(6, 3)), rng.normal(size=6)
    inputs, labels = rng.normal(size=(2, 3)), np.array([[1], [4]])
    sampled = np.array([0, 4, 2])
    expected = np.array([0.5, 0.25, 0.3])
    true_expected = np.array([[0.7], [0.25]])
    made = loss(
        tf.constant(weights),
        tf.constant(biases),
        tf.constant(labels),
        tf.constant(inputs),
        3,
        6,
        sampled_values=(
            tf.constant(sampled, tf.int64),
            tf.constant(true_expected, tf.float32),
            tf.constant(expected, tf.float32),
        ),
        **options,
    )
    logits = inputs @ weights.T + biases
    true = np.take_along_axis(logits, labels, 1) - np.log(true_expected)
    others = logits[:, sampled] - np.log(expected)
    return session.run(made), true, others


def test_nce_tells_true_classes_from_those_drawn(session):
    loss, true, others = losses(session, tf.nn.nce_loss)
    expected = np.log1p(np.exp(-true)).sum(1) + np.log1p(np.exp(others)).sum(1)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_a_drawn_class_that_is_true_counts_once(session):
    loss, true, others = losses(session, tf.nn.sampled_softmax_loss)
    others[1, 1] = -np.inf  # class 4 was drawn, and is the second example's own
    logits = np.concatenate([true, others], 1)
    expected = np.log(np.exp(logits).sum(1)) - true[:, 0]
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_the_table_learns_by_rows(session):
    table = tf.Variable(tf.ones([50, 4]))
    biases = tf.Variable(tf.zeros([50]))
    loss = tf.nn.nce_loss(table, biases, [[3]], tf.ones([1, 4]), 5, 50)
    slices = tf.gradients(loss, table)[0]
    assert isinstance(slices, tf.IndexedSlices)
    session.run(tf.global_variables_initializer())
    assert session.run(slices.values).shape == (6, 4)
