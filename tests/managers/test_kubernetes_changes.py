"""Jobs on a real Kubernetes whose tasks become more and fewer, fail and come back, and lose their machines."""

import json
import re
import subprocess
import time

import pytest

from managed import HELPERS_WAIT, PATIENCE, until

ELASTIC = "{files: 1, map: {count: 2, min: 1, max: 4}}"
# Ends when it is asked to, and says so.
SERVES = HELPERS_WAIT + "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.2; done"


def submit(shell, job):
    code, output = shell.millrace("submit", job)
    assert code == 0, output


def status(shell):
    return shell.millrace("status", "words")[1]


def await_tasks(shell, count):
    text = f"{count} of {count} tasks run"
    until(lambda: text in status(shell), f"{text}: {status(shell)}")


# --- other numbers of tasks ---


def test_a_job_has_four_map_tasks_and_then_one_and_ends_with_it(shell):
    script = HELPERS_WAIT + (
        "trap 'echo bye; exit 9' TERM; echo of {map_hosts}; i=0; "
        "while [ $i -lt 200 ]; do sleep 0.2; i=$((i+1)); done; echo done"
    )
    submit(shell, shell.job(script, ELASTIC))
    await_tasks(shell, 3)
    code, output = shell.millrace("scale", "words", "map=4")
    assert (code, output) == (0, "map: 2 -> 4 tasks\n")
    await_tasks(shell, 5)
    began = time.monotonic()
    code, output = shell.millrace("scale", "words", "map=1")
    assert (code, output) == (0, "map: 4 -> 1 task\n")
    assert time.monotonic() - began < 20
    await_tasks(shell, 2)
    for gone in ("map:1", "map:2", "map:3"):
        assert re.search(rf"{gone} .*scaled down", status(shell)), status(shell)
        assert "bye" in shell.millrace("logs", "words", gone)[1]
    # All know all that may be.
    hosts = re.findall(r"of (\S+)", shell.millrace("logs", "words", "map:3")[1])
    assert len(hosts[0].split(",")) == 4
    code, output = shell.millrace("wait", "words", "--timeout", "100s")
    assert code == 0 and "job succeeded" in output, output
    # Nobody ended the helper from here: it has not waited for those that went.
    assert re.search(r"files:0 .*stopped: job finished", status(shell)), status(shell)


def test_tasks_that_went_come_back_as_other_attempts(shell):
    submit(shell, shell.job(SERVES, ELASTIC))
    await_tasks(shell, 3)
    assert shell.millrace("scale", "words", "map=1")[0] == 0
    assert shell.millrace("scale", "words", "map=3")[0] == 0
    await_tasks(shell, 4)
    assert re.search(r"map:1 +\S+ +2 +runs", status(shell)), status(shell)
    assert re.search(r"map:2 +\S+ +1 +runs", status(shell)), status(shell)
    logs = shell.millrace("logs", "words", "map:1")[1]
    assert logs.count("| up") == 2 and logs.count("| bye") == 1, logs


def test_a_helper_waits_for_tasks_that_came_later(shell):
    # map:0 and map:1 end long before the others.
    script = HELPERS_WAIT + "[ {task_index} -lt 2 ] && exec sleep 15; sleep 30; echo late"
    submit(shell, shell.job(script, ELASTIC))
    await_tasks(shell, 3)
    assert shell.millrace("scale", "words", "map=4")[0] == 0
    code, output = shell.millrace("wait", "words", "--timeout", "120s")
    assert code == 0 and "job succeeded" in output, output
    logs = shell.millrace("logs", "words")[1]
    assert logs.count("| late") == 2, logs
    assert re.search(r"files:0 .*stopped: job finished", status(shell)), status(shell)


def test_sessions_do_not_wait_for_tasks_that_are_absent(shell):
    # They need all of `reduce`, of which one is not there.
    roles = "{files: 1, reduce: {count: 1, max: 2}, map: 3}"
    code, output = shell.millrace("run", shell.job(["word_count", "/texts/list"], roles))
    assert code == 0 and "total: 7000" in output, output


def test_a_task_that_does_not_hear_is_ended_with_its_pod(shell):
    script = HELPERS_WAIT + "trap '' TERM; echo up; while :; do sleep 0.2; done"
    submit(shell, shell.job(script, ELASTIC))
    await_tasks(shell, 3)
    assert shell.millrace("scale", "words", "map=1")[0] == 0
    await_tasks(shell, 2)
    assert "failed" not in status(shell)


@pytest.mark.parametrize(
    "wish, code, told",
    [
        ("map=5", 2, "may have 1 to 4 tasks"),
        ("files=2", 2, "its job file says neither min nor max"),
        ("mop=2", 2, "did you mean 'map'"),
    ],
)
def test_what_a_role_may_not_have_is_said(shell, wish, code, told):
    submit(shell, shell.job(SERVES, ELASTIC))
    await_tasks(shell, 3)
    refused, output = shell.millrace("scale", "words", wish)
    assert refused == code and told in output, output
    jobs = json.loads(shell.kubectl("get", "jobs", "-o", "json"))["items"]
    assert [job["spec"]["completions"] for job in jobs] == [1, 2]


# --- restarts ---


def test_a_task_that_fails_comes_back_and_the_job_succeeds(shell):
    script = HELPERS_WAIT + (
        "echo try $MILLRACE_ATTEMPT; [ {task_index}-$MILLRACE_ATTEMPT = 1-1 ] && exit 3; sleep 20"
    )
    roles = "{files: 1, map: {count: 2, restart: {attempts: 3}}}"
    code, output = shell.millrace("run", shell.job(script, roles), "--log-dir", "logs")
    assert code == 0, output
    assert "map:1 is started again: attempt 2" in output
    assert re.search(r"job succeeded in .*1 restart", output), output
    assert re.search(r"files:0 +stopped: job finished", output), output
    logs = shell.folder / "logs"
    assert "try 1" in (logs / "map_1.log").read_text()
    assert "try 2" in (logs / "map_1.2.log").read_text()
    assert not (logs / "map_0.2.log").exists()


def test_a_task_that_fails_too_often_fails_the_job(shell):
    script = HELPERS_WAIT + "[ {task_index} = 1 ] && exit 3; exec sleep 600"
    roles = "{files: 1, map: {count: 2, restart: {attempts: 2}}}"
    code, output = shell.millrace("run", shell.job(script, roles))
    assert code == 1, output
    assert re.search(r"job failed after .*: map:1: exit code 3", output), output
    assert re.search(r"map:0 +stopped: map:1 failed", output), output
    # Who was ended does not come back, and the Jobs are over.
    time.sleep(12)
    pods = json.loads(shell.kubectl("get", "pods", "-o", "json"))["items"]
    assert len(pods) == 4, [pod["metadata"]["name"] for pod in pods]


def test_an_end_that_is_not_named_is_not_followed(shell):
    script = HELPERS_WAIT + "[ {task_index} = 1 ] && exit 4; exec sleep 600"
    roles = "{files: 1, map: {count: 2, restart: {on: [3, SIGKILL]}}}"
    code, output = shell.millrace("run", shell.job(script, roles))
    assert code == 1, output
    assert re.search(r"job failed after .*: map:1: exit code 4", output), output


def test_a_helper_that_comes_back_learns_who_has_ended_meanwhile(shell):
    # map:0 has ended when files:0 is killed; map:1 ends when it is back.
    script = (
        "[ {job_name}-$MILLRACE_ATTEMPT = files-1 ] && { sleep 10; kill -9 $$; }; "
        "[ {job_name} = files ] && exec sleep 600; "
        "[ {task_index} = 0 ] && exec sleep 4; exec sleep 40"
    )
    roles = "{files: {restart: on_failure}, map: 2}"
    submit(shell, shell.job(script, roles))
    code, output = shell.millrace("wait", "words", "--timeout", "120s")
    assert code == 0 and "job succeeded" in output, output
    assert re.search(r"files:0 +\S+ +2 +stopped: job finished", status(shell)), status(shell)


def test_a_helper_that_is_always_started_again_comes_back_after_a_normal_end(shell):
    script = (
        "[ {job_name} = files ] && { echo try $MILLRACE_ATTEMPT; exec sleep 2; }; exec sleep 25"
    )
    code, output = shell.millrace("run", shell.job(script, "{files: {restart: always}, map: 1}"))
    assert code == 0 and "try 1" in output and "try 2" in output, output


def test_a_role_that_may_lose_a_task_goes_on_without_it(shell):
    script = HELPERS_WAIT + "[ {task_index} = 1 ] && exit 3; sleep 6; echo done"
    roles = "{files: 1, map: {count: 3, may_lose: 1}}"
    code, output = shell.millrace("run", shell.job(script, roles))
    assert code == 0, output
    assert output.count("| done") == 2 and re.search("map:1 +exit code 3", output), output
    assert re.search(r"files:0 +stopped: job finished", output), output


# --- a machine that is lost ---


def switch_port(node, state):
    """The other end of the machine's cable."""
    number = node.removeprefix("millrace-k")
    command = ["ip", "-n", "millrace-kswitch", "link", "set", f"port{number}", state]
    subprocess.run(command, check=True, timeout=10)


def await_ready(shell):
    def are_ready():
        nodes = json.loads(shell.kubectl("get", "nodes", "-o", "json"))["items"]
        conditions = [c for node in nodes for c in node["status"]["conditions"]]
        taints = [node["spec"].get("taints") for node in nodes]
        return not any(taints) and all(
            c["status"] == "True" for c in conditions if c["type"] == "Ready"
        )

    until(are_ready, "the nodes are ready again")


def test_a_task_comes_back_when_its_lost_machine_has_been_given_up(shell):
    script = HELPERS_WAIT + "echo up; [ $MILLRACE_ATTEMPT = 1 ] && exec sleep 600; exit 0"
    map_role = "{count: 1, nodes: {role: goes}, restart: {on: [lost]}}"
    roles = f"{{files: {{count: 1, nodes: {{role: stays}}}}, map: {map_role}}}"
    shell.kubectl("label", "node", "millrace-k1", "role=stays")
    shell.kubectl("label", "node", "millrace-k2", "role=goes")
    try:
        submit(shell, shell.job(script, roles))
        await_tasks(shell, 2)
        switch_port("millrace-k2", "down")
        text = "map:0 waits: starts again after: its machine is lost"
        until(lambda: text in status(shell), "the machine is lost")
        # What is on it may run on: it is not started twice.
        assert len(shell.kubectl("get", "pods", "-o", "name").splitlines()) == 2
        switch_port("millrace-k2", "up")
        code, output = shell.millrace("wait", "words", "--timeout", "120s")
        assert code == 0 and re.search(r"with \d restart", output), output
    finally:
        switch_port("millrace-k2", "up")
        await_ready(shell)
        shell.kubectl("label", "nodes", "--all", "role-")


def test_a_machine_that_is_lost_is_told_by_the_tasks_that_ran_there(shell):
    # No two tasks fit on one machine together: by half of its memory each.
    nodes = json.loads(shell.kubectl("get", "nodes", "-o", "json"))["items"]
    half = int(nodes[0]["status"]["allocatable"]["memory"].removesuffix("Ki")) * 6 // 10
    job = shell.job("exec sleep 600", f"{{map: {{count: 2, memory: {half}Ki}}}}")
    running = shell.start("run", job)
    lost = None
    try:
        for line in running.stdout:
            if "tasks run" in line:
                break
        lost = re.search(r"map:1 +(\S+)", status(shell))[1]
        switch_port(lost, "down")
        output, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 1, output
        assert re.search(r"map:1 +its machine is lost", output), output
        assert re.search(r"map:0 +stopped: map:1 failed", output), output
        assert shell.millrace("stop", "words")[0] == 0
        assert shell.left() == ""
    finally:
        running.kill()
        if lost:
            switch_port(lost, "up")
        await_ready(shell)
