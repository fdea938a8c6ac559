"""Jobs on a real Slurm of four nodes, which `tools/slurm-cluster` runs on this machine."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from processes import PATIENCE

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tools" / "slurm-cluster"
NOT_INSTALLED = 3
TEXTS = 7
WORDS = 1000


@pytest.fixture(scope="module")
def slurm():
    """The environment in which commands reach the cluster; it is there for this file's tests."""
    if not all(shutil.which(name) for name in ("slurmctld", "slurmd", "munged", "sbatch")):
        pytest.skip("no Slurm here: tools/setup managers installs it")
    # Slurm's own user has to get in, which it may not into pytest's folders.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    up = subprocess.run([CLUSTER, "up", folder], capture_output=True, text=True, timeout=180)
    try:
        if up.returncode == NOT_INSTALLED:
            pytest.skip(up.stderr)
        assert up.returncode == 0, up.stderr
        yield {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run([CLUSTER, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


@pytest.fixture
def shell(slurm, millrace, tmp_path):
    """shell(line): runs a line of a shell where Slurm is there, to its end."""

    def shell(line):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            env=slurm,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    return shell


def write_job(folder, command, roles="files: 1\n  map: 3", until="map"):
    lines = "".join(f"  - {word!r}\n" for word in command)
    path = folder / "job.yaml"
    path.write_text(f"command:\n{lines}roles:\n  {roles}\nuntil: {until}\ngrace: 2s\n")
    return path


def batch(shell, job):
    """What sbatch made of the job: its exit code and the output of the whole."""
    code, text = shell(f"millrace explain {job.name} --on slurm | sbatch --wait")
    number = re.search(r"Submitted batch job (\d+)", text)
    assert number, text
    return code, Path(job.parent / f"job-{number[1]}.log").read_text()


def test_tasks_of_several_nodes_know_each_other_and_the_job_ends_when_the_roles_have(
    shell, tmp_path
):
    # The job ends with its maps, so they wait until the other one has told what it knows.
    script = "; ".join(
        [
            'echo "{job_name}/{task_index} knows {map_hosts}"',
            f"[ {{job_name}} = map ] || {{ touch {tmp_path}/told; sleep 600; }}",
            f"until [ -e {tmp_path}/told ]; do sleep 0.1; done",
        ]
    )
    code, output = batch(shell, write_job(tmp_path, ["sh", "-c", script]))
    assert code == 0, output
    told = re.findall(r"(\w+/\d) knows (\S+)", output)
    assert sorted(task for task, _ in told) == ["files/0", "map/0", "map/1", "map/2"]
    assert len({hosts for _, hosts in told}) == 1
    assert len(set(told[0][1].split(","))) == 3
    assert "files:0  stopped: job finished" in output
    assert "job succeeded" in output


def test_word_count_is_exact(shell, tmp_path):
    names = []
    for i in range(TEXTS):
        text = tmp_path / f"text_{i}"
        text.write_text("word " * WORDS)
        names.append(f"{text}\n")
    (tmp_path / "texts").write_text("".join(names))
    program = ROOT / "examples" / "word_count.py"
    job = write_job(
        tmp_path,
        [sys.executable, str(program), "--texts", str(tmp_path / "texts")],
        "files: 1\n  reduce: 1\n  map: 3",
    )
    code, output = batch(shell, job)
    assert code == 0, output
    assert f"total: {TEXTS * WORDS}" in output


def test_a_task_that_fails_ends_the_job_with_its_reason(shell, tmp_path):
    script = "[ {job_name}{task_index} = map1 ] && { echo 'ValueError: bad record' >&2; exit 3; }; sleep 600"
    code, output = batch(shell, write_job(tmp_path, ["sh", "-c", script]))
    assert code == 1, output
    assert re.search(r"map:1 +exit code 3", output), output
    assert "ValueError: bad record" in output
    assert re.search(r"map:0 +stopped: map:1 failed", output), output


def test_a_task_that_is_killed_is_told_from_one_that_fails(shell, tmp_path):
    script = "[ {job_name}{task_index} = map2 ] && kill -9 $$; sleep 600"
    code, output = batch(shell, write_job(tmp_path, ["sh", "-c", script]))
    assert code == 1, output
    assert re.search(r"map:2 +(killed by SIGKILL|exit code 137)", output), output


def test_a_program_that_is_not_there_is_named(shell, tmp_path):
    code, output = batch(shell, write_job(tmp_path, ["no-such-program"]))
    assert code == 1, output
    assert "can't run 'no-such-program': No such file" in output


def test_a_cancelled_job_says_by_what_and_leaves_nothing(shell, tmp_path):
    job = write_job(tmp_path, ["sh", "-c", "echo started; sleep 600"])
    code, text = shell(f"millrace explain {job.name} --on slurm | sbatch")
    number = re.search(r"Submitted batch job (\d+)", text)[1]
    log = tmp_path / f"job-{number}.log"
    deadline = time.monotonic() + PATIENCE
    while not (log.exists() and log.read_text().count("| started") == 4):
        assert time.monotonic() < deadline, log.read_text() if log.exists() else "no log"
        time.sleep(0.1)
    shell(f"scancel --batch --signal=TERM {number}")
    while shell(f"squeue -h -j {number} -t all -o %T")[1].strip() in ("RUNNING", "COMPLETING"):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    assert "interrupted by SIGTERM" in log.read_text()
    assert shell("squeue -h")[1] == ""


def test_on_srun_needs_an_allocation_and_says_how_to_get_one(shell, tmp_path):
    job = write_job(tmp_path, ["true"])
    code, output = shell(f"env -u SLURM_JOB_ID millrace run --on srun {job.name}")
    assert (code, "sbatch" in output) == (2, True), output


def test_files_go_along_to_each_step_and_outputs_come_back(shell, tmp_path):
    (tmp_path / "word").write_text("a word\n")
    script = "pwd; cat word > made; echo {task_index} >> made"
    job = write_job(tmp_path, ["sh", "-c", script], "map: 3")
    job.write_text(job.read_text() + "files: [word]\noutputs: [made]\n")
    code, output = batch(shell, job)
    assert code == 0, output
    folders = re.findall(r"map:\d +\| (/\S+)$", output, re.MULTILINE)
    assert len(set(folders)) == 3 and not any(Path(folder).exists() for folder in folders), output
    for index in range(3):
        made = (tmp_path / "outputs" / f"map_{index}" / "made").read_text()
        assert made == f"a word\n{index}\n"
