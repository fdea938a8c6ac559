"""Single ops with the same bytes in TensorFlow and in Millrace: values, gradients and errors agree.

The tables of ops are *_cases.py and *_stories.py (rows.py). `--op-cases 20000` compares that many; the default takes half a minute.
`beside_tensorflow` writes what 20,000 cases give into docs/beside_tensorflow.md.
"""

import pytest

import op_signatures
from rows import ROWS, UNCOMPARED, all_cases
from op_comparison import differences, reason, results_of


@pytest.fixture(scope="module")
def compared(request, tmp_path_factory):
    """Of each op, its cases with what both gave."""
    cases = all_cases(request.config.getoption("--op-cases"))
    folder = tmp_path_factory.mktemp("ops")
    theirs = results_of("tensorflow", cases, folder)
    ours = results_of("millrace", cases, folder)
    by_op = {row.op: [] for row in ROWS}
    for case, one, other in zip(cases, theirs, ours):
        by_op[case.op].append((case, one, other))
    return by_op


@pytest.mark.parametrize("op", dict.fromkeys(row.op for row in ROWS))
def test_an_op_gives_what_tensorflow_gives(compared, op):
    faults = [
        f"{case}\n  {difference}"
        for case, theirs, ours in compared[op]
        for difference in differences(case, theirs, ours)
        if not reason(case, difference)
    ]
    number = len(compared[op])
    assert not faults, f"{len(faults)} differences in {number} cases:\n" + "\n".join(faults[:3])


def test_every_op_has_a_row_or_a_reason_to_have_none():
    ours, rows = op_signatures.of_millrace(), {row.op for row in ROWS}
    assert sorted(ours.keys() - rows - UNCOMPARED.keys()) == []
    assert sorted(UNCOMPARED.keys() & rows) == []
    assert sorted(UNCOMPARED.keys() - ours.keys()) == []


def test_a_difference_is_seen(compared):
    case, theirs, _ = compared["Atan"][0]
    moved = {**theirs, "values": [theirs["values"][0] + 1]}
    assert theirs["values"][0].size == 0 or list(differences(case, theirs, moved))
    assert list(differences(case, theirs, {"error": "InvalidArgumentError"}))
