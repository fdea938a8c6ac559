"""Jobs that Slurm begins again as a whole, and the warning before the time limit."""

import re

import pytest

from managed import HELPERS_WAIT, own_lines
from slurm_queue import cluster, jobs_of_a_test

REQUEUE = {"slurm": "{requeue: true}"}
FIRST_LIFE_WAITS = "[ $MILLRACE_ATTEMPT = 1 ] && exec sleep 600; "


@pytest.fixture(scope="module")
def slurm():
    with cluster(cores=2) as environment:
        yield environment


@pytest.fixture
def queue(slurm, tmp_path):
    with jobs_of_a_test(slurm, tmp_path) as queue:
        yield queue


def test_a_job_that_is_requeued_begins_again_and_counts_all_words(queue):
    program = f"[ $MILLRACE_ATTEMPT = 1 ] && echo first && exec sleep 600; exec word_count {queue.texts()}"
    job = queue.job(["sh", "-c", program], "{files: 1, reduce: 1, map: 3}", **REQUEUE)
    running = queue.start("run", job, "--log-dir", "logs")
    queue.wait_for_tasks(5)
    queue.run("scontrol", "requeue", queue.number())
    queue.wait_until(
        lambda: "it was requeued, as scontrol does, and is queued again"
        in queue.millrace("status", "words")[1],
        "it waits",
    )
    output = running.communicate(timeout=150)[0]
    assert running.returncode == 0, output
    assert re.search(r"total: 7000\b", output), output
    assert "(begun again once: it was requeued, as scontrol does)" in output, output
    assert own_lines((queue.folder / "logs" / "map_1.log").read_text())[0] == "first"
    assert (queue.folder / "logs" / "map_1.2.log").exists()
    logs = queue.millrace("logs", "words")[1]
    assert "first" in logs and "total: 7000" in logs, logs
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "job succeeded" in output, output


def test_tasks_are_asked_to_end_before_their_job_is_requeued(queue):
    script = FIRST_LIFE_WAITS.replace(
        "exec sleep 600",
        "{ trap 'touch peace_{job_name}_{task_index}; exit 0' TERM; sleep 600 & wait; }",
    )
    queue.millrace("submit", queue.job(script + "exit 0", **REQUEUE))
    queue.wait_for_tasks()
    queue.run("scontrol", "requeue", queue.number())
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "begun again once" in output, output
    assert len(list(queue.folder.glob("peace_*"))) == 3


def test_a_job_whose_machine_is_lost_begins_again_elsewhere(queue):
    queue.millrace("submit", queue.job(FIRST_LIFE_WAITS + HELPERS_WAIT + "exit 0", **REQUEUE))
    queue.wait_for_tasks()
    machine = queue.run("squeue", "--noheader", "--format=%B").stdout.strip()
    try:
        queue.run("scontrol", "update", f"nodename={machine}", "state=down", "reason=test")
        code, output = queue.millrace("wait", "words")
        assert code == 0 and "begun again once: " in output, output
    finally:
        queue.run("scontrol", "update", f"nodename={machine}", "state=resume")
        queue.wait_until(lambda: queue.idle_machines() == "4", "all machines are back")


def test_a_job_that_is_preempted_is_queued_again_and_runs_when_there_is_room(queue):
    script = FIRST_LIFE_WAITS + "exit 0"
    queue.millrace("submit", queue.job(script, "{map: {count: 4, cpus: 2}}", **REQUEUE))
    queue.wait_for_tasks(4)
    urgent = queue.job(
        "until [ -e end ]; do sleep 0.1; done", "{map: {count: 4, cpus: 2}}", queue="urgent"
    )
    queue.millrace("submit", urgent, "--name", "urgent")
    queue.wait_until(
        lambda: "it was preempted, and is queued again" in queue.millrace("status", "words")[1],
        "it waits",
    )
    queue.wait_until(
        lambda: "4 of 4 tasks run" in queue.millrace("status", "urgent")[1], "urgent runs"
    )
    (queue.folder / "end").touch()
    assert queue.millrace("wait", "urgent")[0] == 0
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "begun again once: it was preempted" in output, output


def test_a_job_that_waits_to_begin_again_can_be_stopped(queue):
    queue.millrace("submit", queue.job("exec sleep 600", **REQUEUE))
    queue.wait_for_tasks()
    queue.run("scontrol", "requeuehold", queue.number())
    queue.wait_until(lambda: "is queued again" in queue.millrace("status", "words")[1], "it waits")
    code, output = queue.millrace("stop", "words")
    assert code == 0, output
    assert queue.left() == ([], [])


def test_a_job_that_was_requeued_and_fails_by_itself_has_failed(queue):
    queue.millrace("submit", queue.job(FIRST_LIFE_WAITS + HELPERS_WAIT + "exit 3", **REQUEUE))
    queue.wait_for_tasks()
    queue.run("scontrol", "requeue", queue.number())
    code, output = queue.millrace("wait", "words")
    assert code == 1 and "exit code 3" in output and "begun again once" in output, output


def test_tasks_are_warned_before_the_time_limit_and_may_save_what_they_have(queue):
    script = "trap 'echo saved; exit 0' USR2; sleep 600 & wait"
    job = queue.job(script, "{map: 2}", time_limit="60s", slurm="{warn: 50s, warn_signal: USR2}")
    code, output = queue.millrace("run", job)
    assert code == 0, output
    assert len(re.findall(r"map:\d +\| saved", output)) == 2, output
