"""What is made of Slurm's answers when it can't or may not be asked: scripts stand in for its commands, so
that no cluster is needed.

tests/managers has the real one.
"""

import os
import shlex
import subprocess

import pytest

from processes import PATIENCE

SILENT = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
FAILED = "sbatch: error: Batch job submission failed: "


@pytest.fixture
def ask(millrace, tmp_path):
    """ask(scripts, *words): millrace, with these scripts by name; its code and what it wrote."""

    def ask(scripts, *words):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in ("sbatch", "squeue", "scancel", "sacct"):
            path = folder / name
            script = scripts.get(name, f"echo {name} was not expected >&2; exit 1")
            path.write_text(f'#!/bin/sh\ncd {tmp_path}\necho "{name} $*" >> asked\n{script}\n')
            path.chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "MILLRACE_JOBS": str(tmp_path / "kept"),
        }
        environment.pop("SLURM_CONF", None)
        done = subprocess.run(
            [millrace, *words, "--on", "slurm"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "words.yaml").write_text("command: 'true'\nroles: {map: 1}\n")
    return ask


def asked(tmp_path, name):
    path = tmp_path / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line.startswith(name)]


def kept(tmp_path):
    return sorted(path.name for path in (tmp_path / "kept" / "slurm").glob("*"))


def complains(text):
    return f"echo {shlex.quote(text)} >&2; exit 1"


def test_a_controller_that_flaps_is_asked_again(ask, tmp_path):
    assert ask({"sbatch": "echo 7"}, "submit", "words.yaml") == (0, "words\n")
    script = (
        f"[ -e again ] || {{ touch again; {complains(SILENT)}; }}; echo '7|PENDING|Priority|n/a|x'"
    )
    code, output = ask({"squeue": script}, "status", "words")
    assert code == 0 and "others come before it in the queue (Priority)" in output, output
    assert len(asked(tmp_path, "squeue")) == 2


def test_a_controller_that_stays_silent_is_not_asked_for_ever(ask, tmp_path):
    ask({"sbatch": "echo 7"}, "submit", "words.yaml")
    code, output = ask({"squeue": complains(SILENT)}, "status", "words")
    assert code == 1 and "Slurm's controller does not answer" in output, output
    assert len(asked(tmp_path, "squeue")) == 4


def test_a_submission_that_was_not_answered_is_taken_back(ask, tmp_path):
    folder = tmp_path / "kept" / "slurm" / "words"
    code, output = ask(
        {
            "sbatch": complains(FAILED + "Socket timed out on send/recv operation"),
            "squeue": f"echo '3|RUNNING|None|n1|(null)'; echo '7|PENDING|None|n/a|{folder}'",
            "scancel": "exit 0",
        },
        "submit",
        "words.yaml",
    )
    assert code == 1 and "Slurm's controller does not answer" in output, output
    assert asked(tmp_path, "scancel") == ["scancel 7"]
    assert len(asked(tmp_path, "sbatch")) == 1
    assert kept(tmp_path) == []


def test_a_submission_that_can_not_be_noted_is_taken_back(ask, tmp_path):
    folder = tmp_path / "kept" / "slurm" / "words"
    code, output = ask(
        {"sbatch": f"mkdir {folder}/submission.new; echo 7", "scancel": "exit 0"},
        "submit",
        "words.yaml",
    )
    assert code == 1 and "can't write" in output, output
    assert asked(tmp_path, "scancel") == ["scancel 7"]
    assert kept(tmp_path) == []


def test_what_could_not_be_taken_back_is_said(ask, tmp_path):
    code, output = ask(
        {"sbatch": complains(FAILED + "Socket timed out"), "squeue": complains(SILENT)},
        "submit",
        "words.yaml",
    )
    assert code == 1 and "squeue --me shows it" in output, output


@pytest.mark.parametrize(
    "said, code, told",
    [
        ("Protocol authentication error", 1, "the login does not hold"),
        ("Access/permission denied", 1, "the login may not do this"),
        ("User's group not permitted to use this partition", 1, "the login may not do this"),
        ("Job violates accounting/QOS policy (job submit limit)", 1, "limits do not let it in"),
        ("Invalid partition name specified", 2, "sinfo shows the partitions"),
    ],
)
def test_what_will_not_pass_is_told_and_leaves_nothing(ask, tmp_path, said, code, told):
    found, output = ask({"sbatch": complains(FAILED + said)}, "submit", "words.yaml")
    assert (found, told in output) == (code, True), output
    assert len(asked(tmp_path, "sbatch")) == 1 and kept(tmp_path) == []


def test_a_job_that_may_not_be_stopped_stays(ask, tmp_path):
    ask({"sbatch": "echo 7"}, "submit", "words.yaml")
    code, output = ask(
        {
            "squeue": "echo '7|RUNNING|None|n1|x'",
            "scancel": complains(
                "scancel: error: Kill job error on job id 7: Access/permission denied"
            ),
        },
        "stop",
        "words",
    )
    assert code == 1 and "the login may not do this" in output, output
    assert kept(tmp_path) == ["words"]


def test_a_job_that_slurm_forgot_is_looked_up_in_its_accounts(ask):
    ask({"sbatch": "echo '7;cluster'"}, "submit", "words.yaml")
    code, output = ask({"squeue": "true", "sacct": "echo '7|TIMEOUT'"}, "wait", "words")
    assert code == 1 and output.splitlines()[-1].endswith("Slurm's time limit"), output
    code, output = ask(
        {"squeue": "true", "sacct": complains("Slurm accounting storage is disabled")},
        "wait",
        "words",
    )
    assert code == 1 and "Slurm no longer knows of it" in output, output


def test_a_configuration_that_is_not_there_is_not_waited_for(ask, millrace, tmp_path):
    environment = {**os.environ, "SLURM_CONF": "/no/such/file", "MILLRACE_JOBS": str(tmp_path)}
    done = subprocess.run(
        [millrace, "submit", "words.yaml", "--on", "slurm"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "SLURM_CONF is '/no/such/file'" in done.stderr


def test_a_folder_that_sbatch_would_take_apart_is_refused(ask, millrace, tmp_path):
    done = subprocess.run(
        [millrace, "submit", "words.yaml", "--on", "slurm"],
        env={**os.environ, "MILLRACE_JOBS": str(tmp_path / "with blank"), "SLURM_CONF": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2 and "choose another with MILLRACE_JOBS" in done.stderr
    assert not (tmp_path / "with blank" / "slurm" / "words").exists()


def test_a_job_that_may_be_scaled_keeps_its_bounds(ask, tmp_path):
    roles = "{map: {count: 2, max: 4}}"
    (tmp_path / "words.yaml").write_text(f"command: 'true'\nroles: {roles}\n")
    assert ask({"sbatch": "echo 7"}, "submit", "words.yaml")[0] == 0
    folder = tmp_path / "kept" / "slurm" / "words"
    assert "max: 4" in (folder / "job.yaml").read_text()
    assert "--ntasks=4" in (folder / "batch.sh").read_text()
    waits = {"squeue": "echo '7|PENDING|Priority||(null)'"}
    code, output = ask(waits, "scale", "words", "map=4")
    assert code == 1 and "its launcher has not begun yet" in output, output
    code, output = ask(waits, "scale", "words", "map=5")
    assert code == 2 and "role map may have 1 to 4 tasks" in output, output
    code, output = ask({}, "scale", "nobody", "map=4")
    assert code == 1 and "there is no job 'nobody'" in output, output
