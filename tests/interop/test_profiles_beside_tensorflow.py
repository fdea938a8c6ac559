"""Profiles of a net, the same program on TensorFlow and on Millrace: their trees agree."""

import json

import pytest

from profile_programs import PROGRAMS
from programs import PYTHONS, printed


@pytest.fixture(scope="module")
def both():
    return {module: json.loads(printed("profile_programs.py", module)) for module in PYTHONS}


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_trees_agree(both, program):
    assert both["millrace"][program] == both["tensorflow"][program]
