"""What Millrace's own client does, as small programs: `python3 own_client.py TARGET`.

Run by test_mixed_own_client.py in a process of its own, because TensorFlow's packages and Millrace's
don't share one. Each program gets a graph and a session on a cluster of worker:0 and worker:1; it has
passed when it returns. The exit code says whether all have; the error output, which have not.
"""

import sys
import threading
import traceback

import numpy as np

import millrace as tf


def raises(error, function, *words):
    try:
        function()
    except error as caught:
        for word in words:
            assert word in str(caught), f"no {word!r} in: {caught}"
        return caught
    raise AssertionError(f"no {error.__name__}")


def steps(session, one, other):
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device(one):
        y = tf.matmul(x, tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    with tf.device(other):
        z = tf.reduce_sum(y, 1)
    assert session.run(z, {x: [[1, 1], [2, 0]]}).tolist() == [10, 6]
    with tf.device(one):
        more = z + 1.0
    assert session.run([more, z], {x: [[1, 1]]})[0].tolist() == [11]


def types(session, one, other):
    values = [
        np.arange(6).reshape(2, 3).astype(kind)
        for kind in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
        "complex64 complex128".split()
    ]
    values += [np.array([b"", b"\x00\xff", b"x" * 100_000], object), np.zeros((0, 3), np.int32)]
    for value in values:
        x = tf.placeholder(tf.string if value.dtype == object else value.dtype)
        with tf.device(one):
            y = tf.identity(x)
        with tf.device(other):
            z = tf.identity(y)
        got = session.run(z, {x: value})
        assert got.dtype == value.dtype and got.tolist() == value.tolist(), value.dtype


def large(session, one, other):
    x = tf.placeholder(tf.float32, [None])
    with tf.device(one):
        y = tf.identity(x)
    with tf.device(other):
        z = y + 1.0
    value = np.arange(20_000_000, dtype=np.float32)
    assert (session.run(z, {x: value}) == value + 1).all()


def variables(session, one, other):
    for use_resource in (False, True):
        with tf.device(one):
            v = tf.Variable([1.0, 2.0], use_resource=use_resource, name=f"resource_{use_resource}")
        with tf.device(other):
            change = tf.constant([10.0, 20.0])
            doubled = v * 2.0
        add = v.assign_add(change)
        raises(tf.errors.FailedPreconditionError, lambda: session.run(doubled))
        session.run(v.initializer)
        session.run(add)
        assert session.run(doubled).tolist() == [22, 44]


def queues(session, one, other):
    with tf.device(one):
        queue = tf.FIFOQueue(2, [tf.int32], [[]])
    x = tf.placeholder(tf.int32, [])
    with tf.device(other):
        put, take = queue.enqueue(x * 2), queue.dequeue() + 1
    close = queue.close()
    producer = threading.Thread(target=lambda: [session.run(put, {x: i}) for i in range(50)])
    producer.start()
    assert [int(session.run(take)) for _ in range(50)] == [2 * i + 1 for i in range(50)]
    producer.join()
    session.run(close)
    raises(tf.errors.OutOfRangeError, lambda: session.run(take), "is closed")
    raises(tf.errors.CancelledError, lambda: session.run(put, {x: 1}), "is closed")


def loops(session, one, other):
    turns = tf.placeholder(tf.int32, [])

    def body(i, total):
        with tf.device(other):
            total = total + i
        return i + 1, total

    with tf.device(one):
        _, total = tf.while_loop(lambda i, _: i < turns, body, [tf.constant(0), tf.constant(0)])
        with_branch = tf.cond(turns > 3, lambda: total * 2, lambda: tf.constant(-1))
    for n in (0, 1, 3, 10):
        expected = n * (n - 1) // 2
        got = session.run([total, with_branch], {turns: n})
        assert got == [expected, expected * 2 if n > 3 else -1], (n, got)


def errors(session, one, other):
    x = tf.placeholder(tf.float32, [])
    with tf.device(one):
        y = tf.check_numerics(1.0 / x, "checked here")
    with tf.device(other):
        z = y + 1.0
    for _ in range(3):
        caught = raises(
            tf.errors.InvalidArgumentError, lambda: session.run(z, {x: 0.0}), "checked here"
        )
        assert caught.op is not None and caught.op.type == "CheckNumerics"
        assert session.run(z, {x: 1.0}) == 2.0
    with tf.device("/job:nowhere"):
        lost = tf.constant(1.0, name="lost")
    raises(tf.errors.InvalidArgumentError, lambda: session.run(lost), "lost", "/job:nowhere")


def limits(session, one, other):
    with tf.device(one):
        never = tf.FIFOQueue(2, [tf.int32], [[]]).dequeue()
    with tf.device(other):
        later = never + 1
    for _ in range(3):
        raises(
            tf.errors.DeadlineExceededError,
            lambda: session.run(later, options=tf.RunOptions(timeout_in_ms=100)),
        )
    assert session.run(tf.constant(1) + 1) == 2


def traces(session, one, other):
    x = tf.placeholder(tf.float32, [])
    with tf.device(one):
        y = tf.add(x, 1.0, name="first")
    with tf.device(other):
        z = tf.multiply(y, 2.0, name="second")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert session.run(z, {x: 1.0}, options=options, run_metadata=metadata) == 4.0
    ran = {node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    assert {"first", "second"} <= ran, ran


def listing(session, one, other):
    names = {device.name for device in session.list_devices()}
    for device in (one, other):
        assert device.replace("/task", "/replica:0/task") + "/device:CPU:0" in names


def closing(session, one, other):
    with tf.device(one):
        started = tf.FIFOQueue(2, [tf.int32], [[]], shared_name="closing started")
        never = tf.FIFOQueue(2, [tf.int32], [[]]).dequeue()
    with tf.device(other):
        later = never + 1
    pulse, seen = started.enqueue(1), started.dequeue()
    ended = []

    def run():
        ended.append(raises(tf.errors.CancelledError, lambda: session.run([later, pulse])))

    runner = threading.Thread(target=run)
    runner.start()
    with tf.Session(session.sess_str) as another:
        another.run(seen)
    session.close()
    runner.join()
    assert ended


PROGRAMS = [
    steps, types, large, variables, queues, loops, errors, limits, traces, listing, closing,
]  # fmt: skip


def main():
    target = sys.argv[1]
    failed = []
    for program in PROGRAMS:
        one, other = "/job:worker/task:1", "/job:worker/task:0"
        config = tf.ConfigProto(operation_timeout_in_ms=30_000)
        with tf.Graph().as_default(), tf.Session(target, config=config) as session:
            try:
                program(session, one, other)
            except Exception:
                traceback.print_exc()
                failed.append(program.__name__)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
