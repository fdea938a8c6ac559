"""A job file: run here, shown for elsewhere, and joined as a task of a cluster that a file describes."""

import json
import subprocess
from pathlib import Path

import pytest

from processes import PATIENCE

ROOT = Path(__file__).parents[2]
JOB = """
command: [sh, -c, 'echo "$ROLE $GREETING {job_name}/{task_index} of {map_hosts}"']
roles:
  files: {count: 1, env: {ROLE: files}}
  map: {count: 2, env: {ROLE: map}}
env: {GREETING: hello}
"""


@pytest.fixture
def command(millrace, tmp_path):
    """command(verb, *words): `millrace` run in an empty folder, to its end."""

    def command(*words):
        return subprocess.run(
            [millrace, *words], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
        )

    return command


@pytest.fixture
def job_file(tmp_path):
    path = tmp_path / "greeting.yaml"
    path.write_text(JOB)
    return path


def test_a_job_file_runs_its_roles_with_their_own_environment(command, job_file):
    done = command("run", job_file.name)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(
        "files:0" in line and "| files hello files/0 of 127.0.0.1:" in line for line in lines
    )
    assert any("map:1" in line and "| map hello map/1 of 127.0.0.1:" in line for line in lines)


def test_flags_say_what_differs_from_the_file(command, job_file):
    done = command("run", job_file.name, "--env", "GREETING=bye", "--until", "map")
    assert done.returncode == 0, done.stderr
    assert "map bye map/0" in done.stdout


def test_a_mistake_in_a_job_file_is_named_with_its_line(command, tmp_path):
    (tmp_path / "job.yaml").write_text("command: x\nrols: {map: 1}\n")
    done = command("run", "job.yaml")
    assert done.returncode == 2
    assert "job.yaml:2: rols: there is no such key; did you mean 'roles'?" in done.stderr


def test_a_job_file_that_is_not_there_is_told(command):
    done = command("run", "job.yaml")
    assert (done.returncode, "can't read the job file 'job.yaml'" in done.stderr) == (1, True)


def test_of_a_file_without_end_no_more_is_read_than_a_job_may_have(command):
    done = command("run", "/dev/zero")
    assert (done.returncode, "has at most 1048576 bytes" in done.stderr) == (2, True), done.stderr


def test_the_command_without_its_dashes_is_still_explained(command):
    done = command("run", "--job", "map=1", "python3", "x.py")
    assert done.returncode == 2
    assert "write the command after '--': -- python3 x.py" in done.stderr


def test_explain_shows_what_run_would_start(command, job_file):
    shown = command("explain", job_file.name)
    assert shown.returncode == 0, shown.stderr
    assert "# map:1 at 127.0.0.1:" in shown.stdout
    assert "GREETING=hello" in shown.stdout


def test_explain_shows_what_goes_to_which_machine_by_ssh(command, job_file):
    shown = command("explain", job_file.name, "--on", "ssh", "--hosts", "n1,n2")
    assert shown.returncode == 0, shown.stderr
    commands = [line for line in shown.stdout.splitlines() if line.startswith("ssh ")]
    assert [" n1 " in line for line in commands] == [i % 2 == 0 for i in range(len(commands))]
    assert command("explain", job_file.name, "--on", "ssh").returncode == 2
    assert command("explain", job_file.name, "--hosts", "n1").returncode == 2


def test_explain_shows_the_objects_for_kubernetes(command, job_file):
    shown = command("explain", job_file.name, "--on", "k8s", "--image", "example/greeting:1")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("kind: Job") == 2
    assert "name: greeting-map" in shown.stdout
    refused = command("explain", job_file.name, "--on", "k8s")
    assert (refused.returncode, "has no image" in refused.stderr) == (2, True)
    elsewhere = command("explain", job_file.name, "--on", "mars")
    assert (elsewhere.returncode, "local, ssh, k8s, slurm and yarn" in elsewhere.stderr) == (
        2,
        True,
    )


def test_the_schema_is_json_and_knows_the_keys(command):
    schema = json.loads(command("explain", "--schema").stdout)
    assert (
        schema["properties"]["roles"]["additionalProperties"]["anyOf"][1]["$ref"] == "#/$defs/role"
    )
    assert "memory" in schema["$defs"]["role"]["properties"]
    keys = command("explain", "--keys").stdout
    assert "| `until` |" in keys
    assert keys in (ROOT / "docs" / "job_file.md").read_text(), "docs/job_file.md: keys are stale"


def test_a_task_joins_the_cluster_of_a_file(command, tmp_path):
    (tmp_path / "cluster.json").write_text('{"cluster": {"map": ["a:1", "b:2"]}}')
    program = 'printf "%s %s" "$TF_CONFIG" {map_hosts}'
    flags = ("--cluster", "cluster.json", "--job", "map", "--index", "1")
    done = command("join", *flags, "--", "sh", "-c", program + "; exit 7")
    assert done.returncode == 7
    config, hosts = done.stdout.rsplit(" ", 1)
    assert json.loads(config) == {
        "cluster": {"map": ["a:1", "b:2"]},
        "task": {"type": "map", "index": 1},
    }
    assert hosts == "a:1,b:2"


def test_a_task_that_is_not_in_the_cluster_is_refused(command, tmp_path):
    (tmp_path / "cluster.json").write_text('{"map": ["a:1"]}')
    flags = ("--cluster", "cluster.json", "--job", "map")
    assert command("join", *flags, "--index", "3", "--", "true").returncode == 2
    assert command("join", *flags, "--index", "0").returncode == 2
    assert command("join", *flags, "--index", "0", "--", "no-such-command").returncode == 127
    lost = command("join", "--cluster", "gone.json", "--job", "map", "--index", "0", "--", "true")
    assert (lost.returncode, "can't read 'gone.json'" in lost.stderr) == (1, True)


def test_the_scripts_of_a_cluster_become_a_job_that_runs(command, tmp_path):
    """One script for each task, which sets TF_CONFIG."""
    done = command("config", "--job", "files=1", "--job", "map=2", "--ports", "2222")
    assert done.returncode == 0, done.stderr
    scripts = sorted(path.name for path in tmp_path.glob("config_*.sh"))
    assert scripts == ["config_files_0.sh", "config_map_0.sh", "config_map_1.sh"]
    says = ["sh", "-c", "echo {job_name}/{task_index} hides $CUDA_VISIBLE_DEVICES"]
    done = command("import", *scripts, "--", *says)
    assert done.returncode == 0, done.stderr
    assert "took  config_map_1.sh:1: task 1 of roles.map" in done.stderr
    assert "first_port: 2222" in done.stdout
    # Any port will do for the test.
    (tmp_path / "job.yaml").write_text(done.stdout.replace("first_port: 2222\n", ""))
    done = command("run", "job.yaml")
    assert done.returncode == 0, done.stderr
    assert "map/1 hides -1" in done.stdout


def test_a_file_that_is_no_job_is_told_with_its_line(command, tmp_path):
    (tmp_path / "x.yaml").write_text("kind: TFJob\napiVersion: v1\nspec: [1]\n")
    done = command("import", "x.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "millrace import: x.yaml:3: spec: found a list" in done.stderr
    done = command("import", "none.yaml")
    assert (done.returncode, "can't read" in done.stderr) == (1, True)


@pytest.mark.parametrize("form", ["tfjob", "jobset", "sbatch", "yarnfile", "compose", "kubernetes"])
def test_what_is_exported_can_be_imported(command, tmp_path, form):
    (tmp_path / "digits.yaml").write_text(
        "command: python3 train.py --task_index={task_index}\nroles: {ps: 1, worker: 3}\nuntil: worker\n"
    )
    image = [] if form == "sbatch" else ["--image", "digits:3"]
    done = command("export", "--to", form, *image, "digits.yaml")
    assert done.returncode == 0, done.stderr
    (tmp_path / "theirs").write_text(done.stdout)
    done = command("import", "theirs")
    assert done.returncode == 0, done.stderr
    (tmp_path / "again.yaml").write_text(done.stdout)
    shown = command("explain", "again.yaml", "--on", "local")
    assert shown.returncode == 0, shown.stderr
    assert "worker:2" in shown.stdout and "--task_index=2" in shown.stdout, shown.stdout


def test_a_format_that_there_is_not_is_told_which_there_are(command, job_file):
    done = command("export", "--to", "cron", job_file.name)
    assert done.returncode == 2
    assert "there are tfjob, jobset, sbatch, yarnfile, compose, kubernetes" in done.stderr
