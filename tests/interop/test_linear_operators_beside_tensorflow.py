"""Linear operators, the same program on TensorFlow and on Millrace: what they give and what is known of them."""

import json

import pytest

from linear_operator_programs import PROGRAMS
from programs import PYTHONS, printed
from tasks import DEADLINE
from test_training_beside_tensorflow import differences


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("linear_operator_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_operators_agree(both, program):
    theirs, ours = both
    assert list(differences(theirs[program], ours[program])) == []
