"""Kept tensors, staging areas, barriers and critical sections of TensorFlow's client, on a Millrace task."""

import time

import pytest
import tensorflow as tf
from tensorflow.python.ops import data_flow_ops

from threads import Background

tf1 = tf.compat.v1
errors = tf.errors


def test_a_kept_tensor_is_found_by_its_handle_until_it_is_deleted(target, graph):
    x = tf1.placeholder(tf.float32, [2])
    keep = tf1.get_session_handle(x * 2)
    with tf1.Session(target) as session:
        first, second = (session.run(keep, {x: each}) for each in ([1, 2], [3, 4]))
        assert first.eval().tolist() == [2, 4]
        assert second.eval().tolist() == [6, 8]
        holder, value = tf1.get_session_tensor(first.handle, tf.float32)
        assert session.run(value + 1, {holder: first.handle}).tolist() == [3, 5]
        name = first.handle
        first.delete()
        with pytest.raises(errors.InvalidArgumentError, match="is not in the session store"):
            session.run(value, {holder: name})


def test_a_kept_tensor_ends_with_its_session(target, graph):
    keep = tf1.get_session_handle(tf.constant(7))
    with tf1.Session(target) as session:
        name = session.run(keep).get_raw_handle()
        holder, value = tf1.get_session_tensor(name, tf.int32)
        assert session.run(value, {holder: name}) == 7
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="is not in the session store"):
            # Whoever holds the last of the session's graph lets go in a moment.
            for _ in range(100):
                session.run(value, {holder: name})
                time.sleep(0.1)


def test_a_staging_area_holds_tuples_from_step_to_step(target, graph):
    area = data_flow_ops.StagingArea([tf.float32, tf.string], shapes=[[], []])
    put, taken = area.put([tf.constant(1.5), tf.constant("a")]), area.get()
    with tf1.Session(target) as session:
        waiting = Background(session.run, taken)
        session.run(put)
        assert waiting.result() == [1.5, b"a"]
        session.run(put)
        assert session.run(area.size()) == 1


def test_closing_a_session_ends_what_waits_in_it(target, graph):
    taken = data_flow_ops.StagingArea([tf.int32]).get()
    begun = tf1.get_variable("begun", initializer=False, use_resource=True)
    session = tf1.Session(target)
    session.run(begun.initializer)
    waiting = Background(session.run, [begun.assign(True), taken])
    # Closed before the step is there, the session would have nothing that waits.
    while not session.run(begun):
        assert not waiting.ended()
    session.close()
    with pytest.raises((errors.CancelledError, errors.AbortedError, RuntimeError)):
        waiting.result()


def test_an_element_leaves_a_barrier_once_it_is_whole(target, graph):
    barrier = data_flow_ops.Barrier((tf.float32, tf.string), shapes=((), ()))
    numbers = barrier.insert_many(0, ["a", "b"], [1.0, 2.0])
    words = barrier.insert_many(1, ["b"], ["y"])
    indices, keys, values = barrier.take_many(1)
    with tf1.Session(target) as session:
        session.run(numbers)
        session.run(words)
        assert session.run([keys, *values]) == [[b"b"], [2.0], [b"y"]]
        session.run(barrier.close(cancel_pending_enqueues=True))
        with pytest.raises(errors.OutOfRangeError):
            session.run(indices)


def test_what_a_critical_section_runs_is_never_mixed(target, graph):
    count = tf1.get_variable("count", initializer=0, use_resource=True)
    section = tf.CriticalSection()

    def add():
        value = count.read_value()
        with tf.control_dependencies([value]):
            with tf.control_dependencies([count.assign_add(1)]):
                return tf.identity(value)

    added = [section.execute(add) for _ in range(6)]
    with tf1.Session(target) as session:
        session.run(count.initializer)
        assert sorted(session.run(added)) == list(range(6))
