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
    assert code == 2 and "its job file says neither min nor max" in output, output
    assert not [line for line in asked(tmp_path) if "patch" in line or "apply" in line]


def elastic_objects(sizes, completions):
    """Those of a job that may have one to four tasks."""
    objects = json.loads(running_objects(RUNNING))
    job = objects["items"][0]
    job["metadata"]["annotations"].update({"millrace/bounds": "1-4", "millrace/sizes": sizes})
    job["spec"]["completions"] = completions
    roster = {"name": "words-cluster", "resourceVersion": "7"}
    objects["items"].append({"kind": "ConfigMap", "metadata": roster})
    return json.dumps(objects)


# What the cluster has is in a file, which the patches change.
CLUSTER = """
case "$*" in
  get*) cat objects;;
  *--type=json*/spec/completions*) cp scaled objects;;
  *--type=json*sizes*) cp asked_for objects;;
esac
"""


def test_a_job_is_scaled_sizes_first_then_the_roster_and_the_pods_last(ask, tmp_path):
    (tmp_path / "objects").write_text(elastic_objects("1", 1))
    (tmp_path / "asked_for").write_text(elastic_objects("1 3@1769860900", 1))
    (tmp_path / "scaled").write_text(elastic_objects("1 3@1769860900", 3))
    code, output = ask(CLUSTER, "scale", "words", "map=3", "--on", "k8s")
    assert (code, output) == (0, "map: 1 -> 3 tasks\n")
    changes = [line for line in asked(tmp_path) if line.startswith(("patch", "annotate"))]
    sizes, roster, told, pods = changes
    assert sizes.startswith("patch jobs.batch words-map --type=json") and '"1 3@' in sizes
    assert roster.startswith("patch configmaps words-cluster --type=merge")
    assert '"resourceVersion":"7"' in roster and "map:3 words-map-3.words:2222" in roster
    assert told.startswith("annotate pods")
    assert '"/spec/completions","value":3' in pods and '"/spec/parallelism","value":3' in pods


def test_of_two_that_scale_a_job_at_once_one_is_refused(ask, tmp_path):
    (tmp_path / "objects").write_text(elastic_objects("1", 1))
    refused = "the server rejected our request due to an error in our request"
    script = f'case "$1" in get) cat objects;; patch) echo "The request is invalid: {refused}" >&2; exit 1;; esac'
    code, output = ask(script, "scale", "words", "map=3", "--on", "k8s")
    assert code == 1 and "somebody else changes it at this moment; try again" in output, output
    assert len([line for line in asked(tmp_path) if not line.startswith("get")]) == 1


def test_beside_a_task_that_does_not_run_nothing_is_run(ask, tmp_path):
    script = f"echo '{running_objects({'waiting': {'reason': 'ContainerCreating'}})}'"
    code, output = ask(script, "exec", "words", "map:0", "--on", "k8s", "--", "ps")
    assert code == 1 and "map:0 does not run yet" in output, output
    code, output = ask(script, "exec", "words", "map:1", "--on", "k8s", "--", "ps")
    assert code == 1 and "no task 'map:1'; there are: map:0" in output, output
    assert not [line for line in asked(tmp_path) if line.startswith("exec")]
