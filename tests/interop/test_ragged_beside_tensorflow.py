"""Ragged tensors, the same program on TensorFlow and on Millrace: values, types, ranks and gradients agree."""

import json

import pytest

from programs import PYTHONS, printed
from ragged_programs import PROGRAMS
from tasks import DEADLINE
from test_training_beside_tensorflow import differences


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("ragged_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_ragged_tensors_agree(both, program):
    theirs, ours = both
    assert list(differences(theirs[program], ours[program])) == []
