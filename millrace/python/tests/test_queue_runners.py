import subprocess
import sys
import threading

import pytest

import millrace as tf


def counting_queue(limit, capacity=10, **kwargs):
    """(a queue that is filled with 1 .. limit by a QueueRunner, the runner)."""
    count = tf.Variable(0, name="count")
    queue = tf.FIFOQueue(capacity, tf.int32)
    enqueue = queue.enqueue(tf.count_up_to(count, limit))
    return queue, tf.train.QueueRunner(queue, [enqueue], **kwargs)


def drain(session, tensor):
    values = []
    while True:
        try:
            values.append(session.run(tensor))
        except tf.errors.OutOfRangeError:
            return values


def test_the_queue_is_closed_when_the_input_ends(session):
    queue, runner = counting_queue(3)
    session.run(tf.global_variables_initializer())
    threads = runner.create_threads(session, start=True)
    assert [thread.name for thread in threads] == [
        f"QueueRunnerThread-{queue.name}-{runner.enqueue_ops[0].name}"
    ]
    assert drain(session, queue.dequeue()) == [0, 1, 2]
    for thread in threads:
        thread.join(30)
    assert not runner.exceptions_raised


def test_the_last_of_several_threads_closes_the_queue(session):
    queue = tf.FIFOQueue(100, tf.int32)
    counters = [tf.Variable(0) for _ in range(3)]
    limits = (2, 20, 7)
    runner = tf.train.QueueRunner(
        queue, [queue.enqueue(tf.count_up_to(c, n)) for c, n in zip(counters, limits)]
    )
    session.run(tf.global_variables_initializer())
    runner.create_threads(session, start=True)
    values = drain(session, queue.dequeue())
    assert sorted(values) == sorted([*range(2), *range(20), *range(7)])


def test_while_threads_run_no_others_are_made_for_the_session(session):
    queue, runner = counting_queue(100, capacity=1)
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    first = runner.create_threads(session, coord, start=True)
    assert len(first) == 2 and first[1].name.endswith("close_on_stop")
    assert runner.create_threads(session, coord) == []
    coord.request_stop()
    coord.join()
    assert len(runner.create_threads(session, coord)) == 2  # once they have ended


def test_a_stop_ends_an_enqueue_that_waits(session):
    queue, runner = counting_queue(100, capacity=1)
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    session.run(queue.dequeue())
    coord.request_stop()
    # CancelledError is no end of input: but the program asked to stop before.
    coord.join(threads, stop_grace_period_secs=60)
    assert session.run(queue.is_closed())


def test_an_error_stops_the_coordinator_and_is_raised_by_join(session):
    queue = tf.FIFOQueue(10, tf.int32)
    never_initialized = tf.Variable(0, name="never")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(never_initialized)])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match="never"):
        coord.join(threads)
    assert coord.should_stop()
    assert runner.exceptions_raised == []


def test_without_a_coordinator_errors_are_kept(session, monkeypatch):
    seen = []
    monkeypatch.setattr(threading, "excepthook", seen.append)
    queue = tf.FIFOQueue(10, tf.int32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.Variable(0))])
    for thread in runner.create_threads(session, start=True):
        thread.join(30)
    (error,) = runner.exceptions_raised
    assert isinstance(error, tf.errors.FailedPreconditionError)
    assert seen[0].exc_value is error


def test_other_errors_may_mean_that_the_queue_was_closed(session):
    inner = tf.FIFOQueue(10, tf.int32)
    queue = tf.FIFOQueue(10, tf.int32)
    closed = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
    runner = tf.train.QueueRunner(
        queue, [inner.enqueue(1)], close_op=queue.close(), queue_closed_exception_types=closed
    )
    session.run(inner.close())
    for thread in runner.create_threads(session, start=True):
        thread.join(30)
    assert session.run(queue.is_closed()) and not runner.exceptions_raised


def test_arguments_that_make_no_sense_are_refused():
    queue, runner = counting_queue(1)
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        tf.train.QueueRunner(queue, [])
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.train.QueueRunner(queue, queue_runner_def=runner.to_proto())
    for types in ((), [tf.errors.OutOfRangeError], (ValueError,)):
        with pytest.raises(TypeError, match="tuple of tf.error types"):
            tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=types)


def test_a_queue_runner_goes_through_its_definition():
    queue, runner = counting_queue(
        1, queue_closed_exception_types=(tf.errors.CancelledError, tf.errors.OutOfRangeError)
    )
    data = runner.to_proto().SerializeToString()
    # queue_name, enqueue_op_name, close_op_name, cancel_op_name, and two codes.
    assert data == (
        b"\x0a\x0afifo_queue\x12\x12fifo_queue_enqueue\x1a\x10fifo_queue_Close"
        b"\x22\x12fifo_queue_Close_1\x28\x01\x28\x0b"
    )
    made = tf.train.QueueRunner.from_proto(tf.train.QueueRunnerDef.FromString(data))
    assert made.queue is queue.queue_ref.op and made.name == "fifo_queue"
    assert made.enqueue_ops == runner.enqueue_ops
    assert (made.close_op, made.cancel_op) == (runner.close_op, runner.cancel_op)
    assert made.queue_closed_exception_types == runner.queue_closed_exception_types


def test_a_scope_is_taken_from_the_names_and_put_before_them():
    with tf.name_scope("in"):
        queue, runner = counting_queue(1)
    assert runner.to_proto(export_scope="out") is None
    definition = runner.to_proto(export_scope="in")
    assert definition.queue_name == "fifo_queue"
    made = tf.train.QueueRunner.from_proto(definition, import_scope="in")
    assert made.queue is queue.queue_ref.op


def test_all_queue_runners_of_the_graph_are_started(session):
    queue, runner = counting_queue(3)
    tf.train.add_queue_runner(runner)
    session.run(tf.global_variables_initializer())
    threads = tf.train.start_queue_runners(session)
    assert len(threads) == 1 and threads[0].daemon
    assert drain(session, queue.dequeue()) == [0, 1, 2]


def test_they_are_also_below_their_modules_name():
    assert tf.train.queue_runner.QueueRunner is tf.train.QueueRunner
    assert tf.train.queue_runner.add_queue_runner is tf.train.add_queue_runner


def test_starting_needs_a_session(caplog):
    with pytest.raises(ValueError, match="No default session"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match="must be a `tf.Session`"):
        tf.train.start_queue_runners("a session")
    with tf.Session() as session:
        assert tf.train.start_queue_runners(session) == []
    assert "no queue runners were defined" in caplog.text


# ---- The messages themselves ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"\x0a\x05abc", b"\x0a", b"\x80", b"\x0b", b"\x0d\x01", b"\x08\x01", b"\xff" * 11]
)
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(ValueError, match="no QueueRunnerDef"):
        tf.train.QueueRunnerDef.FromString(data)


def test_fields_that_are_not_known_are_kept():
    data = b"\x0a\x01q" + b"\xf8\x06\x96\x01" + b"\x82\x07\x03new"
    message = tf.train.QueueRunnerDef.FromString(data)
    assert message.queue_name == "q"
    assert message.SerializeToString() == data


PROGRAM_WITH_WAITING_THREADS = """
import sys, threading, time
import millrace as tf

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

taken = tf.FIFOQueue(1, tf.int32).dequeue()
with tf.Session() as session:
    for _ in range(50):
        threading.Thread(target=session.run, args=[taken], daemon=True).start()
    time.sleep(0.2)
sys.modules["slow"] = Slow()  # Python takes its time to end
"""


def test_a_program_may_end_while_threads_come_out_of_steps():
    # Whether one comes while Python ends is a matter of luck: likely in each run, certain in some.
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", PROGRAM_WITH_WAITING_THREADS], stderr=-1)
        assert done.returncode == 0, done.stderr[-2000:]
