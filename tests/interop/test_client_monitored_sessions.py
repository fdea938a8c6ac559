"""TensorFlow's supervised sessions on Millrace servers.

They save and restore by default; with an empty saver they need no op for that.
"""

import pytest
import tensorflow as tf

from threads import Background

tf1 = tf.compat.v1


def scaffold():
    """A scaffold that saves nothing."""
    return tf1.train.Scaffold(saver=tf1.train.Saver(var_list=[], allow_empty=True))


@pytest.fixture
def training(graph):
    """The step of a graph that counts how often it ran."""
    return tf1.assign_add(tf1.train.get_or_create_global_step(), 1)


def test_a_monitored_session_initialises_runs_and_closes(target, training):
    with tf1.train.MonitoredTrainingSession(target, scaffold=scaffold()) as session:
        assert [session.run(training) for _ in range(3)] == [1, 2, 3]
    assert session.should_stop


def test_a_hook_stops_the_session_at_its_step(target, training):
    hooks = [tf1.train.StopAtStepHook(last_step=4)]
    seen = []
    with tf1.train.MonitoredTrainingSession(target, scaffold=scaffold(), hooks=hooks) as session:
        while not session.should_stop():
            seen.append(int(session.run(training)))
    assert seen == [1, 2, 3, 4]


def test_the_end_of_input_ends_a_monitored_session(target, training):
    queue = tf1.FIFOQueue(5, [tf.int32], shapes=[()])
    fill, close, take = queue.enqueue_many([[1, 2, 3]]), queue.close(), queue.dequeue()
    seen = []
    with tf1.train.MonitoredTrainingSession(target, scaffold=scaffold()) as session:
        session.run(fill)
        session.run(close)
        while not session.should_stop():
            seen.append(int(session.run(take)))
    assert seen == [1, 2, 3]


def test_queue_runners_start_with_a_monitored_session(target, training):
    queue = tf1.FIFOQueue(5, [tf.int32], shapes=[()])
    tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [queue.enqueue(7)]))
    take = queue.dequeue()
    with tf1.train.MonitoredTrainingSession(target, scaffold=scaffold()) as session:
        assert [session.run(take) for _ in range(10)] == [7] * 10


def test_a_worker_waits_until_the_chief_has_initialised(cluster):
    three = cluster(ps=1, worker=2)

    def build():
        with tf1.device(tf1.train.replica_device_setter(ps_tasks=1, worker_device="")):
            step = tf1.train.get_or_create_global_step()
            return tf1.assign_add(step, 1, use_locking=True)

    def work():
        with tf.Graph().as_default():
            step = build()
            creator = tf1.train.WorkerSessionCreator(scaffold(), three.target("worker:1"))
            with tf1.train.MonitoredSession(creator) as session:
                return int(session.run(step))

    with tf.Graph().as_default():
        step = build()
        with tf1.train.MonitoredTrainingSession(
            three.target("worker:0"), is_chief=True, scaffold=scaffold()
        ) as chief:
            chief.run(step)
            assert Background(work).result() == 2
            assert chief.run(step) == 3


def test_a_monitored_session_recovers_when_its_server_was_restarted(cluster, training):
    one = cluster(worker=1)
    with tf1.train.MonitoredTrainingSession(one.target("worker"), scaffold=scaffold()) as session:
        assert [session.run(training) for _ in range(3)] == [1, 2, 3]
        one.tasks["worker:0"].kill()
        one.start("worker:0")
        assert session.run(training) == 1


def test_a_supervisor_prepares_its_session(target, training):
    supervisor = tf1.train.Supervisor(logdir=None, saver=None, summary_op=None)
    with supervisor.managed_session(target) as session:
        assert [session.run(training) for _ in range(2)] == [1, 2]
        supervisor.request_stop()
        assert supervisor.should_stop()


def test_a_session_manager_says_which_variables_are_not_ready(target, graph):
    tf1.Variable(1, name="left_out", use_resource=False)
    manager = tf1.train.SessionManager(ready_op=tf1.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match="left_out"):
        manager.prepare_session(target, init_op=tf.no_op())
