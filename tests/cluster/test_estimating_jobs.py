"""train_and_evaluate as a cluster: a ps, a chief or master, a worker, and an evaluator beside them."""

import re

import pytest

from bounds import ROOT

PROGRAM = ROOT / "tests" / "cluster" / "estimating.py"


@pytest.fixture
def job(cluster, python, tmp_path):
    """job(chief=1, ...) -> a function that starts a task."""

    def make(*arguments, **jobs):
        made = cluster(**jobs)
        command = [python, PROGRAM, tmp_path / "model", "200", *arguments]
        return lambda name, index=0: made.start(name, index, command)

    return make


def evaluated(task):
    """(step, loss) of the last evaluation that a task tells of."""
    assert task.wait() == 0, task.output()
    step, loss = re.search(r"done (\d+) ([\d.]+)\n$", task.output()).groups()
    return int(step), float(loss)


def test_all_reach_the_last_step_and_the_evaluator_sees_it(job):
    start = job(ps=1, chief=1, worker=1)
    # In an order in which everybody has to wait for somebody.
    worker, evaluator, chief, ps = (start(n) for n in ("worker", "evaluator", "chief", "ps"))
    for task in (chief, worker):
        assert task.wait() == 0 and task.output().endswith("done\n"), task.output()
    step, loss = evaluated(evaluator)
    assert step >= 200 and loss < 0.05
    assert ps.process.poll() is None  # serves until it is ended
    assert "Calling model_fn" not in ps.output()


def test_a_master_evaluates_what_it_trains(job):
    start = job(ps=1, master=1)
    start("ps")
    step, loss = evaluated(start("master"))
    assert step >= 200 and loss < 0.05


def test_a_canned_estimator_has_its_tables_in_parts_on_two_ps(job, tmp_path):
    start = job("canned", ps=2, chief=1, worker=1)
    for index in range(2):
        start("ps", index)
    chief, worker, evaluator = (start(name) for name in ("chief", "worker", "evaluator"))
    for task in (chief, worker):
        assert task.wait() == 0 and task.output().endswith("done\n"), task.output()
    step, loss = evaluated(evaluator)
    assert step >= 200 and loss < 0.05
    graph = (tmp_path / "model" / "graph.pbtxt").read_text()
    table = "dnn/input_from_feature_columns/input_layer/word_embedding/embedding_weights"
    places = re.findall(rf'name: "{table}/part_\d"\n.*?device: "(.*?)"', graph, re.DOTALL)
    owners = sorted(re.search(r"ps/task:\d", place)[0] for place in places)
    assert owners == ["ps/task:0", "ps/task:1"], places
