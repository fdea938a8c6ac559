"""Tensors almost as big as a message can be, and bigger ones, between client and tasks.

A test takes up to 10 GB of memory for some seconds, 6 of them in the client.
"""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

BIG = 1_900_000_000  # bytes; a protobuf message ends at 2^31 - 1
TOO_BIG = 2_200_000_000
NEEDED = 10_000_000_000


def available():
    """Bytes of memory that are free for new processes, or None if the system doesn't tell."""
    try:
        with open("/proc/meminfo") as lines:
            found = dict(line.split(":") for line in lines)
        return int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return None


@pytest.fixture(autouse=True)
def enough_memory():
    free = available()
    if free is not None and free < NEEDED:
        pytest.skip(f"needs {NEEDED >> 20} MB of free memory; there are {free >> 20}")


def ends(tensor):
    """Elements of both ends and the middle, and the size."""
    size = tf.size(tensor)
    return tf.stack([tensor[0], tensor[size // 2], tensor[-1]]), size


def test_a_feed_of_1900_megabytes(target, graph):
    x = tf1.placeholder(tf.float32, [None])
    value = np.zeros(BIG // 4, np.float32)
    value[[0, len(value) // 2, -1]] = [1, 2, 3]
    with tf1.Session(target) as session:
        elements, size = session.run(ends(x), {x: value})
    assert elements.tolist() == [1, 2, 3]
    assert size == BIG // 4


def test_a_fetch_of_1900_megabytes(target, graph):
    n = tf1.placeholder(tf.int32, [])
    made = tf.fill([n], 5.0)
    with tf1.Session(target) as session:
        got = session.run(made, {n: BIG // 4})
    assert got.shape == (BIG // 4,)
    assert (got[0], got[BIG // 8], got[-1]) == (5, 5, 5)


def test_1900_megabytes_between_two_tasks(cluster, graph):
    both = cluster(ps=1, worker=1)
    n = tf1.placeholder(tf.int32, [])
    with tf.device("/job:ps/task:0"):
        made = tf.fill([n], 5.0)
    with tf.device("/job:worker/task:0"):
        fetches = ends(made)
    with tf1.Session(both.target("worker")) as session:
        elements, size = session.run(fetches, {n: BIG // 4})
    assert elements.tolist() == [5, 5, 5]
    assert size == BIG // 4


def test_a_fetch_beyond_the_size_of_a_message_is_refused_and_the_server_goes_on(target, graph):
    n = tf1.placeholder(tf.int32, [])
    made = tf.fill([n], 5.0)
    with tf1.Session(target) as session:
        with pytest.raises(tf.errors.OpError, match="too large|at most 2147483647"):
            session.run(made, {n: TOO_BIG // 4})
        assert session.run(made, {n: 3}).tolist() == [5, 5, 5]
