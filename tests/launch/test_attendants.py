"""`millrace join --until` stays with a program as one task of a job, hears how the others end, and reads who is absent."""

import json
import os
import socket
import subprocess
import time

import pytest

from ports import free_port
from processes import PATIENCE, default_signals

FAREWELL_PORT = free_port()
SLEEPS = "echo up; exec sleep 600"


@pytest.fixture
def attended(millrace, tmp_path):
    """attended(script, role, *flags): that task 0 of the role, of a job of a helper and two map tasks."""
    cluster = tmp_path / "cluster.json"
    hosts = {"files": ["127.0.0.1:2222"], "map": ["127.0.0.2:2222", "127.0.0.3:2222"]}
    cluster.write_text(json.dumps({"cluster": hosts}))
    tasks = []

    def attended(script, role, *flags, **environment):
        task = subprocess.Popen(
            [millrace, "join", "--cluster", str(cluster), "--job", role, "--index", "0"]
            + ["--until", "map", "--farewell-port", str(FAREWELL_PORT), "--grace", "1s", *flags]
            + ["--", "sh", "-c", script],
            env={**os.environ, "MILLRACE_JOB_TOKEN": "secret", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=default_signals,
        )
        tasks.append(task)
        return task

    yield attended
    for task in tasks:
        # It ends its program, too, which nobody else would.
        task.terminate()
        task.wait(timeout=PATIENCE)
        task.stdout.close()


def say(task, end):
    """Says what that task would say, and returns what is answered."""
    line = {"millrace_farewell": 1, "token": "secret", "task": task, "end": end}
    with socket.create_connection(("127.0.0.1", FAREWELL_PORT), timeout=PATIENCE) as peer:
        peer.sendall(json.dumps(line).encode() + b"\n")
        peer.shutdown(socket.SHUT_WR)
        answer = b""
        while more := peer.recv(4096):
            answer += more
    return answer.decode()


def roster(tmp_path, *absent):
    path = tmp_path / "roster"
    path.with_suffix(".new").write_text("".join(f"{task} 127.0.0.9:2222\n" for task in absent))
    path.with_suffix(".new").rename(path)
    return ("--roster", str(path))


def wait_for_up(task):
    lines = iter(task.stdout.readline, "")
    assert any(line == "up\n" for line in lines)


def test_a_helper_does_not_wait_for_a_task_that_went(attended, tmp_path):
    task = attended(SLEEPS, "files", *roster(tmp_path))
    wait_for_up(task)
    say("map:0", "succeeded")
    time.sleep(1)
    assert task.poll() is None
    roster(tmp_path, "map:1")
    assert task.wait(timeout=PATIENCE) == 0


def test_a_helper_believes_a_roster_only_after_a_while(attended, tmp_path):
    task = attended(SLEEPS, "files", *roster(tmp_path, "map:1"))
    wait_for_up(task)
    say("map:0", "succeeded")
    time.sleep(1)
    # map:1 has come: the roster was late.
    roster(tmp_path)
    time.sleep(5)
    assert task.poll() is None
    say("map:1", "succeeded")
    assert task.wait(timeout=PATIENCE) == 0


def test_a_task_that_is_to_go_ends_well_whatever_its_code(attended, tmp_path):
    record = tmp_path / "record"
    task = attended(
        "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done",
        "map",
        *roster(tmp_path),
        MILLRACE_REPORT_FILE=str(record),
    )
    wait_for_up(task)
    # By then it has seen that it is wanted.
    time.sleep(1.5)
    roster(tmp_path, "map:0")
    assert task.wait(timeout=PATIENCE) == 0
    assert json.loads(record.read_text())["why"] == "scaled down"


def test_a_task_that_starts_is_wanted_whatever_a_late_roster_says(attended, tmp_path):
    task = attended(SLEEPS, "map", *roster(tmp_path, "map:0"))
    wait_for_up(task)
    time.sleep(2)
    assert task.poll() is None


def test_the_program_learns_its_attempt_and_where_the_roster_is(attended, tmp_path):
    script = "echo try $MILLRACE_ATTEMPT of $MILLRACE_ROSTER $MILLRACE_FAILURES.; exit 0"
    flags = (*roster(tmp_path), "--restarts", "3", "--restarts-after", "3")
    task = attended(script, "files", *flags, MILLRACE_FAILURES="2")
    output = task.communicate(timeout=PATIENCE)[0]
    assert f"try 3 of {tmp_path}/roster .\n" in output


@pytest.fixture
def others(attended):
    """others(): what the other tasks have been told since, where those that call them get through."""
    listener = socket.create_server(("0.0.0.0", FAREWELL_PORT))
    listener.settimeout(0.5)

    def heard():
        told = []
        try:
            while True:
                peer, _ = listener.accept()
                with peer:
                    told.append(json.loads(peer.recv(4096)))
        except TimeoutError:
            return [line["end"] for line in told]

    yield heard
    listener.close()


def test_a_failure_that_another_attempt_follows_ends_nobody_else(attended, others):
    flags = ("--restarts", "2", "--restarts-after", "3,137")
    task = attended("exit 3", "map", *flags, MILLRACE_FAILURES="0")
    output = task.communicate(timeout=PATIENCE)[0]
    assert task.returncode == 3 and "is started again: restart 1 of 2" in output, output
    assert others() == []


def test_a_helper_that_is_always_started_again_ends_with_a_code_that_says_so(attended, others):
    flags = ("--restarts", "2", "--restarts-but-after", "126,250", "--restarts-always")
    for failures, code in ((0, 251), (2, 0)):
        task = attended("exit 0", "files", *flags, MILLRACE_FAILURES=str(failures))
        assert task.wait(timeout=PATIENCE) == code


@pytest.mark.parametrize("code, failures", [(3, 2), (4, 0)])
def test_the_last_failure_ends_all_others(attended, others, code, failures):
    flags = ("--restarts", "2", "--restarts-after", "3,137")
    task = attended(f"exit {code}", "files", *flags, MILLRACE_FAILURES=str(failures))
    task.communicate(timeout=PATIENCE)
    assert task.returncode == code
    told = others()
    # A task that has come back asks first.
    assert told.count("failed") == 2 and told.count("asks") == (2 if failures else 0), told


def test_a_task_that_may_be_lost_says_so(attended, others):
    task = attended("exit 3", "map", "--may-lose", "map=1")
    task.communicate(timeout=PATIENCE)
    assert others() == ["lost", "lost"]


def test_who_is_ended_for_anothers_failure_does_not_come_again(attended):
    task = attended(SLEEPS, "map", "--restarts", "2", "--restarts-but-after", "126,250")
    wait_for_up(task)
    say("map:1", "failed")
    assert task.wait(timeout=PATIENCE) == 250


def test_a_task_that_asks_is_told_who_has_ended(attended):
    task = attended(SLEEPS, "map", "--restarts", "0")
    wait_for_up(task)
    assert say("files:0", "asks") == ""
    say("map:1", "succeeded")
    assert json.loads(say("files:0", "asks"))["task"] == "map:1"
    assert task.poll() is None


def test_one_lost_task_too_many_ends_the_others(attended):
    task = attended(SLEEPS, "files", "--may-lose", "map=1")
    wait_for_up(task)
    say("map:0", "lost")
    time.sleep(1)
    assert task.poll() is None
    say("map:1", "lost")
    assert task.wait(timeout=PATIENCE) == 143


@pytest.mark.parametrize(
    "flags",
    [
        ("--restarts", "-1"),
        ("--restarts", "x"),
        ("--may-lose", "map"),
        ("--restarts-after", "3", "--restarts-but-after", "4"),
    ],
)
def test_flags_that_make_no_sense_are_refused(attended, flags):
    task = attended("true", "map", *flags)
    assert task.wait(timeout=PATIENCE) == 2
