"""Runs the real command on small tasks of sh and Python."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "support"))
from kept_jobs import Here  # noqa: E402
from processes import PATIENCE, Lives, command, default_signals  # noqa: E402


@pytest.fixture(scope="session")
def millrace():
    path = shutil.which("millrace")
    if path is None:
        pytest.fail("no millrace on the PATH; source build/env.sh")
    return path


@pytest.fixture
def run(millrace):
    """run(*flags, sh=script) or run(*flags, py=program): `millrace run`, to its end."""

    def run(*flags, **program):
        return subprocess.run(
            [millrace, "run", *flags, "--", *command(**program)],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=PATIENCE,
            preexec_fn=default_signals,
        )

    return run


@pytest.fixture
def start(millrace):
    """start(*flags, sh=script): the running launcher; killed at the end of the test."""
    started = []

    def start(*flags, setup=default_signals, **program):
        launcher = subprocess.Popen(
            [millrace, "run", *flags, "--", *command(**program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=setup,
        )
        started.append(launcher)
        return launcher

    yield start
    for launcher in started:
        launcher.kill()
        launcher.wait()
        launcher.stdout.close()


@pytest.fixture
def lives(tmp_path):
    lives = Lives(tmp_path / "lives")
    yield lives
    os.close(lives.reader)


@pytest.fixture
def here(millrace, tmp_path):
    here = Here(millrace, tmp_path)
    yield here
    for name in here.kept():
        here.millrace("stop", name)
