"""What `logs` shows of jobs whose launcher could not leave it, on a real YARN that collects the logs of its machines:
machines that see nothing of ours, and no HDFS."""

import os
import re
import signal

import pytest

from managed import PATIENCE
from test_jobs_without_hdfs import ServedQueue
from yarn_queue import running_yarn_without_us


@pytest.fixture(scope="module")
def yarn():
    with running_yarn_without_us(options=["--aggregate"]) as found:
        yield found


@pytest.fixture
def queue(yarn, request):
    environment, jobs = yarn
    folder = jobs / re.sub("[^a-z0-9]+", "-", request.node.name.lower())[:60]
    folder.mkdir()
    queue = ServedQueue("yarn", environment, folder)
    yield queue
    queue.end_all()
    for name in queue.names():
        assert queue.millrace("stop", name)[0] == 0


def aggregated(queue):
    """Whether YARN says that it has collected all of the job's logs."""
    app = queue.manager(f"apps/{queue.application()}")["app"]
    return app["logAggregationStatus"] in ("SUCCEEDED", "FAILED", "TIME_OUT")


def test_logs_of_a_job_that_nobody_has_stayed_for_are_had_of_what_is_aggregated(queue):
    script = "seq 50000; echo bad >&2; sleep 2"
    submitted = queue.start("submit", queue.job(script, "{map: 2}"))
    output, _ = submitted.communicate(timeout=PATIENCE)
    for pid in queue.company():
        os.kill(pid, signal.SIGKILL)
    queue.ended_application()
    queue.wait_until(lambda: aggregated(queue), "YARN has collected them")
    code, output = queue.millrace("logs", "words", "map:1")
    lines = [line.split("| ")[1] for line in output.splitlines()]
    assert code == 0 and "bad" in lines, output[-500:]
    assert [line for line in lines if line.isdigit()] == [str(i + 1) for i in range(50000)]
    code, output = queue.millrace("status", "words")
    assert code == 0 and "succeeded in" in output, output


def test_the_journal_and_the_words_of_a_launcher_that_was_killed_are_had(queue):
    submitted = queue.start("submit", queue.job("echo up; exec sleep 600"))
    submitted.communicate(timeout=PATIENCE)
    queue.wait_for_tasks()
    queue.wait_until(lambda: "| up\n" in queue.millrace("logs", "words", "map:0")[1], "it writes")
    for pid in queue.company():
        os.kill(pid, signal.SIGKILL)
    queue.kill_launcher()
    queue.wait_until(
        lambda: queue.manager(f"apps/{queue.application()}")["app"]["state"] == "FAILED"
        and aggregated(queue),
        "YARN has collected them",
    )
    code, output = queue.millrace("logs", "words")
    # Of logs that nobody has looked at before, too.
    assert code == 0 and output.count("| up\n") == 3, output
    assert "its launcher has ended" in queue.millrace("status", "words")[1]
    kept = queue.folder / "kept" / "yarn" / "words"
    assert "all 3 tasks are there" in (kept / "launcher.log").read_text()
