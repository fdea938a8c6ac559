"""Programs under MILLRACE_ONCE=1: no line of them knows of it, and what they do for an element is done once."""

import os
import subprocess
import sys
import textwrap

BEGINNING = """
    import millrace as tf
    server = tf.train.Server.create_local_server()
    queue = tf.FIFOQueue(-1, [tf.int32], shapes=[()], shared_name="numbers")
    number = tf.placeholder(tf.int32, [])
    put, close, take = queue.enqueue(number), queue.close(), queue.dequeue()
    total = tf.Variable(0, name="total")
    add = tf.assign_add(total, number)
    initialize = tf.global_variables_initializer()
    owner = tf.Session(server.target)
    owner.run(initialize)
    for each in (5, 6):
        owner.run(put, {number: each})
    owner.run(close)
"""


def printed(program, once="1"):
    """What a program prints after the beginning."""
    text = textwrap.dedent(BEGINNING) + textwrap.dedent(program)
    environment = {**os.environ, "MILLRACE_ONCE": once}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


TWO_SESSIONS = """
    with tf.Session(server.target) as first:
        print(first.run(take))
        first.run(add, {number: 5})
    second = tf.Session(server.target)
    while True:
        try:
            got = second.run(take)
        except tf.errors.OutOfRangeError:
            break
        print(got)
        second.run(add, {number: got})
    print(second.run(total))
"""


def test_what_a_session_did_not_acknowledge_is_taken_again_and_counts_once():
    assert printed(TWO_SESSIONS) == ["5", "5", "6", "11"]


def test_without_it_what_was_taken_is_gone():
    assert printed(TWO_SESSIONS, once="0") == ["5", "6", "11"]


def test_monitored_sessions_and_callables_count_once():
    program = """
        def monitored():
            return tf.train.MonitoredSession(tf.train.WorkerSessionCreator(master=server.target))
        with tf.Session(server.target) as first:
            step = first.make_callable(add, [number])
            print(first.run(take))
            step(5)
            step(50)
        with monitored() as second:
            print(second.run(take))
            second.run(add, {number: 5})
            second.run(total)
            second.run(add, {number: 50}, options=tf.RunOptions(timeout_in_ms=60000))
            print(second.run(take))
            second.run(add, {number: 6})
        with monitored() as third:
            print(third.run(take))
            third.run(add, {number: 6})
        print(owner.run(total))
    """
    assert printed(program) == ["5", "5", "6", "6", "61"]


def test_what_cannot_be_counted_once_is_refused_and_the_session_goes_on():
    program = """
        session = tf.Session(server.target)
        many = queue.dequeue_many(2)
        other = queue.dequeue()
        for fetch in (many, [take, other]):
            try:
                session.run(fetch)
            except tf.errors.UnimplementedError as error:
                print("refused")
        print(session.run(take))
        session.run(add, {number: 5})
        print(session.run(take))
        print(session.run(total))
    """
    assert printed(program) == ["refused", "refused", "5", "6", "5"]


def test_a_program_that_borrows_by_itself_can_do_so_here_as_well():
    program = """
        borrow = queue.dequeue(lease=100)
        session = tf.Session(server.target)
        for _ in range(2):
            with session.run(borrow) as lease:
                print(lease.value)
                session.run(add, {number: lease.value})
        print(session.run(total))
    """
    assert printed(program) == ["5", "6", "11"]
