"""What users ask of a job on Slurm, on a real one of four nodes, which tools/slurm-cluster runs on this
machine."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from managed import (
    HELPERS_WAIT,
    PATIENCE,
    JobsOfOurLauncher,
    KeptJobs,
    count_words,
    fail_with_last_words,
    own_lines,
    run_out_of_memory,
)

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tools" / "slurm-cluster"
NOT_THERE = 3


@pytest.fixture(scope="module")
def slurm():
    """The environment in which Slurm's commands reach the cluster."""
    # Slurm's own user has to get in, which it may not into pytest's folders.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    up = subprocess.run([CLUSTER, "up", folder], capture_output=True, text=True, timeout=180)
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

    def number(self):
        return self.run("squeue", "--noheader", "--format=%i").stdout.strip()


@pytest.fixture
def queue(slurm, tmp_path):
    queue = Queue("slurm", slurm, tmp_path)
    yield queue
    queue.run("scancel", "--user=root")
    queue.wait_until(
        lambda: not queue.run("squeue", "--noheader").stdout, "the test's jobs are gone"
    )


class TestOurLauncher(JobsOfOurLauncher):
    pass


def test_word_count_is_exact_and_every_task_is_heard(queue):
    output = count_words(queue, queue.texts())
    assert "ending the tasks that are left" not in output


def test_what_is_submitted_is_what_explain_shows_and_where_it_is_kept(queue):
    job = queue.job("true")
    shown = queue.run("millrace", "explain", job, "--on", "slurm").stdout.splitlines()
    assert queue.millrace("submit", job) == (0, "words\n")
    folder = queue.folder / "kept" / "slurm" / "words"
    given = (folder / "batch.sh").read_text().splitlines()
    assert [line for line in given if line not in shown] == [
        f"#SBATCH --output={folder}/launcher.log",
        f"#SBATCH --comment={folder}",
        f"exec millrace run --on srun --folder {folder} /dev/stdin <<'END_OF_JOB'",
    ]
    assert queue.millrace("wait", "words")[0] == 0


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)


def test_a_task_that_takes_more_memory_than_it_may_is_told_so(queue):
    run_out_of_memory(queue, "60Mi")


def test_stop_ends_the_tasks_and_leaves_nothing(queue):
    queue.millrace("submit", queue.job("echo up; exec sleep 600"))
    queue.wait_for_tasks()
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert queue.left() == ([], [])
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]
    code, output = queue.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_a_job_that_waits_says_what_for_and_can_be_stopped(queue):
    queue.millrace(
        "submit", queue.job("exec sleep 600", "{map: {count: 8, cpus: 1}}"), "--name", "big"
    )
    found = queue.wait_until(
        lambda: "8 of 8 tasks run" in queue.millrace("status", "big")[1], "the first job runs"
    )
    assert found
    queue.millrace("submit", queue.job("exec sleep 600"))
    status = queue.wait_until(
        lambda: re.search(
            r"no machine is free for it|others come before", queue.millrace("status", "words")[1]
        ),
        "Slurm says why",
    )
    assert status
    assert queue.millrace("stop", "words")[0] == 0
    assert queue.left()[1] == ["big"]
    assert queue.millrace("stop", "big")[0] == 0


def test_a_job_that_is_cancelled_by_hand_was_interrupted(queue):
    queue.millrace("submit", queue.job("exec sleep 600"))
    queue.wait_for_tasks()
    queue.run("scancel", queue.number())
    code, output = queue.millrace("wait", "words")
    assert code == 130 and "interrupted by" in output, output


def test_a_machine_that_is_lost_is_told_by_the_task_that_ran_there(queue):
    # Two cores a task: one on each machine, and the launcher on the first.
    job = queue.job("echo on $SLURMD_NODENAME; exec sleep 600", "{map: {count: 3, cpus: 2}}")
    running = queue.start("run", job)
    where = {}
    for line in running.stdout:
        if found := re.match(r"(map:\d) +\| on (n\d)", line):
            where[found[1]] = found[2]
        if len(where) == 3:
            break
    first = min(where.values())
    task, machine = next(pair for pair in where.items() if pair[1] != first)
    try:
        queue.run("scontrol", "update", f"nodename={machine}", "state=down", "reason=test")
        output, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 1, output
        assert re.search(rf"{task} +its machine {machine} is lost", output), output
        assert f"{task}: its machine {machine} is lost" in output.splitlines()[-1]
    finally:
        queue.run("scontrol", "update", f"nodename={machine}", "state=resume")


def test_the_machine_of_the_launcher_may_be_lost_and_that_is_said(queue):
    queue.millrace("submit", queue.job("exec sleep 600"))
    queue.wait_for_tasks()
    machine = queue.run("squeue", "--noheader", "--format=%B").stdout.strip()
    try:
        queue.run("scontrol", "update", f"nodename={machine}", "state=down", "reason=test")
        code, output = queue.millrace("wait", "words")
        # The launcher may have had the time to say what it saw: that it was ended, or a task.
        assert code in (1, 130), output
        assert re.search(f"{machine}.* is lost|interrupted by SIGTERM", output), output
    finally:
        queue.run("scontrol", "update", f"nodename={machine}", "state=resume")
        queue.wait_until(
            lambda: queue.run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == "4",
            "all machines are back",
        )


def test_a_job_without_a_limit_has_that_of_its_allocation(queue):
    queue.environment = {**queue.environment, "SBATCH_TIMELIMIT": "1"}
    queue.millrace("submit", queue.job(HELPERS_WAIT))
    assert queue.millrace("wait", "words")[0] == 0
    journal = queue.folder / "kept" / "slurm" / "words" / "journal"
    limit = json.loads(journal.read_text().splitlines()[0])["time_limit"] / 1e9
    # Within the minute, and in time to end the tasks.
    assert 10 < limit <= 53


def test_what_the_cluster_can_not_give_is_told_and_nothing_is_left(queue):
    code, output = queue.millrace("submit", queue.job("true", "{map: {count: 1, memory: 900Gi}}"))
    assert code == 2 and "the cluster has no machines for this job" in output, output
    code, output = queue.millrace("submit", queue.job("true", queue="nowhere"))
    assert code == 2 and "sinfo shows the partitions" in output, output
    assert queue.left() == ([], [])


def test_a_job_that_has_ended_goes_when_its_time_is_over(queue):
    assert queue.millrace("run", queue.job(HELPERS_WAIT, keep="1s"))[0] == 0
    queue.wait_until(lambda: "words" not in queue.millrace("list")[1], "its time is over")
    assert queue.left() == ([], [])
