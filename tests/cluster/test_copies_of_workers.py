"""tf.contrib.opt's optimizers for copies of workers, by two workers and one ps: processes of their own."""

import re

import pytest

from bounds import ROOT

PROGRAM = ROOT / "tests" / "cluster" / "copies_trainer.py"
STEPS = 8


@pytest.fixture
def trained(cluster, python):
    """trained(kind): of each worker (its own value, the common one, the global step, its variable's device)."""

    def run(kind):
        job = cluster(ps=1, worker=2)
        names = [("ps", 0), ("worker", 0), ("worker", 1)]
        tasks = [job.start(*name, [python, PROGRAM, kind, STEPS]) for name in names]
        ends = []
        for task in tasks[1:]:
            assert task.wait() == 0, task.output()
            found = re.search(r"ended own (\S+) common (\S+) step (\d+) on (\S+)", task.output())
            ends.append((float(found[1]), float(found[2]), int(found[3]), found[4]))
        return ends

    return run


def test_elastic_copies_pull_at_one_center(trained):
    first, second = trained("elastic")
    assert first[1:3] == second[1:3] and first[2] == STEPS // 2 * 2
    assert (first[3], second[3]) == ("/job:worker/task:0", "/job:worker/task:1")
    # What copies lose the center gains: 8 steps of 0.25 * 1 and of 0.25 * 2 in all. Each is told in a few digits.
    total = pytest.approx(STEPS * 0.25 * (1 + 2), abs=1e-4)
    assert first[0] + second[0] + first[1] == total
    assert 0 < first[1] and 0 < first[0] < second[0]


def test_all_go_on_from_the_mean_of_their_copies(trained):
    mean = STEPS * 0.25 * 1.5
    for own, common, step, _ in trained("mean"):
        assert (own, common, step) == (mean, mean, STEPS // 2)


def test_the_center_is_trained_by_the_means_of_gradients(trained):
    first, second = trained("gradients")
    # Each of the 4 + 4 meetings moves it by 0.25 * the mean gradient of that worker.
    assert first[1] == second[1] == pytest.approx(4 * 0.25 * (1 + 2))
    assert first[2] == second[2] == 8
    # The last to meet goes on from it.
    assert max(first[0], second[0]) == pytest.approx(first[1])


def test_gradients_that_are_not_stale_are_all_applied(trained):
    for own, common, step, device in trained("stale"):
        assert own == common == pytest.approx(STEPS * 0.25 * 3) and step == 2 * STEPS
        assert device == "/job:ps/task:0"
