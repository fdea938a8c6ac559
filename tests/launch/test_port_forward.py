"""Ports that a task's program serves, reached from here; on this machine, where they are already."""

import errno
import json
import signal
import socket
import subprocess
import sys

import pytest

from ports import free_port
from processes import PATIENCE, default_signals, read_until
from standing_cluster import StandingCluster, listed

ECHO = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("serves", flush=True)
while True:
    peer, _ = listener.accept()
    received = b""
    while piece := peer.recv(65536):
        received += piece
    peer.sendall(received.upper())
    peer.close()
"""


class Served:
    """A job with one task that answers in capitals at the port `web`."""

    def __init__(self, here):
        self.here, self.port = here, free_port()
        (here.folder / "echo.py").write_text(ECHO)
        (here.folder / "words.yaml").write_text(
            f"name: words\nroles: {{web: {{count: 1, ports: {{web: {self.port}}}}}}}\n"
            f"command: [{sys.executable}, echo.py, '{self.port}']\ngrace: 1s\n"
        )
        self.started = []

    def submit(self):
        assert self.here.millrace("submit", "words.yaml") == (0, "words\n")
        log = self.here.folder / "kept" / "local" / "words" / "logs" / "web_0.log"
        self.here.wait_until(lambda: log.exists() and "serves" in log.read_text(), "it serves")

    def forward(self, port):
        """The running command, and what it said first."""
        running = self.here.start(
            "port-forward", "words", "web:0", port, preexec_fn=default_signals
        )
        self.started.append(running)
        return running, read_until(running.stdout, "->")


@pytest.fixture
def served(here):
    served = Served(here)
    yield served
    for running in served.started:
        running.kill()
        running.wait()
        running.stdout.close()


def answer(port, question):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as peer:
        peer.sendall(question)
        peer.shutdown(socket.SHUT_WR)
        received = b""
        while piece := peer.recv(65536):
            received += piece
        return received


def test_connections_go_both_ways_until_somebody_ends_it(served):
    served.submit()
    local = free_port()
    running, said = served.forward(f"{local}:web")
    assert f"127.0.0.1:{local} -> 127.0.0.1:{served.port}\n" in said
    assert answer(local, b"hello") == b"HELLO"
    large = b"a" * 3_000_000
    assert answer(local, large) == large.upper()
    running.send_signal(signal.SIGINT)
    assert running.wait(PATIENCE) == 130


def test_status_tells_what_a_task_serves(served):
    served.submit()
    code, output = served.here.millrace("status", "words")
    assert (code, f"runs; serves web {served.port}" in output) == (0, True), output


def test_a_port_where_nobody_listens_yet_is_said_and_waited_for(served):
    served.submit()
    other = free_port()
    local = free_port()
    running, said = served.forward(f"{local}:{other}")
    assert "where nobody listens yet" in said
    # Where the refusal comes first depends on the machine: before, at or after the question's end.
    try:
        assert answer(local, b"hello") == b""
    except OSError as error:
        assert error.errno in (errno.ECONNRESET, errno.ENOTCONN, errno.EPIPE), error
    assert "Connection refused" in read_until(running.stdout, "refused")
    with socket.create_server(("127.0.0.1", other)) as late:
        with socket.create_connection(("127.0.0.1", local), PATIENCE):
            late.settimeout(PATIENCE)
            late.accept()[0].close()


def test_what_can_not_be_forwarded_is_told(served):
    served.submit()

    def refusal(task, port):
        return served.here.millrace("port-forward", "words", task, port)

    code, output = refusal("web:0", "wep")
    assert (code, "did you mean 'web'?" in output) == (1, True), output
    code, output = refusal("web:0", "80:")
    assert (code, "is no port" in output) == (2, True), output
    code, output = refusal("web:1", "web")
    assert (code, "has no task 'web:1'" in output) == (1, True), output
    # The port itself is the task's here.
    code, output = refusal("web:0", "web")
    assert (code, "write another port of this machine before it" in output) == (1, True), output


def test_on_kubernetes_kubectl_forwards_and_its_last_words_are_told(millrace, tmp_path):
    cluster = StandingCluster(
        tmp_path, listed(json.loads(POD)["items"]), "echo unable to listen >&2; exit 1"
    )
    done = subprocess.run(
        [millrace, "port-forward", "words", "map:0", "8080:web", "--on", "k8s"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    cluster.close()
    assert done.returncode == 1
    assert "'kubectl' has ended with code 1: unable to listen" in done.stderr
    assert (
        cluster.of_kubectl()[-1] == "port-forward pod/words-map-0-x 8080:6006 --address=127.0.0.1"
    )


POD = """{
  "kind": "List",
  "items": [
    {"kind": "Job",
     "metadata": {"name": "words-map", "labels": {"app.kubernetes.io/instance": "words"},
                  "creationTimestamp": "2026-01-31T12:00:00Z",
                  "annotations": {"millrace/role": "map", "millrace/order": "0", "millrace/decides": "true",
                                  "millrace/grace": "5000"}},
     "spec": {"completions": 1}, "status": {}},
    {"kind": "Pod",
     "metadata": {"name": "words-map-0-x", "creationTimestamp": "2026-01-31T12:00:00Z",
                  "labels": {"app.kubernetes.io/instance": "words", "job-name": "words-map"},
                  "annotations": {"batch.kubernetes.io/job-completion-index": "0"}},
     "spec": {"nodeName": "n1", "containers": [{"image": "words:1",
              "ports": [{"name": "grpc", "containerPort": 2222}, {"name": "web", "containerPort": 6006}]}]},
     "status": {"phase": "Running",
                "containerStatuses": [{"state": {"running": {"startedAt": "2026-01-31T12:00:01Z"}}}]}}
  ]
}
"""
