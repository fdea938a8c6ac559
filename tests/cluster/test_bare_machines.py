"""Checkpoints of a cluster whose tasks see each their own disk only."""

import re

import pytest

from bounds import ROOT

PROGRAM = ROOT / "tests" / "cluster" / "bare_trainer.py"


@pytest.fixture
def job(cluster, python, tmp_path):
    def make():
        made = cluster(ps=2, worker=1)

        def start(name, index, steps, *options):
            folder = tmp_path / f"disk_of_{name}_{index}"
            return made.start(name, index, [python, PROGRAM, folder, steps, *options])

        return start

    return make


def ended(task):
    """The weights, one of each ps, that the chief saw in its last step."""
    assert task.wait() == 0, task.output()
    return [float(n) for n in re.search(r"ended with (\S+) (\S+)\n", task.output()).groups()]


def test_a_cluster_without_shared_storage_saves_and_restores(job, tmp_path):
    start = job()
    servers = [start("ps", index, 25) for index in (0, 1)]
    ended(start("worker", 0, 25))
    disk = tmp_path / "disk_of_worker_0" / "model"
    assert (disk / "model.ckpt-25.index").exists()
    for server in servers:
        server.process.kill()
        server.process.wait()
    # New parameter servers, which have nothing: all comes from the chief's disk.
    for index in (0, 1):
        start("ps", index, 40)
    chief = start("worker", 0, 40)
    # A step may read a weight before or after its own addition.
    assert all(weight >= 39 for weight in ended(chief))
    assert "Restoring parameters from model/model.ckpt-25" in chief.output()
    assert (disk / "model.ckpt-40.index").exists()
    assert list(tmp_path.glob("disk_of_ps_*/model")) == []


def test_a_save_that_takes_the_disks_for_one_fails_there(job):
    start = job()
    for index in (0, 1):
        start("ps", index, 5)
    chief = start("worker", 0, 5, "--shared")
    assert chief.wait() != 0 and "there is no checkpoint" in chief.output()
