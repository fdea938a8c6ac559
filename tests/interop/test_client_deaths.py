"""A client that is killed: what it ran ends, what it made stays, and others don't notice."""

import time

import pytest
import tensorflow as tf

from tasks import DEADLINE

tf1 = tf.compat.v1

# Counts in a variable of ps:0 for ever, in one step; its queue and its session are never closed.
PROGRAM = """
import sys
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
with tf.device("/job:ps/task:0"):
    ticks = tf.Variable(0, name="ticks", use_resource=False)
    queue = tf.FIFOQueue(9, [tf.int32], shapes=[()], shared_name="kept")

    def tick(_):
        with tf.control_dependencies([tf.assign_add(ticks, 1)]):
            return tf.constant(True)

    endless = tf.while_loop(lambda go: go, tick, [tf.constant(True)])
session = tf.Session(sys.argv[1])
session.run(ticks.initializer)
session.run(queue.enqueue(42))
session.run(endless)
"""


@pytest.fixture
def both(cluster):
    return cluster(ps=1, worker=1)


@pytest.fixture
def counting(both, zygote, tmp_path):
    """A client that counts on ps:0, by way of the master at worker:0."""
    program = tmp_path / "count.py"
    program.write_text(PROGRAM)
    log = tmp_path / "count.log"
    client = zygote.run([program, both.target("worker")], {}, log)
    yield client
    client.kill()


def test_the_steps_of_a_killed_client_end_and_its_state_stays(both, counting, graph):
    with tf.device("/job:ps/task:0"):
        ticks = tf1.Variable(0, name="ticks", use_resource=False)
        queue = tf1.FIFOQueue(9, [tf.int32], shapes=[()], shared_name="kept")
        known, take = tf1.is_variable_initialized(ticks), queue.dequeue()
    deadline = time.monotonic() + DEADLINE
    with tf1.Session(both.target("worker")) as session:
        while not session.run(known) or session.run(ticks) == 0:
            assert counting.running(), counting.output()
            assert time.monotonic() < deadline, "never counted"
        counting.kill()
        seen, still = 0, 0
        while still < 100:
            now = session.run(ticks)
            still = still + 1 if now == seen else 0
            seen = now
            assert time.monotonic() < deadline, "counts on, though nobody is there to hear of it"
        assert session.run(take) == 42
