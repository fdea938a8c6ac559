"""What users ask of a job on Slurm, on a real one of four nodes, which tools/slurm-cluster runs on this
machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from managed import PATIENCE, KeptJobs

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tools" / "slurm-cluster"
NOT_THERE = 3
HELPERS_WAIT = "[ {job_name} = map ] || exec sleep 600; "


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


def own_lines(text):
    """Without what `millrace join` says while others are missing."""
    return [line for line in text.splitlines() if "millrace join: " not in line]


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


def test_word_count_is_exact_and_every_task_is_heard(queue):
    for i in range(7):
        (queue.folder / f"text_{i}").write_text("word " * 1000)
    texts = queue.folder / "list"
    texts.write_text("".join(f"{queue.folder}/text_{i}\n" for i in range(7)))
    job = queue.job(["word_count", str(texts)], "{files: 1, reduce: 1, map: 3}")
    code, output = queue.millrace("run", job, "--log-dir", "logs")
    assert code == 0, output
    assert re.search(r"total: 7000\b", output), output
    heard = {line.split("|")[0].strip() for line in output.splitlines() if " | " in line}
    assert heard >= {"map:0", "map:1", "map:2"}, output
    for helper in ("files:0", "reduce:0"):
        assert re.search(rf"{helper} +stopped: job finished", output), output
    assert "ending the tasks that are left" not in output
    assert sorted(path.name for path in (queue.folder / "logs").iterdir()) == [
        "files_0.log",
        "map_0.log",
        "map_1.log",
        "map_2.log",
        "reduce_0.log",
    ]
    code, output = queue.millrace("logs", "words")
    assert (code, "total: 7000" in output) == (0, True), output


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
    script = HELPERS_WAIT + (
        "[ {task_index} = 1 ] && { echo ValueError: bad record >&2; exit 3; }; exec sleep 600"
    )
    code, output = queue.millrace("run", queue.job(script))
    assert code == 1, output
    assert re.search(r"map:1 +exit code 3", output), output
    assert "last error: ValueError: bad record" in output
    assert re.search(r"map:0 +stopped: map:1 failed", output), output
    assert re.search(r"files:0 +stopped: map:1 failed", output), output
    assert re.search(r"job failed after .*: map:1: exit code 3", output), output
    assert queue.millrace("wait", "words")[0] == 1


def test_a_worker_that_is_killed_is_told_from_one_that_fails(queue):
    script = HELPERS_WAIT + "echo $$ > pid_{task_index}; exec sleep 600"
    running = queue.start("run", queue.job(script))
    pid = queue.wait_until(
        lambda: (path := queue.folder / "pid_1").exists() and path.read_text().strip(), "map:1 runs"
    )
    os.kill(int(pid), signal.SIGKILL)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1, output
    assert re.search(r"map:1 +exit code 137, as of SIGKILL", output), output
    assert re.search(r"map:0 +stopped: map:1 failed", output), output


def test_a_task_that_takes_more_memory_than_it_may_is_told_so(queue):
    # The shell keeps what it has while it waits: Slurm looks once a second.
    script = HELPERS_WAIT + "x=0123456789abcdef; "
    script += "while [ ${#x} -lt 200000000 ]; do x=$x$x; done; sleep 600"
    code, output = queue.millrace(
        "run", queue.job(script, "{files: 1, map: {count: 1, memory: 60Mi}}")
    )
    assert code == 1, output
    assert re.search(r"map:0 +out of memory", output), output


def test_a_submitted_job_goes_on_alone_and_can_be_asked_about(queue):
    job = queue.job(HELPERS_WAIT + "echo counted; sleep 2")
    assert queue.millrace("submit", job) == (0, "words\n")
    assert "words" in queue.millrace("list")[1]
    code, output = queue.millrace("submit", job)
    assert code == 1 and "there is a job 'words' already" in output, output
    code, output = queue.millrace("wait", "words", "--timeout", "100s")
    assert code == 0 and "job succeeded" in output, output
    status = queue.millrace("status", "words")[1]
    assert "words: succeeded" in status and "stopped: job finished" in status, status
    assert "succeeded" in queue.millrace("list")[1]
    # Tasks that came before others say so, on their own account.
    code, output = queue.millrace("logs", "words", "map:1")
    assert code == 0 and own_lines(output) == ["map:1    | counted"], output


def test_who_submitted_may_be_killed_and_the_job_is_found_again(queue):
    job = queue.job(HELPERS_WAIT + "echo up; until [ -e go ]; do sleep 0.1; done; echo counted")
    running = queue.start("run", job)
    for line in running.stdout:
        if line.endswith("| up\n"):
            break
    running.kill()
    running.wait()
    running.stdout.close()
    following = queue.start("logs", "words", "--follow")
    for line in following.stdout:
        if line.endswith("| up\n"):
            break
    (queue.folder / "go").touch()
    output, _ = following.communicate(timeout=PATIENCE)
    assert following.returncode == 0 and output.count("| counted") == 2, output
    assert "words: succeeded" in output
    assert queue.millrace("wait", "words")[0] == 0


def test_stop_ends_the_tasks_and_leaves_nothing(queue):
    queue.millrace("submit", queue.job("echo up; exec sleep 600"))
    queue.wait_for_tasks()
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert queue.left() == ([], [])
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]
    code, output = queue.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_ctrl_c_removes_a_job_that_is_run(queue):
    running = queue.start("run", queue.job("echo up; exec sleep 600"))
    for line in running.stdout:
        if "tasks run" in line:
            break
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130 and "interrupted" in output, output
    assert queue.left() == ([], [])


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


def test_a_time_limit_ends_the_job(queue):
    code, output = queue.millrace("run", queue.job("exec sleep 600", time_limit="3s"))
    assert code == 1 and "time limit of 3.0 s" in output, output


def test_a_job_without_a_limit_has_that_of_its_allocation(queue):
    queue.environment = {**queue.environment, "SBATCH_TIMELIMIT": "1"}
    queue.millrace("submit", queue.job(HELPERS_WAIT))
    assert queue.millrace("wait", "words")[0] == 0
    journal = queue.folder / "kept" / "slurm" / "words" / "journal"
    limit = json.loads(journal.read_text().splitlines()[0])["time_limit"] / 1e9
    # Within the minute, and in time to end the tasks.
    assert 10 < limit <= 53


def test_roles_that_ask_for_different_machines_know_each_other(queue):
    roles = "{files: {cpus: 2}, map: {count: 2, cpus: 1, memory: 300Mi}}"
    code, output = queue.millrace("run", queue.job(HELPERS_WAIT + "echo {map_hosts}", roles))
    assert code == 0, output
    hosts = re.findall(r"map:\d +\| (\S+:\d+,\S+:\d+)$", output, re.MULTILINE)
    assert len(hosts) == 2 and len(set(hosts)) == 1, output


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


@pytest.mark.parametrize("verb", ["status", "logs", "wait", "stop", "rerun"])
def test_a_job_that_is_not_there_is_told(queue, verb):
    code, output = queue.millrace(verb, "nobody")
    assert code == 1 and "there is no job 'nobody'" in output, output
