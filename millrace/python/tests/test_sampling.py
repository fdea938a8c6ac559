"""tf.contrib.training's samples of streams, and tf.contrib.rnn's cells over all points of time."""

import numpy as np
import pytest

import millrace as tf

training, rnn = tf.contrib.training, tf.contrib.rnn


def started(session):
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    return coordinator, tf.train.start_queue_runners(session, coordinator)


def stopped(coordinator, threads):
    coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=60)


def test_what_has_no_chance_is_left_out(session):
    values = tf.train.range_input_producer(10, shuffle=False).dequeue()
    (taken,) = training.rejection_sample(
        [values], lambda example: tf.to_float(tf.equal(example[0] % 3, 0)), 8, runtime_checks=True
    )
    several = tf.constant([[1.0], [2.0], [4.0]])
    both = training.rejection_sample(
        [several, tf.constant([1, 2, 4])],
        lambda example: tf.to_float(example[1] > 1),
        6,
        enqueue_many=True,
    )
    threads = started(session)
    assert session.run(taken).tolist() == [0, 3, 6, 9, 0, 3, 6, 9]
    rows, numbers = session.run(both)
    assert rows[:, 0].tolist() == numbers.tolist() == [2, 4] * 3
    stopped(*threads)


@pytest.mark.parametrize("known", [True, False])
def test_classes_become_as_frequent_as_is_wanted(session, known):
    tf.set_random_seed(1)
    labels = tf.to_int32(tf.random_uniform([]) < 0.2)  # a fifth are of class 1
    (values,), found = training.stratified_sample(
        [tf.stack([labels * 10])], labels, [0.5, 0.5], 50, [0.8, 0.2] if known else None
    )
    threads = started(session)
    batches = [session.run([values, found]) for _ in range(12)]
    stopped(*threads)
    drawn = np.concatenate([batch[1] for batch in batches])
    assert np.array_equal(np.concatenate([b[0] for b in batches])[:, 0], drawn * 10)
    assert 0.35 < drawn.mean() < 0.65


def test_distributions_that_are_none_are_refused(session):
    with pytest.raises(ValueError, match="known length"):
        training.stratified_sample([1], 0, tf.placeholder(tf.float32, [None]), 2)
    with pytest.raises(ValueError):
        training.stratified_sample([1], 0, [0.5, 0.5], 2, [1.0])
    with pytest.raises(TypeError):
        training.stratified_sample(1, 0, [0.5, 0.5], 2)


def test_examples_come_as_often_as_their_rates(session):
    rates = tf.constant([0.0, 1.0, 5.0])
    numbers, same = training.resample_at_rate([tf.range(3), tf.range(3) * 2], rates, seed=3)
    counts = np.zeros(3)
    for _ in range(200):
        first, second = session.run([numbers, same])
        assert np.array_equal(second, 2 * first)
        counts += np.bincount(first, minlength=3)
    np.testing.assert_allclose(counts / 200, [0, 1, 5], atol=0.5)


def test_rates_are_in_proportion_to_weights(session):
    (drawn,), rates = training.weighted_resample(
        [tf.range(2)], tf.constant([1.0, 3.0]), 2.0, seed=5
    )
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    counts = np.zeros(2)
    for _ in range(200):
        numbers, own = session.run([drawn, rates])
        counts += np.bincount(numbers, minlength=2)
        assert np.allclose(own[numbers == 0], 1.0, 1e-3)
        assert np.allclose(own[numbers == 1], 3.0, 1e-3)
    np.testing.assert_allclose(counts / 200, [1, 3], atol=0.5)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_cells_run_over_all_points_of_time(session, dynamic, as_list):
    inputs = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)
    lengths = tf.constant([4, 2])
    given = [tf.constant(each) for each in inputs] if as_list else tf.constant(inputs)
    cell = rnn.GRUCell(5)
    forward = rnn.FusedRNNCellAdaptor(cell, dynamic)
    with tf.variable_scope("net"):
        outputs, state = forward(given, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("net", reuse=True):
        back, last = rnn.TimeReversedFusedRNN(forward)(
            given, dtype=tf.float32, sequence_length=lengths
        )
    assert isinstance(outputs, list) is as_list and isinstance(back, list) is as_list
    session.run(tf.global_variables_initializer())
    with tf.variable_scope("net", reuse=True):
        turned = tf.reverse_sequence(tf.constant(inputs), lengths, 0, 1)
        scope = "rnn"
        ours, end = tf.nn.dynamic_rnn(
            cell, turned, lengths, dtype=tf.float32, time_major=True, scope=scope
        )
    wanted = tf.reverse_sequence(ours, lengths, 0, 1)
    found, expected = session.run([[tf.stack(back) if as_list else back, last], [wanted, end]])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)
    assert session.run(state).shape == (2, 5)
