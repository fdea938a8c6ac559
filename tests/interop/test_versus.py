"""The comparison of speed is a command that works. What it measures is for a quiet machine."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("millrace") or ROOT / "build" / "bin" / "millrace").parents[1]

pytestmark = pytest.mark.skipif(
    not (BUILD / "bin" / "raw_limits").exists(), reason="this build has no benchmarks"
)


def versus(*arguments):
    command = [sys.executable, str(ROOT / "bench" / "versus_tensorflow"), "--build", str(BUILD)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300)


def test_one_command_measures_both_clients_on_both_kinds_of_servers_and_the_limit():
    done = versus("--quick", "--json", "b2")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["run"]["versions"]["TensorFlow"].startswith("2.")
    figures = {line["figure"]: line for line in lines[1:]}
    assert set(figures["fetch 4 B"]["cells"]) == {
        "tensorflow on tensorflow",
        "tensorflow on millrace",
        "millrace on tensorflow",
        "millrace on millrace",
    }
    for figure in figures.values():
        assert all(len(samples) == 1 for samples in figure["cells"].values()), figure
        assert figure["limits"], figure


def test_a_benchmark_that_is_not_there_is_a_wrong_call():
    done = versus("nonsense")
    assert done.returncode == 2
    assert "b02_remote_step" in done.stderr
