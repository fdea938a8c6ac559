"""Batching ops of TensorFlow's client, on a Millrace task: rows of steps that run at once."""

import pytest
import tensorflow as tf
from tensorflow.python.ops import batch_ops, gen_batch_ops

from threads import Background

tf1 = tf.compat.v1
errors = tf.errors

A_LONG_TIME = 600_000_000  # microseconds


def both(session, fetch, feeds):
    """What two steps give that run at once."""
    first = Background(session.run, fetch, feeds[0])
    second = session.run(fetch, feeds[1])
    return first.result(), second


def test_rows_of_two_steps_go_through_a_batch_and_come_back(target, graph):
    x = tf1.placeholder(tf.float32, [1])
    rows, index, id_ = batch_ops.batch(
        [x],
        num_batch_threads=1,
        max_batch_size=2,
        batch_timeout_micros=A_LONG_TIME,
        grad_timeout_micros=A_LONG_TIME,
    )
    seen = tf.identity(rows[0])
    back = batch_ops.unbatch(seen * 10, index, id_, timeout_micros=A_LONG_TIME)
    with tf1.Session(target) as session:
        first, second = both(session, [back, seen], [{x: [1]}, {x: [2]}])
    assert [first[0].tolist(), second[0].tolist()] == [[10], [20]]
    assert sorted([*first[1], *second[1]]) == [1, 2] and 0 in (first[1].size, second[1].size)


def test_a_function_is_called_once_for_the_rows_of_two_steps(target, graph):
    factor = tf1.placeholder_with_default(3.0, [])
    calls = tf1.get_variable("calls", [], tf.int32, tf1.zeros_initializer(), use_resource=True)

    @batch_ops.batch_function(1, 2, A_LONG_TIME)
    def computation(rows):
        with tf.control_dependencies([calls.assign_add(1)]):
            return rows * factor + tf.cast(tf.shape(rows)[0], tf.float32)

    x = tf1.placeholder(tf.float32, [None])
    result = computation(x)
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        first, second = both(session, result, [{x: [1]}, {x: [2]}])
        assert [first.tolist(), second.tolist()] == [[5], [8]]
        assert session.run(calls) == 1


def test_a_batch_that_does_not_fill_goes_when_its_time_is_over(target, graph):
    x = tf1.placeholder(tf.int32, [None])
    result = batch_ops.batch_function(1, 8, 1000, allowed_batch_sizes=[4, 8])(
        lambda rows: rows + 1
    )(x)
    with tf1.Session(target) as session:
        assert session.run(result, {x: [1, 2, 3]}).tolist() == [2, 3, 4]
        with pytest.raises(errors.InvalidArgumentError, match="Task size 9 is larger than"):
            session.run(result, {x: list(range(9))})


def test_a_step_that_is_cancelled_leaves_its_batch(target, graph):
    x = tf1.placeholder(tf.int32, [1])
    rows, _, _ = batch_ops.batch(
        [x],
        num_batch_threads=1,
        max_batch_size=2,
        # A client hears of its limit before the batch does: the step after may find it in line, and
        # leave the next one alone for so long.
        batch_timeout_micros=5_000_000,
        grad_timeout_micros=0,
        shared_name="left alone",
    )
    with tf1.Session(target) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(rows, {x: [1]}, options=tf1.RunOptions(timeout_in_ms=200))
        first, second = both(session, rows, [{x: [2]}, {x: [3]}])
        assert sorted([*first[0], *second[0]]) == [2, 3]


def test_a_function_of_other_arguments_is_refused(target, graph):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)] * 2)
    def two(a, b):
        return a + b

    result = gen_batch_ops.batch_function(
        [tf.constant([1])],
        [],
        f=two.get_concrete_function(),
        num_batch_threads=1,
        max_batch_size=2,
        batch_timeout_micros=0,
        Tout=[tf.int32],
    )
    with tf1.Session(target) as session:
        with pytest.raises(
            errors.InvalidArgumentError, match=r"Function takes 2 argument\(s\) but 1"
        ):
            session.run(result)
