"""What is made of kubectl's answers, good and bad: a script stands in for it, so that no cluster is needed.

tests/managers has the real one.
"""

import json
import os
import signal
import subprocess

import pytest

from processes import PATIENCE, default_signals

EMPTY = json.dumps({"kind": "List", "items": []})
REFUSED = (
    "The connection to the server c:6443 was refused - did you specify the right host or port?"
)


@pytest.fixture
def ask(millrace, tmp_path):
    """ask(script, *words): millrace, with the script as kubectl; its code and what it wrote."""

    def ask(script, *words):
        kubectl = tmp_path / "kubectl"
        kubectl.write_text(f'#!/bin/sh\ncd {tmp_path}\necho "$@" >> asked\n{script}\n')
        kubectl.chmod(0o755)
        done = subprocess.run(
            [millrace, *words],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    return ask


def asked(tmp_path):
    return (tmp_path / "asked").read_text().splitlines()


def test_a_cluster_that_flaps_is_asked_again(ask, tmp_path):
    script = f"[ -e again ] || {{ touch again; echo '{REFUSED}' >&2; exit 1; }}; echo '{EMPTY}'"
    code, output = ask(script, "list", "--on", "k8s")
    assert (code, output) == (0, "job  state  age  tasks\n")
    assert len(asked(tmp_path)) == 2


def test_a_cluster_that_stays_silent_is_not_asked_for_ever(ask, tmp_path):
    code, output = ask(f"echo '{REFUSED}' >&2; exit 1", "list", "--on", "k8s")
    assert code == 1 and "the cluster does not answer" in output, output
    assert len(asked(tmp_path)) == 4


def test_what_will_not_pass_is_not_tried_again(ask, tmp_path):
    script = "echo 'error: You must be logged in to the server (Unauthorized)' >&2; exit 1"
    code, output = ask(script, "status", "words", "--on", "k8s")
    assert code == 1 and "log in again" in output, output
    assert len(asked(tmp_path)) == 1


def test_a_submission_that_fails_half_way_is_taken_back(ask, tmp_path):
    script = (
        'case "$1" in create) cat > made; echo "Error from server (Forbidden): secrets is forbidden:'
        ' User x cannot create" >&2; exit 1;; '
        f"get) echo '{EMPTY}';; esac"
    )
    roles = ("--job", "map=1", "--image", "a:1", "--name", "words", "--", "true")
    code, output = ask(script, "submit", "--on", "k8s", *roles)
    assert code == 1 and "the login may not do this" in output, output
    created, deleted, left = asked(tmp_path)
    assert deleted.startswith("delete ") and "--selector millrace-run=" in deleted
    run = deleted.split("millrace-run=")[1].split()[0]
    assert f'"millrace-run":"{run}"' in (tmp_path / "made").read_text()
    assert "kubernetes.io/instance" not in deleted


def test_words_that_are_no_list_are_refused(ask):
    code, output = ask("echo what", "list", "--on", "k8s")
    assert code == 1 and "kubectl wrote no objects" in output, output


def test_a_place_that_there_is_not_is_told(ask):
    code, output = ask("true", "submit", "--on", "mesos", "--job", "map=1", "--", "true")
    assert code == 2 and "jobs are kept by k8s" in output, output
    code, output = ask("true", "list")
    assert code == 2 and "--on k8s" in output, output


def test_kubectl_is_asked_for(millrace, tmp_path):
    done = subprocess.run(
        [millrace, "list", "--on", "k8s"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "no program 'kubectl' on the PATH" in done.stderr


@pytest.fixture
def attended(millrace, tmp_path):
    """attended(script): `millrace join`, which stays with the script as one task of a job."""
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"cluster": {"map": ["127.0.0.1:2222"]}}))
    record = tmp_path / "record"

    def attended(script):
        return subprocess.Popen(
            [millrace, "join", "--cluster", str(cluster), "--job", "map", "--index", "0"]
            + ["--until", "map", "--grace", "1s", "--", "sh", "-c", script],
            env={**os.environ, "MILLRACE_REPORT_FILE": str(record)},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=default_signals,
        )

    return attended


def test_who_stays_with_a_program_ends_as_it_does(attended):
    for script, code in (("exit 3", 3), ("kill -9 $$", 137), ("exec no-such-program", 127)):
        assert attended(script).wait(timeout=PATIENCE) == code


def test_a_request_to_end_is_handed_on_and_noted(attended, tmp_path):
    task = attended("trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done")
    assert task.stdout.readline() == "up\n"
    task.send_signal(signal.SIGTERM)
    assert task.wait(timeout=PATIENCE) == 7
    assert json.loads((tmp_path / "record").read_text()) == {
        "millrace_stop": 1,
        "why": "asked to end",
    }


def test_a_program_that_does_not_end_when_asked_is_killed_after_its_grace(attended):
    task = attended("trap '' TERM; echo up; while :; do sleep 0.1; done")
    assert task.stdout.readline() == "up\n"
    task.send_signal(signal.SIGTERM)
    assert task.wait(timeout=PATIENCE) == 137


def test_a_job_is_not_run_again_where_its_file_is_not_kept(ask, tmp_path):
    job = {"kind": "Job", "metadata": {"name": "words-map"}, "spec": {"completions": 1}}
    listed = json.dumps({"kind": "List", "items": [job]})
    code, output = ask(f"echo '{listed}'", "rerun", "words", "--on", "k8s")
    assert code == 1 and "submit the file again" in output, output
    assert not [line for line in asked(tmp_path) if "delete" in line or "create" in line]


def running_objects(state):
    """The objects of a job with one task, whose container has the state."""
    labels = {"app.kubernetes.io/instance": "words"}
    notes = {"role": "map", "order": "0", "decides": "true", "grace": "5000"}
    made = "2026-01-31T12:00:00Z"
    job = {
        "kind": "Job",
        "metadata": {
            "name": "words-map",
            "labels": labels,
            "creationTimestamp": made,
            "annotations": {f"millrace/{name}": value for name, value in notes.items()},
        },
        "spec": {"completions": 1},
        "status": {},
    }
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "words-map-0-x",
            "labels": {**labels, "job-name": "words-map"},
            "creationTimestamp": made,
            "annotations": {"batch.kubernetes.io/job-completion-index": "0"},
        },
        "spec": {"nodeName": "n1", "containers": [{"image": "words:1"}]},
        "status": {"phase": "Running", "containerStatuses": [{"state": state}]},
    }
    return json.dumps({"kind": "List", "items": [job, pod]})


RUNNING = {"running": {"startedAt": "2026-01-31T12:00:01Z"}}


def test_a_command_runs_in_the_container_of_its_task_and_its_code_is_ours(ask, tmp_path):
    script = (
        f"case \"$1\" in get) echo '{running_objects(RUNNING)}';; exec) echo told; exit 7;; esac"
    )
    code, output = ask(script, "exec", "words", "map:0", "--on", "k8s", "--", "ps", "-ef")
    assert (code, output) == (7, "told\n")
    assert asked(tmp_path)[-1] == "exec words-map-0-x --container=task --stdin -- ps -ef"


def test_who_would_scale_a_job_is_told_why_not_and_what_to_do(ask, tmp_path):
    objects = f"echo '{running_objects(RUNNING)}'"
    code, output = ask(objects, "scale", "words", "map=2", "--on", "k8s")
    assert code == 1 and "so that it can't be scaled: stop it and submit it" in output, output
    assert not [line for line in asked(tmp_path) if "patch" in line or "apply" in line]


def test_beside_a_task_that_does_not_run_nothing_is_run(ask, tmp_path):
    script = f"echo '{running_objects({'waiting': {'reason': 'ContainerCreating'}})}'"
    code, output = ask(script, "exec", "words", "map:0", "--on", "k8s", "--", "ps")
    assert code == 1 and "map:0 does not run yet" in output, output
    code, output = ask(script, "exec", "words", "map:1", "--on", "k8s", "--", "ps")
    assert code == 1 and "no task 'map:1'; there are: map:0" in output, output
    assert not [line for line in asked(tmp_path) if line.startswith("exec")]
