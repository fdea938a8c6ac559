"""Servers that the system gives little, and one that is frozen: each says so, and nobody hangs.

The limits are those that a container or a `ulimit` sets: address space, processes, open files.
"""

import os
import resource
import signal
import time

import numpy as np
import pytest

import millrace as tf
from bounds import DEADLINE

MB = 1 << 20


class Limited:
    """A task that only serves, under limits of the system."""

    def __init__(self, cluster, limits, **environment):
        self.task = cluster.start("ps", 0, ["millrace", "serve"], limits=limits, **environment)
        self.target = f"grpc://{cluster.address('ps')}"
        self.process = self.task.process
        self.output = self.task.output

    def serves(self):
        """Waits until it serves (True) or has ended (False)."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if "serving" in self.output():
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.02)
        pytest.fail(f"neither serves nor ends:\n{self.output()}")

    def check_ended_in_words(self, *words):
        """It ended by itself, by no signal, and its last words have one of `words`."""
        assert self.process.returncode > 0, f"{self.process.returncode}:\n{self.output()}"
        assert any(word in self.output() for word in words), self.output()
        assert "terminate called" not in self.output()


@pytest.fixture
def limited(cluster):
    return lambda limits, **environment: Limited(cluster(ps=1), limits, **environment)


def run_once(target, feed=None, timeout_ms=20_000):
    """40 + 2 on the server, or the number of elements of what is fed; or the error."""
    graph = tf.Graph()
    with graph.as_default():
        fed = tf.placeholder(tf.float32, [None])
        answer = tf.constant(40) + 2 if feed is None else tf.size(fed)
        config = tf.ConfigProto(operation_timeout_in_ms=timeout_ms)
        try:
            with tf.Session(target, graph=graph, config=config) as session:
                return session.run(answer, {fed: feed} if feed is not None else None)
        except tf.errors.OpError as error:
            return error


@pytest.mark.parametrize("megabytes", [*range(70, 220, 5), 250, 300, 400, 500])
def test_a_server_with_little_address_space_serves_or_says_what_it_lacks(limited, megabytes):
    server = limited({resource.RLIMIT_AS: megabytes * MB})
    if not server.serves():
        return server.check_ended_in_words("thread", "memory", "map segment", "RESOURCE_EXHAUSTED")
    answer = run_once(server.target)
    if isinstance(answer, tf.errors.OpError):
        assert answer.message, "an error without words"
    else:
        assert answer == 42
    assert server.process.poll() is None, f"it ended:\n{server.output()}"


@pytest.mark.parametrize("limit, fed", [(700, 50), (700, 200), (1500, 800)])
def test_a_message_too_large_for_the_server_is_refused_and_the_next_one_answered(
    limited, limit, fed
):
    server = limited({resource.RLIMIT_AS: limit * MB})
    assert server.serves(), server.output()
    count = fed * MB // 4
    answer = run_once(server.target, np.zeros(count, np.float32))
    if isinstance(answer, tf.errors.OpError):
        assert isinstance(answer, tf.errors.ResourceExhaustedError), answer
    else:
        assert answer == count
    assert server.process.poll() is None, f"it ended:\n{server.output()}"
    assert run_once(server.target) == 42


@pytest.mark.parametrize("descriptors", [8, 10, 12, 16, 24, 32])
def test_a_server_with_few_descriptors_serves_or_says_what_it_lacks(limited, descriptors):
    server = limited({resource.RLIMIT_NOFILE: descriptors})
    if not server.serves():
        return server.check_ended_in_words("ulimit -n", "open files", "shared libraries")
    # It may lack one for this connection; then it says so, a few times, and the client is told.
    answer = run_once(server.target, timeout_ms=3000)
    assert isinstance(answer, tf.errors.OpError) or answer == 42
    assert server.process.poll() is None, f"it ended:\n{server.output()}"
    assert server.output().count("\n") < 50, server.output()


def test_a_server_that_may_have_no_more_threads_says_so(cluster):
    # The system does not count root's, and not everybody may run what root has built.
    user = 65534 if os.geteuid() == 0 else None
    tasks = cluster(ps=1)
    try:
        task = tasks.start(
            "ps", 0, ["millrace", "serve"], limits={resource.RLIMIT_NPROC: 1}, user=user
        )
    except PermissionError:
        pytest.skip("another user than root may not run the program; run the tests as that user")
    assert task.wait() > 0, task.output()
    assert "can't start the thread" in task.output()
    assert "ulimit -u" in task.output()


# A client that waits for an element of a queue, and says why it got none.
CLIENT = """
import os
import sys
import millrace as tf
element = tf.FIFOQueue(1, tf.int32, shared_name="empty").dequeue()
with tf.Session(sys.argv[1]) as session:
    session.run(tf.constant(1))
    print("waiting", flush=True)
    try:
        session.run(element)
    except tf.errors.OpError as error:
        print(type(error).__name__, error.message, flush=True)
        os._exit(0)
"""


def test_a_frozen_task_is_named_while_a_step_waits_for_it(cluster, python):
    tasks = cluster(ps=1)
    server = tasks.serve("ps")
    target = tasks.address("ps")
    client = tasks.start(
        "ps", 0, [python, "-c", CLIENT, f"grpc://{target}"], MILLRACE_SILENCE_LIMIT_MS="1500"
    )
    client.wait_for("waiting")
    server.signal(signal.SIGSTOP)
    assert client.wait() == 0, client.output()
    [told] = [line for line in client.output().splitlines() if line.startswith("UnavailableError")]
    assert target in told and "1.5 s" in told and "it is frozen" in told, told
