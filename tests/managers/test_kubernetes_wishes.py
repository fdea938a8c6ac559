"""Secrets, ports, and what jobs ask of Kubernetes alone, on a real one; every namespace here is a restricted one."""

import contextlib
import json
import signal

from managed import HELPERS_WAIT, until
from ports import free_port

VALUE = "hunter2-and-a-half"
PLACED = """
kubernetes:
  tolerations: ["dedicated=training:NoSchedule", "spot:NoExecute for 10m"]
  service_account: default
  pull_secrets: registry
  labels: {team: vision}
  annotations: {example.com/note: of any text!}
  spread: zone
  near: machine
  shm: 32Mi
"""


def add_to(job, text):
    with open(job, "a") as file:
        file.write(text)
    return job


@contextlib.contextmanager
def taint(shell, node, text):
    shell.kubectl("taint", "node", node, text)
    try:
        yield
    finally:
        shell.kubectl("taint", "node", node, text + "-")


def nodes(shell):
    return shell.kubectl("get", "nodes", "-o", "name").replace("node/", "").split()


def pods(shell):
    return json.loads(shell.kubectl("get", "pods", "-o", "json"))["items"]


def test_what_is_asked_of_kubernetes_is_what_the_api_server_takes(shell):
    roles = "{files: {ports: {web: 6006}}, map: {count: 2, kubernetes: {apart: machine, priority: high}}}"
    job = add_to(
        shell.job("true", roles), PLACED + "secrets: {A: {kubernetes: db/a}, B: {env: B}}\n"
    )
    manifests = shell.run("millrace", "explain", job, "--on", "k8s").stdout
    path = shell.folder / "manifests.yaml"
    path.write_text(manifests)
    answer = shell.kubectl("apply", "--dry-run=server", "-f", str(path))
    assert answer.count("created (server dry run)") == 6
    assert "Warning" not in answer


def test_pods_have_what_was_asked_for(shell):
    job = add_to(shell.job(HELPERS_WAIT + "cat /proc/mounts"), PLACED)
    code, output = shell.millrace("run", job)
    assert code == 0, output
    assert " /dev/shm tmpfs rw" in output and "size=32768k" in output, output
    pod = pods(shell)[0]
    assert pod["metadata"]["labels"]["team"] == "vision"
    assert pod["metadata"]["annotations"]["example.com/note"] == "of any text!"
    assert {
        "key": "spot",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 600,
    } in pod["spec"]["tolerations"]


def test_secrets_reach_their_tasks_and_go_with_the_job(shell):
    shell.kubectl("create", "secret", "generic", "db", "--from-literal=password=of the cluster")
    secrets = "{OWN: {env: OWN_PASSWORD}, DB: {kubernetes: db/password}}"
    script = HELPERS_WAIT + 'echo "own ${#OWN}, db ${#DB}"; sleep 3'
    job = shell.job(script, f"{{files: 1, map: {{count: 2, secrets: {secrets}}}}}")
    code, output = shell.millrace("submit", job, OWN_PASSWORD=VALUE)
    assert code == 0, output
    assert VALUE not in shell.kubectl("get", "pods,jobs,configmaps", "-o", "yaml")
    code, output = shell.millrace("wait", "words")
    assert code == 0, output
    code, output = shell.millrace("logs", "words", "map:1")
    assert (code, f"own {len(VALUE)}, db 14" in output) == (0, True), output
    code, output = shell.millrace("stop", "words")
    assert code == 0, output
    assert shell.left() == ""
    assert "db" in shell.kubectl("get", "secrets", "-o", "name")


def test_a_secret_that_is_missing_is_told_before_anything_is_made(shell):
    job = add_to(shell.job("true"), "secrets: {DB: {kubernetes: db/password}}\n")
    code, output = shell.millrace("submit", job)
    assert (code, "the namespace has no Secret 'db'" in output) == (1, True), output
    shell.kubectl("create", "secret", "generic", "db", "--from-literal=pasword=x")
    code, output = shell.millrace("submit", job)
    assert (code, "has no key 'password'; it has: pasword" in output) == (1, True), output
    assert shell.left() == ""


def test_tasks_that_tolerate_a_taint_run_where_it_is_and_others_do_not(shell):
    tainted = nodes(shell)[1]
    with taint(shell, tainted, "dedicated=training:NoSchedule"):
        apart = "kubernetes: {apart: machine"
        roles = f"{{map: {{count: 2, {apart}}}}}}}"
        # Not even empty machines would do, so it is tried at once.
        assert shell.millrace("submit", shell.job("sleep 60", roles))[0] == 0
        until(
            lambda: "1 node(s) had untolerated taint(s)" in shell.millrace("status", "words")[1],
            "one task waits for a machine",
        )
        assert shell.millrace("stop", "words")[0] == 0
        roles = f"{{map: {{count: 2, {apart}, tolerations: ['dedicated=training:NoSchedule']}}}}}}"
        code, output = shell.millrace("run", shell.job("echo here", roles))
        assert code == 0, output
        assert {pod["spec"]["nodeName"] for pod in pods(shell)} == set(nodes(shell))


def test_a_port_of_a_task_is_reached_from_here(shell):
    roles = "{map: {count: 1, ports: {web: 6006}}}"
    job = shell.job(["millrace", "serve"], roles)
    assert shell.millrace("submit", job)[0] == 0
    until(lambda: "runs; serves web 6006" in shell.millrace("status", "words")[1], "it runs")
    local = free_port()
    running = shell.start("port-forward", "words", "map:0", f"{local}:2222")
    try:
        line = running.stdout.readline()
        assert f"Forwarding from 127.0.0.1:{local} -> 2222" in line, line
        # The kubectl of tools/k8s-cluster runs, and listens, in the namespace of the network.
        ask = ["ip", "netns", "exec", "millrace-k0", "millrace", "status", f"127.0.0.1:{local}"]
        until(lambda: shell.run(*ask).returncode == 0, "the task answers")
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
