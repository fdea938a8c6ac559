"""Training by two workers on one ps, whose processes are killed with SIGKILL: it goes on, and says why."""

import re
import signal
import time

import pytest

from bounds import DEADLINE, ROOT

PROGRAM = ROOT / "tests" / "cluster" / "trainer.py"


class Training:
    """A ps, a chief and another worker, until `finish`."""

    def __init__(self, cluster, python, folder, *options):
        self._cluster = cluster(ps=1, worker=2)
        self._until = folder / "finished"
        self._command = [python, PROGRAM, "--until", self._until, *options]
        self.ps, self.chief, self.worker = (
            self.start(*name) for name in [("ps", 0), ("worker", 0), ("worker", 1)]
        )

    def start(self, job, index):
        return self._cluster.start(job, index, self._command)

    def finish(self):
        """Lets the workers end; what global step each of them saw last."""
        self._until.touch()
        ends = []
        for task in (self.chief, self.worker):
            assert task.wait() == 0 and task.output().endswith("ended\n"), task.output()
            ends += map(int, re.findall(r"ended at (\d+)", task.output()))
        return ends


def steps(task):
    """The global steps that a task has printed."""
    return [int(number) for number in re.findall(r"^step (\d+) loss", task.output(), re.MULTILINE)]


def never_goes_back(task):
    """Whether no global step that a task has printed is below the one before; a running task prints on, so it is read once."""
    printed = steps(task)
    return printed == sorted(printed)


def wait_until(task, condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline and task.process.poll() is None, task.output()
        time.sleep(0.02)


def wait_for_more_steps(task, count=5):
    before = len(steps(task))
    wait_until(task, lambda: len(steps(task)) >= before + count)


@pytest.fixture
def training(cluster, python, tmp_path):
    def start(*options):
        made = Training(cluster, python, tmp_path, *options)
        for task in (made.chief, made.worker):
            wait_for_more_steps(task)
        return made

    return start


def test_a_killed_worker_costs_no_step_and_another_takes_its_place(training):
    job = training()
    job.worker.signal(signal.SIGKILL)
    job.worker.wait()
    wait_for_more_steps(job.chief)
    reached = steps(job.chief)[-1]
    job.worker = job.start("worker", 1)
    wait_for_more_steps(job.worker)
    assert steps(job.worker)[0] >= reached
    assert job.finish() >= [reached, reached]
    assert never_goes_back(job.chief)
    assert "set them anew" not in job.chief.output()


def test_after_the_death_of_a_ps_training_begins_anew_and_says_so(training):
    job = training()
    job.ps.signal(signal.SIGKILL)
    job.ps.wait()
    job.ps = job.start("ps", 0)
    for task in (job.chief, job.worker):
        task.wait_for("the session was lost: ")
        wait_until(task, lambda: task.output().count("Running local_init_op") == 2)
        wait_for_more_steps(task)
    assert not never_goes_back(job.chief)
    # Which error tells it depends on what a task was doing; the task that is gone is named.
    # A step may have several root errors of one cause, under a line that counts them.
    assert re.search(r"the session was lost: \w+Error: (.*\n){0,2}.*job:ps", job.chief.output())
    assert "did not outlast the session: Variables not initialized:" in job.chief.output()
    job.finish()


def test_a_chief_that_is_started_again_says_what_it_sets_anew(training):
    job = training()
    job.chief.signal(signal.SIGKILL)
    job.chief.wait()
    wait_for_more_steps(job.worker)
    job.chief = job.start("worker", 0)
    wait_for_more_steps(job.chief)
    assert "has values already, and there is no checkpoint to restore" in job.chief.output()
    wait_for_more_steps(job.worker)
    job.finish()


def test_a_chief_that_is_started_again_goes_on_from_its_checkpoint(training, tmp_path):
    job = training("--checkpoints", str(tmp_path / "checkpoints"))
    wait_until(job.chief, lambda: max(steps(job.chief)) >= 60)
    job.chief.signal(signal.SIGKILL)
    job.chief.wait()
    job.chief = job.start("worker", 0)
    wait_for_more_steps(job.chief)
    # What was saved last, of every 20 steps, is where it begins.
    assert "Restoring parameters from" in job.chief.output()
    assert steps(job.chief)[0] > 40
    assert "set them anew" not in job.chief.output()
    assert min(job.finish()) > 40


def test_after_the_death_of_a_ps_training_goes_on_from_the_checkpoint(training, tmp_path):
    job = training("--checkpoints", str(tmp_path / "checkpoints"))
    wait_until(job.chief, lambda: max(steps(job.chief)) >= 60)
    before = len(steps(job.chief))
    job.ps.signal(signal.SIGKILL)
    job.ps.wait()
    job.ps = job.start("ps", 0)
    for task in (job.chief, job.worker):
        task.wait_for("the session was lost: ")
        wait_until(task, lambda: task.output().count("Running local_init_op") == 2)
        wait_for_more_steps(task)
    assert "Restoring parameters from" in job.chief.output()
    assert min(steps(job.chief)[before:]) > 40
    job.finish()


def test_workers_in_step_go_on_when_one_that_was_killed_is_back(training):
    job = training("--sync")
    job.worker.signal(signal.SIGKILL)
    job.worker.wait()
    job.worker = job.start("worker", 1)
    reached = steps(job.chief)[-1]
    for task in (job.chief, job.worker):
        wait_for_more_steps(task)
    assert never_goes_back(job.chief) and steps(job.worker)[0] >= reached
    job.finish()
    # Nobody leaves them waiting: the end of the chief is the end of its tokens.
    assert "Traceback" not in job.worker.output() + job.chief.output()


@pytest.mark.parametrize("victim", ["ps", "chief"])
def test_workers_in_step_go_on_from_the_checkpoint(training, tmp_path, victim):
    job = training("--sync", "--checkpoints", str(tmp_path / "checkpoints"))
    wait_until(job.chief, lambda: max(steps(job.chief)) >= 60)
    task, name = (job.ps, ("ps", 0)) if victim == "ps" else (job.chief, ("worker", 0))
    task.signal(signal.SIGKILL)
    task.wait()
    started = job.start(*name)
    job.ps, job.chief = (started, job.chief) if victim == "ps" else (job.ps, started)
    job.chief.wait_for("Restoring parameters from")
    for task in (job.chief, job.worker):
        wait_for_more_steps(task)
    job.finish()
