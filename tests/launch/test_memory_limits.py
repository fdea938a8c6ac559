"""What tasks of this machine may have in memory, where the system lets the launcher say so."""

import subprocess
import sys

import pytest

from processes import PATIENCE, default_signals

GREEDY = "import time; kept = bytearray(400 << 20); print('has it', flush=True)"
JOB = """
command: [{python}, -c, "{program}"]
roles:
  greedy: {{memory: 100Mi, restart: {restart}}}
"""
NOT_HERE = "no task's memory is limited on this machine"


@pytest.fixture
def said_of(millrace, tmp_path):
    """said_of(restart, more): what the launcher says of a job whose task wants four times what it may."""

    def said_of(restart, more=""):
        path = tmp_path / "job.yaml"
        job = JOB.format(python=sys.executable, program=GREEDY, restart=restart)
        path.write_text(job + more)
        done = subprocess.run(
            [millrace, "run", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            cwd=tmp_path,
            preexec_fn=default_signals,
        )
        if NOT_HERE in done.stdout:
            pytest.skip(f"needs root, or a group with Delegate=yes: {done.stdout.splitlines()[0]}")
        assert done.returncode == 1
        return done.stdout

    return said_of


def test_a_task_that_takes_more_memory_than_it_may_is_ended_and_told_so(said_of):
    said = said_of("never")
    assert "greedy:0  out of memory (SIGKILL" in said and "has it" not in said


def test_the_next_attempt_has_the_same_limit(said_of):
    said = said_of("{on: out_of_memory, attempts: 2, pause: 10ms}")
    assert said.count("greedy:0: out of memory (SIGKILL (signal 9));") == 2  # of both attempts
    assert "has it" not in said


def test_a_task_in_a_folder_of_its_own_has_it_too(said_of):
    said = said_of("never", "files: job.yaml\n")
    assert "greedy:0  out of memory (exit code 137)" in said and "has it" not in said
