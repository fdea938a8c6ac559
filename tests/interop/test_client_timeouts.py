"""Deadlines of TensorFlow's client end a step everywhere, and what comes after runs."""

import subprocess
import time

import pytest
import tensorflow as tf

from threads import in_threads

tf1 = tf.compat.v1
errors = tf.errors

SOON = tf1.RunOptions(timeout_in_ms=200)


def until_nothing_runs(target):
    """The client gives up by its own clock; the server may be a moment behind."""
    for _ in range(600):
        told = subprocess.run(["millrace", "status", target], capture_output=True, text=True)
        if "runs since" not in told.stdout:
            return
        time.sleep(0.1)
    pytest.fail(f"a step outlives its deadline: {told.stdout}{told.stderr}")


def test_a_run_option_ends_a_blocked_step(target, graph):
    queue = tf1.FIFOQueue(2, [tf.int32], shapes=[()])
    take, put = queue.dequeue(), queue.enqueue(5)
    with tf1.Session(target) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(take, options=SOON)
        until_nothing_runs(target)
        session.run(put)
        assert session.run(take) == 5


def test_the_session_option_ends_a_blocked_step(target, graph):
    queue = tf1.FIFOQueue(2, [tf.int32], shapes=[()])
    take, put = queue.dequeue(), queue.enqueue(5)
    config = tf1.ConfigProto(operation_timeout_in_ms=2000)
    with tf1.Session(target, config=config) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(take)
        until_nothing_runs(target)
        session.run(put)
        assert session.run(take) == 5


def test_a_step_that_timed_out_no_longer_takes_from_the_queue(target, graph):
    queue = tf1.FIFOQueue(10, [tf.int32], shapes=[()])
    number = tf1.placeholder(tf.int32, [])
    take, put, size = queue.dequeue(), queue.enqueue(number), queue.size()
    with tf1.Session(target) as session:
        for _ in range(3):
            with pytest.raises(errors.DeadlineExceededError):
                session.run(take, options=SOON)
        until_nothing_runs(target)
        # A step that waited longer has its turn first; when this one gets the value, it was alone.
        session.run(put, {number: 7})
        assert session.run(take) == 7
        assert session.run(size) == 0


def test_a_step_blocked_on_another_task_times_out_there_too(cluster, graph):
    both = cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        queue = tf1.FIFOQueue(1, [tf.int32], shapes=[()])
        take, put = queue.dequeue(), queue.enqueue(5)
    with tf.device("/job:worker/task:0"):
        plus_one = take + 1
    with tf1.Session(both.target("worker")) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(plus_one, options=SOON)
        for job in ("worker", "ps"):
            until_nothing_runs(both.target(job))
        session.run(put)
        assert session.run(plus_one) == 6


def test_an_enqueue_that_timed_out_adds_nothing(target, graph):
    queue = tf1.FIFOQueue(1, [tf.int32], shapes=[()])
    number = tf1.placeholder(tf.int32, [])
    put, take, size = queue.enqueue(number), queue.dequeue(), queue.size()
    with tf1.Session(target) as session:
        session.run(put, {number: 1})
        with pytest.raises(errors.DeadlineExceededError):
            session.run(put, {number: 2}, options=SOON)
        until_nothing_runs(target)
        assert session.run(take) == 1
        session.run(put, {number: 3})
        assert session.run(take) == 3
        assert session.run(size) == 0


def test_an_endless_loop_ends_at_its_deadline(target, graph):
    endless = tf1.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0])
    with tf1.Session(target) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(endless, options=SOON)
        assert session.run(tf.constant(1)) == 1


def test_a_step_in_time_is_not_touched_by_its_deadline(target, graph):
    x = tf.constant(2) * 3
    with tf1.Session(target) as session:
        for _ in range(20):
            assert session.run(x, options=tf1.RunOptions(timeout_in_ms=60_000)) == 6


def test_one_thread_times_out_while_the_others_go_on(target, graph):
    queue = tf1.FIFOQueue(1, [tf.int32], shapes=[()])
    x = tf1.placeholder(tf.int32, [])
    take, square = queue.dequeue(), x * x
    with tf1.Session(target) as session:

        def work(number):
            if number == 0:
                with pytest.raises(errors.DeadlineExceededError):
                    session.run(take, options=SOON)
                return []
            return [session.run(square, {x: i}) for i in range(50)]

        results = in_threads(work, range(4))
    assert results[1:] == [[i * i for i in range(50)]] * 3


def test_a_partial_run_times_out(target, graph):
    queue = tf1.FIFOQueue(1, [tf.int32], shapes=[()])
    x = tf1.placeholder(tf.int32, [])
    waits = queue.dequeue() + x
    with tf1.Session(target, config=tf1.ConfigProto(operation_timeout_in_ms=2000)) as session:
        handle = session.partial_run_setup([waits], [x])
        with pytest.raises(errors.DeadlineExceededError):
            session.partial_run(handle, waits, {x: 1})
        assert session.run(tf.constant(1)) == 1
