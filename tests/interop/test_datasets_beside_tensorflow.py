"""Datasets, the same program on TensorFlow and on Millrace: the same elements in the same order."""

import json

import pytest

from dataset_programs import PROGRAMS
from programs import PYTHONS, printed
from tasks import DEADLINE


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("dataset_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_elements_agree(both, program):
    theirs, ours = both
    assert ours[program] == theirs[program]
