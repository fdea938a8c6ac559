"""Processes killed with SIGKILL: the rest ends within seconds, and the report names who and why."""

import os
import re
import signal
import time

import pytest

from bounds import DEADLINE, ROOT

PROGRAM = ROOT / "examples" / "word_count.py"
JOB = ["--job", "files=1", "--job", "reduce=1", "--job", "map=2", "--until", "map"]


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return [int(child) for child in children.read().split()]


def descendants(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants(child)]
    return found


def task_of(pid):
    """'map:0' from a process's TF_CONFIG; None if it has none (or is gone)."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ, open(
            f"/proc/{pid}/cmdline", "rb"
        ) as line:
            if b"word_count" not in line.read() or line is None:
                return None
            text = environ.read().decode(errors="replace")
    except OSError:
        return None
    task = re.search(r'"task":\s*(\{[^}]*\})', text)
    if not task:
        return None
    kind = re.search(r'"type":\s*"(\w+)"', task.group(1)).group(1)
    index = re.search(r'"index":\s*"?(\d+)', task.group(1)).group(1)
    return f"{kind}:{index}"


def kill_task(launcher, name):
    """SIGKILL to the process of the task, once it runs its program."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        for pid in descendants(launcher.pid):
            if task_of(pid) == name:
                time.sleep(0.5)  # let it get into its work; right whenever the signal comes
                os.kill(pid, signal.SIGKILL)
                return
        time.sleep(0.02)
    pytest.fail(f"{name} never ran")


@pytest.mark.parametrize("victim", ["map:0", "reduce:0", "files:0"])
def test_a_killed_task_ends_the_job_with_its_cause(launch, texts, python, victim):
    command = [python, PROGRAM, "--texts", texts.list_file, "--pause", "1"]
    done = launch(JOB, command, during=lambda launcher: kill_task(launcher, victim))
    assert done.code == 1, done.output
    assert re.search(rf"{victim}\b.*SIGKILL", done.output), done.output
    assert done.seconds < 30


def test_a_killed_launcher_leaves_no_process(launch, texts, python):
    left = []

    def kill_launcher(launcher):
        deadline = time.monotonic() + DEADLINE
        while len([p for p in descendants(launcher.pid) if task_of(p)]) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        left.extend(descendants(launcher.pid))
        launcher.kill()

    launch(JOB, [python, PROGRAM, "--texts", texts.list_file, "--pause", "5"], during=kill_launcher)
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in left):
        assert time.monotonic() < deadline, "processes survived their launcher"
        time.sleep(0.05)


def test_interrupting_the_launcher_ends_everything(launch, texts, python):
    def interrupt(launcher):
        deadline = time.monotonic() + DEADLINE
        while len([p for p in descendants(launcher.pid) if task_of(p)]) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        launcher.send_signal(signal.SIGINT)

    done = launch(
        JOB, [python, PROGRAM, "--texts", texts.list_file, "--pause", "5"], during=interrupt
    )
    assert done.code == 130
    assert "interrupted" in done.output
