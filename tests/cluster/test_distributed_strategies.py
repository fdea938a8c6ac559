"""Strategies of many tasks, each a process: what they train is what one process trains."""

import re
import subprocess

import pytest

from bounds import DEADLINE, ROOT

PROGRAM = ROOT / "tests" / "cluster" / "replicating.py"


@pytest.fixture
def job(cluster, python):
    """job(worker=2, ...) -> a function that starts a task with arguments."""

    def make(**jobs):
        made = cluster(**jobs)
        return lambda name, index, *arguments: made.start(
            name, index, [python, PROGRAM, *arguments]
        )

    return make


@pytest.fixture
def alone(python):
    """What one process trains, with the whole batch."""
    done = subprocess.run(
        [python, PROGRAM, "alone"], capture_output=True, text=True, timeout=DEADLINE, cwd=ROOT
    )
    return weights(done.stdout)


def weights(output):
    return [float(x) for x in re.search(r"^w(.*)$", output, re.MULTILINE)[1].split()]


def finished(task):
    assert task.wait() == 0, task.output()
    return weights(task.output())


def test_two_workers_that_meet_in_collectives_train_as_one_process(job, alone):
    start = job(worker=2)
    tasks = [start("worker", index, "collective") for index in range(2)]
    first, second = [finished(task) for task in tasks]
    assert first == second
    assert first == pytest.approx(alone, abs=2e-5)
    for index, task in enumerate(tasks):
        assert f"places /job:worker/task:{index}/device:CPU:0\n" in task.output()


def test_a_worker_whose_partner_has_made_all_its_steps_ends_with_the_cause(job):
    start = job(worker=2)
    longer, shorter = start("worker", 0, "collective"), start("worker", 1, "collective", "-", 5)
    assert shorter.wait() == 0, shorter.output()
    assert longer.wait() == 1, longer.output()
    cause = "can't come together: /job:worker/replica:0/task:1, who was in it, has ended well"
    assert re.search(
        rf"FailedPreconditionError: group \d+ of 2 {cause}", longer.output()
    ), longer.output()


def test_two_workers_share_variables_on_a_parameter_server(job):
    start = job(ps=2, worker=2)
    for index in range(2):
        start("ps", index, "ps")
    tasks = [start("worker", index, "ps") for index in range(2)]
    for task in tasks:
        found = finished(task)
        assert abs(found[0]) < 5 and found[0] != 0.0
        assert re.search(r"^places /job:ps/task:0\S* /job:ps/task:1", task.output(), re.MULTILINE)


def test_an_estimator_trains_in_two_tasks_as_in_one(job, alone, tmp_path):
    start = job(chief=1, worker=1)
    folder = tmp_path / "model"
    tasks = [start(name, 0, "collective", folder) for name in ("chief", "worker")]
    chief, _ = [finished(task) for task in tasks]
    assert chief == pytest.approx(alone, abs=2e-5)


def test_a_task_without_a_checkpoint_goes_on_from_the_chiefs(job, alone, tmp_path):
    names, folder, empty = ("chief", "worker"), tmp_path / "model", tmp_path / "empty"
    start = job(chief=1, worker=1)
    for task in [start(name, 0, "collective", folder, 10) for name in names]:
        finished(task)
    start = job(chief=1, worker=1)
    tasks = [
        start(name, 0, "collective", *place) for name, place in zip(names, [[folder], [empty]])
    ]
    chief, _ = [finished(task) for task in tasks]
    assert chief == pytest.approx(alone, abs=2e-5)
