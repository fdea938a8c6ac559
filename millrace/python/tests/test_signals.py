"""Ctrl-C and other signals while the main thread waits. A signal may come before or during the wait:
the tests are right either way."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import millrace as tf


@pytest.fixture(autouse=True)
def interruptible():
    """Also where the tests run in the background of a shell, which has its programs ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def soon(number):
    threading.Timer(0.15, lambda: os.kill(os.getpid(), number)).start()


def test_an_interrupt_ends_a_run_that_waits(session):
    take = tf.FIFOQueue(1, tf.int32).dequeue()
    with pytest.raises(KeyboardInterrupt):
        soon(signal.SIGINT)
        session.run(take)
    assert session.run(tf.constant(1)) == 1


def test_a_handler_runs_while_a_run_waits(session, monkeypatch):
    q = tf.FIFOQueue(1, tf.int32)
    take, put = q.dequeue(), q.enqueue(7)
    session.run(q.size())

    def handle(number, frame):
        session.run(put)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        soon(signal.SIGUSR1)
        assert session.run(take) == 7
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupt_ends_waiting_for_a_master_that_is_not_there():
    c = tf.constant(1)
    session = tf.Session("grpc://localhost:1")
    with pytest.raises(KeyboardInterrupt):
        soon(signal.SIGINT)
        session.run(c)


JOINER = """
import millrace as tf
server = tf.train.Server.create_local_server()
print("ready", flush=True)
server.join()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_only_joins_ends_by_a_signal(number):
    with subprocess.Popen(
        [sys.executable, "-c", JOINER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        # Python turns an interrupt that nobody catches into that signal as well.
        assert process.wait(30) == -number
