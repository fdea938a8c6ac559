"""Functions of many modules, the same program on TensorFlow and on Millrace: what they give agrees."""

import json

import pytest

from named_programs import PROGRAMS
from programs import PYTHONS, printed
from tasks import DEADLINE
from test_training_beside_tensorflow import differences


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("named_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_results_agree(both, program):
    theirs, ours = both
    assert list(differences(theirs[program], ours[program])) == []
