"""What a task waits for is told to whoever asks: by `millrace status`, or by SIGUSR1."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from processes import PATIENCE, read_until

# A task "map:0" that answers, prints its address, and whose session waits for "ps:0".
WAITING = """
import sys, threading
import millrace as tf
server = tf.train.Server({"map": ["localhost:0"], "ps": ["localhost:%s"]}, "map", 0)
print(server.target, flush=True)
tf.Session(server.target).run(tf.constant(1))
"""


@pytest.fixture
def absent_port():
    with socket.socket() as holder:
        holder.bind(("localhost", 0))
        yield holder.getsockname()[1]


@pytest.fixture
def waiting(absent_port):
    task = subprocess.Popen(
        [sys.executable, "-c", WAITING % absent_port],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield task
    task.kill()
    task.communicate()


@pytest.fixture
def status(millrace):
    def run(*arguments, **environment):
        return subprocess.run(
            [millrace, "status", *arguments],
            env=dict(os.environ, **environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    return run


def test_a_task_tells_which_task_its_session_waits_for(status, waiting, absent_port):
    address = waiting.stdout.readline().strip()
    read_until(waiting.stderr, "still waiting")
    told = status(address)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("map:0\n  CreateSession waits for /job:ps/replica:0/task:0 at ")
    assert f":{absent_port}" in told.stdout


def test_a_signal_puts_it_into_the_log(waiting):
    waiting.stdout.readline()
    read_until(waiting.stderr, "still waiting")
    waiting.send_signal(signal.SIGUSR1)
    read_until(waiting.stderr, "CreateSession waits for /job:ps/replica:0/task:0")
    assert waiting.poll() is None


def test_serve_tells_by_signal_as_well(millrace):
    server = subprocess.Popen(
        [millrace, "serve", "--ps_hosts=localhost:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout.readline().startswith("serving ps:0")
    server.send_signal(signal.SIGUSR1)
    read_until(server.stderr, "ps:0: waits for nothing")
    server.terminate()
    server.communicate(timeout=PATIENCE)
    assert server.returncode == 0


def test_a_task_that_does_not_answer_is_told(status, absent_port):
    told = status(f"localhost:{absent_port}", "--timeout", "2")
    assert told.returncode == 1
    assert told.stdout.startswith(f"localhost:{absent_port}: ")
    assert status(TF_CONFIG="").returncode == 2
    assert status("nowhere").returncode == 2


def test_the_tasks_of_a_cluster_are_asked_by_name(status, absent_port):
    cluster = '{"cluster": {"ps": ["localhost:%d"]}}' % absent_port
    assert status("--timeout", "2", TF_CONFIG=cluster).stdout.startswith("ps:0: ")
