"""Secrets: tasks have the values, and nothing that people or other processes can read does."""

import os
import subprocess
from pathlib import Path

import pytest

from kept_jobs import Here
from processes import PATIENCE, default_signals

VALUE = "hunter2-and-a-half"
SRUN = """#!/bin/sh
echo "srun $*" >> {folder}/seen; env >> {folder}/seen
while [ "${{1#--}}" != "$1" ]; do shift; done
exec "$@"
"""
# Writes down what it has, how it was called, and how all the others are.
SHOWS = (
    r"printf %s \"${PASSWORD-none}\" > has_{job_name}_{task_index}; "
    "cat /proc/[0-9]*/cmdline > lines_{job_name} 2> /dev/null; true"
)
JOB = f"""
name: words
command: [sh, -c, "{SHOWS}"]
roles: {{files: 1, map: {{count: 2, secrets: {{PASSWORD: {{SOURCE}}}}}}}}
grace: 2s
"""


class Secretive(Here):
    """A folder with a job whose mappers have a secret, and whose helper has not."""

    def __init__(self, command, folder):
        super().__init__(command, folder)
        self.environment["OWN_PASSWORD"] = VALUE
        self.write("{env: OWN_PASSWORD}")

    def write(self, source):
        (self.folder / "words.yaml").write_text(JOB.replace("{SOURCE}", source))

    def run(self, *words, **environment):
        done = subprocess.run(
            [self.command, *words],
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            preexec_fn=default_signals,
        )
        return done.returncode, done.stdout + done.stderr

    def had(self):
        return {path.name[4:]: path.read_text() for path in self.folder.glob("has_*")}

    def files_with_the_value(self):
        return [
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and not path.name.startswith("has_") and VALUE in path.read_text()
        ]


ALL_HAD = {"files_0": "none", "map_0": VALUE, "map_1": VALUE}


@pytest.fixture
def secretive(millrace, tmp_path):
    secretive = Secretive(millrace, tmp_path)
    yield secretive
    for name in secretive.kept():
        secretive.millrace("stop", name)


def test_the_tasks_of_its_role_have_a_secret_and_nobody_else(secretive):
    code, output = secretive.run("run", "words.yaml", "--log-dir", "logs")
    assert code == 0, output
    assert secretive.had() == ALL_HAD
    assert VALUE not in output
    assert secretive.files_with_the_value() == []


def test_a_secret_is_read_from_a_file_without_its_last_newline(secretive):
    (secretive.folder / "key").write_text("from a file\n")
    secretive.write("{file: key}")
    code, output = secretive.run("run", "words.yaml")
    assert code == 0, output
    assert secretive.had()["map_0"] == "from a file"


def test_a_job_that_is_left_to_this_machine_has_its_secrets_and_keeps_none(secretive):
    assert secretive.millrace("submit", "words.yaml") == (0, "words\n")
    code, output = secretive.millrace("wait", "words")
    assert code == 0, output
    assert secretive.had() == ALL_HAD
    assert secretive.files_with_the_value() == []


def test_a_job_is_run_again_with_its_secrets_as_they_are_then(secretive):
    assert secretive.millrace("submit", "words.yaml") == (0, "words\n")
    assert secretive.millrace("wait", "words")[0] == 0
    secretive.environment["OWN_PASSWORD"] = "changed"
    assert secretive.millrace("rerun", "words") == (0, "words\n")
    assert secretive.millrace("wait", "words")[0] == 0
    assert secretive.had()["map_1"] == "changed"


def test_a_job_is_not_run_again_without_its_secrets_and_stays_as_it_is(secretive):
    assert secretive.millrace("submit", "words.yaml") == (0, "words\n")
    assert secretive.millrace("wait", "words")[0] == 0
    del secretive.environment["OWN_PASSWORD"]
    code, output = secretive.millrace("rerun", "words")
    assert (code, "OWN_PASSWORD: it is not set here" in output) == (1, True), output
    assert secretive.kept() == ["words"]


@pytest.mark.parametrize("verb", ["run", "submit"])
def test_without_its_secret_nothing_of_a_job_is_started(secretive, verb):
    del secretive.environment["OWN_PASSWORD"]
    words = ("run",) if verb == "run" else ("submit", "--on", "local")
    code, output = secretive.run(*words, "words.yaml")
    assert code == 1, output
    assert "secrets.map.PASSWORD: environment variable OWN_PASSWORD: it is not set here" in output
    assert (secretive.had(), secretive.kept()) == ({}, [])


@pytest.mark.parametrize("place", ["local", "slurm", "yarn", "k8s"])
def test_explain_shows_where_a_secret_is_had_from_and_not_what_it_is(secretive, place):
    code, output = secretive.run("explain", "words.yaml", "--on", place, "--image", "")
    if place == "k8s":
        code, output = secretive.run("explain", "words.yaml", "--on", place, "--image", "words:1")
    assert code == 0, output
    assert "OWN_PASSWORD" in output
    assert VALUE not in output


def test_a_secret_of_the_cluster_is_none_of_this_machine(secretive):
    secretive.write("{kubernetes: db/password}")
    code, output = secretive.run("run", "words.yaml")
    assert code == 2 and "Secret db/password is had on Kubernetes alone" in output, output


def test_tasks_elsewhere_are_told_their_secrets_and_what_reaches_out_for_them_is_not(secretive):
    srun = secretive.folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN.format(folder=secretive.folder))
    srun.chmod(0o755)
    code, output = secretive.run(
        *("run", "--on", "srun", "--host", "127.0.0.1", "words.yaml"),
        SLURM_JOB_ID="1",
        PATH=f"{srun.parent}:{os.environ['PATH']}",
    )
    assert code == 0, output
    assert secretive.had() == ALL_HAD
    assert VALUE not in output
    assert secretive.files_with_the_value() == []


def test_slurm_is_given_a_script_without_the_value_which_waits_where_its_owner_alone_reads(
    secretive,
):
    folder = secretive.folder / "bin"
    folder.mkdir()
    for name, script in {"sbatch": "env > seen; cat $2 >> seen; echo 7", "squeue": "true"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    code, output = secretive.run("submit", "words.yaml", "--on", "slurm", PATH=path, SLURM_CONF="")
    assert (code, output) == (0, "words\n")
    kept = Path(secretive.environment["MILLRACE_JOBS"]) / "slurm" / "words"
    assert secretive.files_with_the_value() == [
        str((kept / "secrets").relative_to(secretive.folder))
    ]
    assert (kept / "secrets").stat().st_mode & 0o777 == 0o600
