"""Jobs on a real YARN that believes nobody without a ticket of Kerberos, and whose RPC is encrypted;
tools/yarn-cluster and tools/kerberos-realm run both on this machine."""

import re

import pytest

from kerberos_realm import Tickets, is_let_in, running_realm
from managed import (
    HELPERS_WAIT,
    PATIENCE,
    count_words,
    fail_with_last_words,
    own_lines,
    submit_and_ask,
    until,
)
from yarn_queue import KerberosQueue, running_yarn

VERBS = [
    ("status", "words"),
    ("logs", "words"),
    ("wait", "words", "--timeout", "20s"),
    ("scale", "words", "map=1"),
    ("stop", "words"),
    ("list",),
]


@pytest.fixture(scope="module")
def realm():
    with running_realm() as folder:
        yield folder


@pytest.fixture(scope="module")
def yarn(realm):
    with running_yarn(options=("--realm", realm, "--protection", "privacy")) as environment:
        yield environment


@pytest.fixture
def queue(yarn, realm, tmp_path):
    queue = KerberosQueue(yarn, tmp_path, Tickets(realm, tmp_path / "tickets"))
    yield queue
    queue.tickets.get()
    queue.end_all()


def lose_ticket(queue):
    queue.tickets.lose()
    return "No credentials were supplied"


def outlive_ticket(queue):
    queue.tickets.lose()
    queue.tickets.get(life="1s")
    until(lambda: not is_let_in(queue.url("info"), queue.tickets), "the ticket expires")
    return "Ticket expired"


def test_word_count_is_exact_and_every_task_is_heard(queue):
    count_words(queue, queue.texts())
    app = queue.ended_application()
    assert app["finalStatus"] == "SUCCEEDED"
    assert app["diagnostics"].startswith("job succeeded in ")


def test_a_submitted_job_goes_on_alone_and_can_be_asked_about(queue):
    submit_and_ask(queue)


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)


def test_a_job_is_scaled_and_stopped_and_nothing_is_left(queue):
    roles = "{map: {count: 1, min: 1, max: 2}}"
    assert queue.millrace("submit", queue.job("echo up; exec sleep 600", roles))[0] == 0
    queue.wait_for_tasks(1)
    assert queue.millrace("scale", "words", "map=2")[0] == 0
    queue.wait_for_tasks(2)
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text())[-1] == "up"
    assert queue.left() == ([], [])


@pytest.mark.parametrize("log_out", [lose_ticket, outlive_ticket])
def test_who_has_no_ticket_is_told_why_and_nothing_is_left_half_made(queue, log_out):
    roles = "{map: {count: 2, min: 1, max: 2}}"
    job = queue.job("exec sleep 600", roles)
    assert queue.millrace("submit", job)[0] == 0
    queue.wait_for_tasks(2)
    why = log_out(queue)
    said = re.compile(f"the login does not hold, or no longer: {why}.*; log in again \\(kinit\\)")
    for verb, *words in VERBS:
        code, output = queue.millrace(verb, *words)
        assert code == 1 and said.search(output), (verb, output)
    for verb in ("submit", "run"):
        code, output = queue.millrace(verb, job, "--name", "other")
        assert code == 1 and said.search(output), (verb, output)
    assert queue.names() == ["words"]
    assert queue.millrace("explain", job)[0] == 0
    # Nothing of it has touched the job.
    queue.tickets.get()
    assert queue.left()[0] == ["words"]
    assert "2 of 2 tasks run" in queue.millrace("status", "words")[1]
    assert queue.millrace("stop", "words")[0] == 0
    assert queue.left() == ([], [])


def test_a_job_outlives_the_ticket_of_who_follows_it(queue):
    script = HELPERS_WAIT + "echo up; until [ -e go ]; do sleep 0.1; done; echo counted"
    running = queue.start("run", queue.job(script))
    for line in running.stdout:
        if line.endswith("| up\n"):
            break
    why = outlive_ticket(queue)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1 and why in output, output
    (queue.folder / "go").touch()
    queue.tickets.get()
    code, output = queue.millrace("wait", "words", "--timeout", "100s")
    assert code == 0 and "job succeeded" in output, output
