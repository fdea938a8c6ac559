"""Input pipelines of TensorFlow's client, whose threads run steps on a Millrace server."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture
def numbers(graph):
    """A queue that two threads fill with 0 ... 29, its runner, and the step that takes from it."""
    queue = tf1.FIFOQueue(5, [tf.int64], shapes=[()])
    counter = tf1.Variable(tf.constant(0, tf.int64), use_resource=False, trainable=False)
    put = queue.enqueue(counter.count_up_to(30))
    runner = tf1.train.QueueRunner(queue, [put] * 2)
    tf1.train.add_queue_runner(runner)
    return queue, runner, queue.dequeue(name="take")


def test_threads_fill_the_queue_until_the_input_ends(target, numbers):
    _, _, take = numbers
    got = []
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while not coordinator.should_stop():
                got.append(int(session.run(take)))
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(got) == list(range(30))


def test_a_stop_request_ends_threads_that_are_blocked_on_a_full_queue(target, numbers):
    queue, _, take = numbers
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        session.run(take)
        coordinator.request_stop()
        coordinator.join(threads)
        assert not any(each.is_alive() for each in threads)
        assert session.run(queue.is_closed())


def test_closing_the_session_ends_the_threads(target, numbers):
    _, _, take = numbers
    coordinator = tf1.train.Coordinator()
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        threads = tf1.train.start_queue_runners(session, coordinator)
        session.run(take)
        coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=30)
    assert not any(each.is_alive() for each in threads)


def test_an_error_in_a_producer_is_raised_where_the_threads_are_joined(target, graph):
    queue = tf1.FIFOQueue(5, [tf.float32], shapes=[()])
    bad = tf1.check_numerics(tf.math.log(tf.constant(-1.0)), "no number")
    runner = tf1.train.QueueRunner(queue, [queue.enqueue(bad)])
    take = queue.dequeue()
    with tf1.Session(target) as session:
        coordinator = tf1.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            coordinator.join(threads)


def test_a_pipeline_of_two_queues_on_two_tasks(cluster, graph):
    both = cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        source = tf1.FIFOQueue(4, [tf.int32], shapes=[()])
        start = source.enqueue_many([list(range(4))])
    with tf.device("/job:worker/task:0"):
        squares = tf1.FIFOQueue(4, [tf.int32], shapes=[()])
        forward = squares.enqueue(tf.square(source.dequeue()))
    tf1.train.add_queue_runner(tf1.train.QueueRunner(squares, [forward] * 2))
    take, close = squares.dequeue(), source.close()
    with tf1.Session(both.target("worker")) as session:
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        session.run(start)
        got = [int(session.run(take)) for _ in range(4)]
        session.run(close)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(got) == [0, 1, 4, 9]
