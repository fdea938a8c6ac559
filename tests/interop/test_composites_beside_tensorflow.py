"""tf.py_function, specs and composite values, the same program on TensorFlow and on Millrace."""

import json

import pytest

from composite_programs import PROGRAMS
from programs import PYTHONS, printed
from tasks import DEADLINE


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("composite_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_what_they_give_agrees(both, program):
    theirs, ours = both
    assert ours[program] == theirs[program]
