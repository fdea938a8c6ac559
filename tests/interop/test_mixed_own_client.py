"""Millrace's own client against TensorFlow's servers, against ours, and against both at once."""

import subprocess

import pytest

from tasks import DEADLINE, ROOT

FLEETS = {
    "only TensorFlow's": ["worker:0", "worker:1"],
    "only ours": [],
    "TensorFlow's the master, ours its worker": ["worker:0"],
    "ours the master, TensorFlow's its worker": ["worker:1"],
}


@pytest.mark.parametrize("tensorflow", FLEETS.values(), ids=FLEETS)
def test_every_program_of_our_client_succeeds(cluster, tensorflow):
    target = cluster(worker=2, tf=tensorflow).target("worker:0")
    done = subprocess.run(
        ["python3", ROOT / "tests" / "interop" / "own_client.py", target],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
