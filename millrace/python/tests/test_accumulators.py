"""Accumulators as programs use them; the rules are tested beside the C++."""

import threading

import numpy as np
import pytest

import millrace as tf


def test_the_mean_of_what_came_is_taken(session):
    sum_ = tf.ConditionalAccumulator(tf.float32, shape=[2])
    x = tf.placeholder(tf.float32, [2])
    add, count, take = sum_.apply_grad(x), sum_.num_accumulated(), sum_.take_grad(2)
    assert take.shape.as_list() == [2]
    session.run(add, {x: [1.0, 2.0]})
    session.run(add, {x: [3.0, 6.0]})
    assert session.run(count) == 2
    np.testing.assert_array_equal(session.run(take), [2.0, 4.0])
    assert session.run(count) == 0


def test_stale_gradients_are_dropped(session):
    sum_ = tf.ConditionalAccumulator(tf.float32, shape=[], shared_name="stale")
    session.run(sum_.set_global_step(2))
    session.run(sum_.apply_grad(1.0, local_step=1))
    assert session.run(sum_.num_accumulated()) == 0
    session.run(sum_.apply_grad(1.0, local_step=2))
    assert session.run(sum_.num_accumulated()) == 1


def test_steps_may_be_counted_in_32_bits(session):
    sum_ = tf.ConditionalAccumulator(tf.float32, shape=[])
    session.run(sum_.set_global_step(tf.constant(2)))
    session.run(sum_.apply_grad(1.0, local_step=tf.constant(1)))
    session.run(sum_.apply_grad(1.0, local_step=tf.constant(2)))
    assert session.run(sum_.num_accumulated()) == 1


def test_a_take_waits_for_a_gradient(session):
    sum_ = tf.ConditionalAccumulator(tf.float64, shape=[], reduction_type="SUM")
    add, take = sum_.apply_grad(2.5), sum_.take_grad(2)
    taken = []
    waiting = threading.Thread(target=lambda: taken.append(session.run(take)))
    waiting.start()
    session.run(add)
    session.run(add)
    waiting.join()
    assert taken == [5.0]


def test_what_does_not_fit_is_refused_when_the_graph_is_built():
    sum_ = tf.ConditionalAccumulator(tf.float32, shape=[2])
    with pytest.raises(ValueError):
        sum_.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(ValueError):
        tf.ConditionalAccumulator(tf.float32, reduction_type="MEDIAN")


def test_rows_are_added_by_index(session):
    sum_ = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    session.run(sum_.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]]))
    slices = tf.IndexedSlices(tf.constant([[5.0, 8.0]]), tf.constant([2]), None)
    session.run(sum_.apply_indexed_slices_grad(slices))
    assert session.run(sum_.num_accumulated()) == 2
    taken = sum_.take_indexed_slices_grad(1)
    indices, values, shape = session.run([taken.indices, taken.values, taken.dense_shape])
    assert indices.tolist() == [0, 2]
    assert values.tolist() == [[1.0, 2.0], [4.0, 6.0]]
    assert shape.tolist() == [-1, 2]
