"""`millrace serve`: a task that only serves."""

import json
import os
import signal
import socket
import subprocess

import pytest

from processes import PATIENCE, default_signals


@pytest.fixture
def serve(millrace, tmp_path):
    """serve(*flags, tf_config=None): the running server; killed at the end of the test."""
    started = []

    def serve(*flags, tf_config=None):
        environment = {key: value for key, value in os.environ.items() if key != "TF_CONFIG"}
        if tf_config is not None:
            environment["TF_CONFIG"] = tf_config
        server = subprocess.Popen(
            [millrace, "serve", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
            preexec_fn=default_signals,
        )
        started.append(server)
        return server

    yield serve
    for server in started:
        server.kill()
        server.communicate()


CLUSTER = {"ps": ["localhost:0"], "worker": ["127.0.0.1:0", "127.0.0.1:0"]}


def port_of(line, task):
    assert line.startswith(f"serving {task} at "), line
    return int(line.rpartition(":")[2])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_serves_and_why_it_ends(serve, number):
    config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}
    server = serve(tf_config=json.dumps(config))
    port = port_of(server.stdout.readline(), "worker:1")
    socket.create_connection(("127.0.0.1", port)).close()
    server.send_signal(number)
    output, _ = server.communicate(timeout=PATIENCE)
    reason = f"{number.name} (signal {int(number)}), sent by process {os.getpid()} ("
    assert output.startswith(f"worker:1 stopped: {reason}")
    assert "pytest" in output.removeprefix(f"worker:1 stopped: {reason}")
    assert server.returncode == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize(
    "flags, task",
    [
        (["--ps_hosts=localhost:0", "--job_name=ps"], "ps:0"),
        (["--map_hosts", "[::1]:0,[::1]:0", "--job-name", "map", "--task-index", "1"], "map:1"),
        (["--cluster-file", "c.json", "--job_name=worker", "--task_index=1"], "worker:1"),
        (["--cluster", "c.json", "--job_name=ps"], "ps:0"),
        (["--cluster_file=c.json", "--job_name=ps"], "ps:0"),
    ],
)
def test_flags_or_a_file_may_say_who_it_is(serve, tmp_path, flags, task):
    (tmp_path / "c.json").write_text(json.dumps(CLUSTER))
    assert port_of(serve(*flags).stdout.readline(), task) > 0


@pytest.mark.parametrize(
    "flags, tf_config, code, told",
    [
        ([], None, 2, "set TF_CONFIG"),
        ([], "{'cluster': 1}", 2, "double quotes"),
        ([], json.dumps({"cluster": CLUSTER}), 2, "which task this is"),
        (["--job_name=wroker"], json.dumps({"cluster": CLUSTER}), 2, "its jobs are ps, worker"),
        ([], '{"Cluster": {"ps": ["a:1"]}}', 2, "$.Cluster is not read"),
        ([], '{"cluster": {"ps": ["a:1"]}, "task": {"type": "w"}}', 2, "TF_CONFIG: $.task.type"),
        (["--frobnicate"], None, 2, "unknown flag --frobnicate; allowed: "),
        (["--frobnicate=5"], None, 2, "--cluster, --bind, --cpu-devices, --operation-timeout-ms"),
        (["--ps_hosts=a:1", "--ps_hosts=b:1"], None, 2, "--ps_hosts is given twice"),
        (["--cpu-devices", "0"], None, 2, "write a whole number from 1 to 4096"),
        (["--cpu-devices", "2000000"], None, 2, "write a whole number from 1 to 4096"),
        (["--operation-timeout-ms", "-5"], None, 2, "write a whole number from 1 to 2147483647"),
        (["--ps_hosts=127.0.0.1:0", "--bind", "nosuch.invalid"], None, 2, "nosuch.invalid"),
        (["--cluster-file", "none.json"], None, 1, "can't read 'none.json'"),
        (["--ps_hosts=127.0.0.1:0", "--bind", "192.0.2.1"], None, 2, "192.0.2.1"),
    ],
)
def test_what_can_not_be_served_is_told(serve, flags, tf_config, code, told):
    server = serve(*flags, tf_config=tf_config)
    output, errors = server.communicate(timeout=PATIENCE)
    assert (server.returncode, output) == (code, "")
    assert told in errors


def test_with_bind_it_tells_the_address_that_it_is_bound_to(serve):
    line = serve("--ps_hosts=localhost:0", "--bind", "127.0.0.9").stdout.readline()
    assert line.startswith("serving ps:0 at 127.0.0.9:")


def test_it_warns_of_an_address_in_the_cluster_that_is_not_of_this_machine(serve):
    server = serve("--ps_hosts=192.0.2.1:0")
    port = port_of(server.stdout.readline(), "ps:0")
    server.terminate()
    _, errors = server.communicate(timeout=PATIENCE)
    assert f"listens on 0.0.0.0:{port}; the cluster calls it 192.0.2.1:{port}" in errors
    assert "192.0.2.1, which the cluster calls ps:0 by, is not an address of this machine" in errors


def test_its_record_and_its_log_name_who_stopped_it(serve, tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_REPORT_FILE", str(tmp_path / "report"))
    monkeypatch.setenv("MILLRACE_LOG", "info")
    server = serve("--ps_hosts=localhost:0")
    port_of(server.stdout.readline(), "ps:0")
    sender = subprocess.Popen(
        ["sh", "-c", f"kill -TERM {server.pid}; read _"], stdin=subprocess.PIPE
    )
    _, errors = server.communicate(timeout=PATIENCE)
    sender.communicate()
    ended = json.loads((tmp_path / "report").read_text().splitlines()[-1])
    reason = (
        f"SIGTERM (signal 15), sent by process {sender.pid} (sh -c kill -TERM {server.pid}; read _)"
    )
    assert (ended["end"], ended["stopped_by"]) == ("completed", reason)
    assert f"ps:0: is stopped by {reason}" in errors


def test_a_port_in_use_is_told_with_its_process(serve):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server = serve(f"--ps_hosts=127.0.0.1:{other.getsockname()[1]}")
        _, errors = server.communicate(timeout=PATIENCE)
    assert server.returncode == 1
    assert f"process {os.getpid()}" in errors


def test_a_launched_task_takes_over_the_socket_that_is_held_for_it(start, millrace):
    launcher = start("--job", "ps=1", "--job", "worker=1", argv=[millrace, "serve"])
    lines = []
    while len([line for line in lines if "| serving" in line]) < 2:
        lines.append(launcher.stdout.readline())
        assert lines[-1], "".join(lines)
    launcher.send_signal(signal.SIGTERM)
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 130
    # The launcher was told by this process, the tasks by the launcher's keepers.
    assert f"interrupted by SIGTERM (signal 15), sent by process {os.getpid()} (" in output
    assert "| ps:0 stopped: SIGTERM (signal 15), sent by process " in output
    assert "| worker:0 stopped: SIGTERM (signal 15), sent by process " in output
