"""Numbers and lists of Python's as inputs of ops: both take them for the same types."""

import json

import pytest

from literal_programs import CALLS
from programs import PYTHONS, printed
from tasks import DEADLINE


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("literal_programs.py", module, deadline=2 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[op for op, _ in CALLS])
def test_the_types_agree(both, number):
    theirs, ours = (each[number] for each in both)
    assert ours == theirs, CALLS[number]
