"""Random graphs of several ops (random_graphs.py), with the same seeds and feeds in TensorFlow and in Millrace.

`--random-graphs 1000` compares that many; `beside_tensorflow` tells in docs/beside_tensorflow.md what they gave.
"""

import pytest

from graph_comparison import differences, results_of


@pytest.fixture(scope="module")
def compared(request, tmp_path_factory):
    count = request.config.getoption("--random-graphs")
    folder = tmp_path_factory.mktemp("graphs")
    return [results_of(module, 0, count, folder) for module in ("tensorflow", "millrace")]


def test_random_graphs_give_what_tensorflow_gives(compared):
    faults = [
        f"seed {seed}, {' '.join(ours.get('ops', []))}\n  {difference}"
        for seed, (theirs, ours) in enumerate(zip(*compared, strict=True))
        for difference in differences(theirs, ours)
    ]
    assert not faults, f"{len(faults)} differences:\n" + "\n".join(faults[:3])


def test_graphs_run_and_have_gradients(compared):
    for theirs, ours in zip(*compared, strict=True):
        assert "error" not in theirs and len(ours["ops"]) > 8
        assert any(each is not None for each in theirs["gradients"])


def test_a_difference_is_seen(compared):
    theirs = compared[0][0]
    for kind in ("values", "gradients"):
        at = next(i for i, each in enumerate(theirs[kind]) if each is not None and each.size)
        moved = [each if i != at else each + 0.1 for i, each in enumerate(theirs[kind])]
        assert list(differences(theirs, {**theirs, kind: moved}))
    assert list(differences(theirs, {"error": "InvalidArgumentError: no"}))
