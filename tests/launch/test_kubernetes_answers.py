"""What is made of a cluster's answers, good and bad: a server of the test stands in for it (standing_cluster.py)."""

import json
import os
import signal
import subprocess

import pytest

from ports import free_port
from processes import PATIENCE, default_signals
from standing_cluster import StandingCluster, listed, refusal


@pytest.fixture
def cluster(tmp_path):
    cluster = StandingCluster(tmp_path, listed([]))
    yield cluster
    cluster.close()


@pytest.fixture
def ask(millrace, cluster):
    """ask(*words): millrace beside that cluster; its code and what it wrote."""

    def ask(*words):
        done = subprocess.run(
            [millrace, *words],
            env=cluster.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    return ask


def test_one_kubectl_leads_to_the_cluster_and_is_gone_afterwards(ask, cluster, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    cluster.environment["TMPDIR"] = str(temporary)
    code, output = ask("list", "--on", "k8s")
    assert (code, output) == (0, "job  state  age  tasks\n")
    assert cluster.of_kubectl() == ["proxy"]
    jobs, pods = cluster.asked
    assert jobs.path == "/apis/batch/v1/namespaces/default/jobs"
    assert pods.path == "/api/v1/namespaces/default/pods"
    assert "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dmillrace" in jobs.query
    assert list(temporary.iterdir()) == []


def test_a_long_list_comes_in_pieces(ask, cluster):
    def answer(question):
        code, told = listed([])(question)
        if "continue=" not in question.query:
            told["metadata"] = {"continue": "the rest"}
        return code, told

    cluster.answer = answer
    code, output = ask("list", "--on", "k8s")
    assert (code, output) == (0, "job  state  age  tasks\n")
    assert [question.query.count("continue=the%20rest") for question in cluster.asked] == [
        0,
        1,
        0,
        1,
    ]


def test_a_cluster_that_flaps_is_asked_again(ask, cluster):
    cluster.answer = lambda question: (
        (500, "dial tcp 10.0.0.1:6443: connect: connection refused")
        if len(cluster.asked) == 1
        else listed([])(question)
    )
    code, output = ask("list", "--on", "k8s")
    assert (code, output) == (0, "job  state  age  tasks\n")
    assert len(cluster.asked) == 3


def test_a_cluster_that_stays_silent_is_not_asked_for_ever(ask, cluster):
    cluster.answer = lambda _: (500, "dial tcp 10.0.0.1:6443: connect: connection refused")
    code, output = ask("list", "--on", "k8s")
    assert code == 1 and "the cluster does not answer" in output, output
    assert len(cluster.asked) == 4


def test_what_will_not_pass_is_not_tried_again(ask, cluster):
    cluster.answer = lambda _: refusal(401, "Unauthorized", "Unauthorized")
    code, output = ask("status", "words", "--on", "k8s")
    assert code == 1 and "log in again" in output, output
    assert len(cluster.asked) == 1


def test_a_kubectl_that_can_not_begin_says_why(ask, cluster, tmp_path):
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho 'error: context \"far\" does not exist' >&2; exit 1\n")
    code, output = ask("list", "--on", "k8s", "--context", "far")
    assert code == 1 and 'context "far" does not exist' in output, output
    assert cluster.asked == []


def test_a_kubectl_that_has_ended_is_started_anew(ask, cluster, tmp_path):
    kubectl = tmp_path / "kubectl"
    # The first leads nowhere, and ends.
    kubectl.write_text(
        kubectl.read_text()
        .replace(
            "*proxy*)",
            "*proxy*) [ -e again ] || { touch again; echo Starting to serve on it; exit 1; }",
        )
        .replace("#!/bin/sh", f"#!/bin/sh\ncd {tmp_path}")
    )
    code, output = ask("list", "--on", "k8s")
    assert (code, output) == (0, "job  state  age  tasks\n")
    assert cluster.of_kubectl() == ["proxy"]


def test_a_submission_that_fails_half_way_is_taken_back(ask, cluster):
    made = []

    def answer(question):
        if question.method == "POST" and question.path.endswith("/jobs"):
            return refusal(403, "Forbidden", "jobs.batch is forbidden: User x cannot create")
        code, told = listed(made)(question)
        if question.method == "POST":
            made.append(told)
        if question.method == "DELETE":
            made[:] = [
                each for each in made if not question.path.endswith(each["metadata"]["name"])
            ]
        return code, told

    cluster.answer = answer
    roles = ("--job", "map=1", "--image", "a:1", "--name", "words", "--", "true")
    code, output = ask("submit", "--on", "k8s", *roles)
    assert code == 1 and "the login may not do this" in output, output
    posts = [json.loads(each.body) for each in cluster.asked if each.method == "POST"]
    run = posts[0]["metadata"]["labels"]["millrace-run"]
    after = cluster.asked[
        max(i for i, each in enumerate(cluster.asked) if each.method == "POST") + 1 :
    ]
    looks = [each for each in after if each.method == "GET"]
    assert looks and all(f"labelSelector=millrace-run%3D{run}" in each.query for each in looks)
    assert not any("instance" in each.query for each in looks)
    assert made == []


def test_words_that_are_no_list_are_refused(ask, cluster):
    cluster.answer = lambda _: (200, "what")
    code, output = ask("list", "--on", "k8s")
    assert code == 1 and "what came through kubectl is no object: what" in output, output


def test_a_place_that_there_is_not_is_told(ask):
    code, output = ask("submit", "--on", "mesos", "--job", "map=1", "--", "true")
    assert code == 2 and "jobs are kept by k8s" in output, output
    code, output = ask("list")
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
            + ["--until", "map", "--farewell-port", str(free_port()), "--grace", "1s"]
            + ["--", "sh", "-c", script],
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


def test_a_job_is_not_run_again_where_its_file_is_not_kept(ask, cluster):
    job = {"kind": "Job", "metadata": {"name": "words-map"}, "spec": {"completions": 1}}
    cluster.answer = listed([job])
    code, output = ask("rerun", "words", "--on", "k8s")
    assert code == 1 and "submit the file again" in output, output
    assert cluster.changes() == []


def running_objects(state):
    """The objects of a job with one task, whose container has the state."""
    labels = {"app.kubernetes.io/instance": "words"}
    notes = {"role": "map", "order": "0", "decides": "true", "grace": "5000"}
    made = "2026-01-31T12:00:00Z"
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
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
    return [job, pod]


RUNNING = {"running": {"startedAt": "2026-01-31T12:00:01Z"}}


def test_a_command_runs_in_the_container_of_its_task_and_its_code_is_ours(millrace, tmp_path):
    cluster = StandingCluster(tmp_path, listed(running_objects(RUNNING)), "echo told; exit 7")
    done = subprocess.run(
        [millrace, "exec", "words", "map:0", "--on", "k8s", "--", "ps", "-ef"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    cluster.close()
    assert (done.returncode, done.stdout) == (7, "told\n")
    assert cluster.of_kubectl()[-1] == "exec words-map-0-x --container=task --stdin -- ps -ef"


def test_what_a_task_writes_comes_without_a_kubectl_of_its_own(ask, cluster):
    def answer(question):
        if question.path.endswith("/pods/words-map-0-x/log"):
            return 200, "first\nsecond\n"
        return listed(running_objects(RUNNING))(question)

    cluster.answer = answer
    code, output = ask("logs", "words", "--on", "k8s")
    assert code == 0 and "first\n" in output and "second\n" in output, output
    assert cluster.asked[-1].query == "container=task"
    assert cluster.of_kubectl() == ["proxy"]


def test_output_that_can_not_be_had_is_tried_again_and_told(ask, cluster):
    def answer(question):
        if question.path.endswith("/log"):
            return refusal(400, "BadRequest", "container is waiting to start")
        return listed(running_objects(RUNNING))(question)

    cluster.answer = answer
    code, output = ask("logs", "words", "--on", "k8s")
    assert "what map:0 wrote can't be had" in output, output
    assert len([each for each in cluster.asked if each.path.endswith("/log")]) > 1


def test_who_would_scale_a_job_is_told_why_not_and_what_to_do(ask, cluster):
    cluster.answer = listed(running_objects(RUNNING))
    code, output = ask("scale", "words", "map=2", "--on", "k8s")
    assert code == 2 and "its job file says neither min nor max" in output, output
    assert cluster.changes() == []


def elastic_objects(sizes, completions):
    """Those of a job that may have one to four tasks."""
    objects = running_objects(RUNNING)
    job = objects[0]
    job["metadata"]["annotations"].update({"millrace/bounds": "1-4", "millrace/sizes": sizes})
    job["spec"]["completions"] = completions
    roster = {"name": "words-cluster", "resourceVersion": "7"}
    return [*objects, {"kind": "ConfigMap", "metadata": roster}]


def test_a_job_is_scaled_sizes_first_then_the_roster_and_the_pods_last(ask, cluster):
    has = [elastic_objects("1", 1)]

    def answer(question):
        if question.method == "PATCH" and "/spec/completions" in question.body:
            has.append(elastic_objects("1 3@1769860900", 3))
        elif question.method == "PATCH" and "sizes" in question.body:
            has.append(elastic_objects("1 3@1769860900", 1))
        return listed(has[-1])(question)

    cluster.answer = answer
    code, output = ask("scale", "words", "map=3", "--on", "k8s")
    assert (code, output) == (0, "map: 1 -> 3 tasks\n")
    sizes, roster, told, pods = cluster.changes()
    jobs = "/apis/batch/v1/namespaces/default/jobs/words-map"
    assert sizes.path == jobs and '"1 3@' in sizes.body
    assert roster.path == "/api/v1/namespaces/default/configmaps/words-cluster"
    assert '"resourceVersion":"7"' in roster.body and "map:3 words-map-3.words:2222" in roster.body
    assert told.path == "/api/v1/namespaces/default/pods/words-map-0-x"
    assert "millrace/roster-of" in told.body
    assert pods.path == jobs and '"/spec/completions","value":3' in pods.body
    assert '"/spec/parallelism","value":3' in pods.body


def test_of_two_that_scale_a_job_at_once_one_is_refused(ask, cluster):
    cluster.answer = lambda question: (
        refusal(422, "Invalid", "the server rejected our request due to an error in our request")
        if question.method == "PATCH"
        else listed(elastic_objects("1", 1))(question)
    )
    code, output = ask("scale", "words", "map=3", "--on", "k8s")
    assert code == 1 and "somebody else changes it at this moment; try again" in output, output
    assert len(cluster.changes()) == 1


def test_beside_a_task_that_does_not_run_nothing_is_run(ask, cluster):
    cluster.answer = listed(running_objects({"waiting": {"reason": "ContainerCreating"}}))
    code, output = ask("exec", "words", "map:0", "--on", "k8s", "--", "ps")
    assert code == 1 and "map:0 does not run yet" in output, output
    code, output = ask("exec", "words", "map:1", "--on", "k8s", "--", "ps")
    assert code == 1 and "no task 'map:1'; there are: map:0" in output, output
    assert cluster.of_kubectl() == ["proxy", "proxy"]
