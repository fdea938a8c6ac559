"""A real Slurm of four nodes, which tools/slurm-cluster runs on this machine, and its jobs."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from managed import KeptJobs

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tools" / "slurm-cluster"
NOT_THERE = 3


@contextlib.contextmanager
def cluster(cores):
    """The environment in which Slurm's commands reach one whose machines have so many cores."""
    # Slurm's own user has to get in, which it may not into pytest's folders.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    up = subprocess.run(
        [CLUSTER, "up", folder, str(cores)], capture_output=True, text=True, timeout=180
    )
    try:
        if up.returncode == NOT_THERE:
            pytest.skip(f"LEFT OUT, jobs on a real Slurm: {up.stderr}")
        assert up.returncode == 0, up.stderr
        yield {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run([CLUSTER, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


class Queue(KeptJobs):
    """Of Slurm."""

    def left(self):
        """What Slurm still has to do with jobs, and what is kept of them."""
        return self.run("squeue", "--noheader", "--format=%j %T").stdout.split(), self.names()

    def idle_machines(self):
        return self.run("sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D").stdout.strip()

    def number(self):
        return self.run("squeue", "--noheader", "--format=%i").stdout.strip()


@contextlib.contextmanager
def jobs_of_a_test(slurm, folder):
    """The queue, of which a test leaves no job behind."""
    queue = Queue("slurm", slurm, folder)
    yield queue
    queue.run("scancel", "--user=root")
    queue.wait_until(
        lambda: not queue.run("squeue", "--noheader").stdout, "the test's jobs are gone"
    )
