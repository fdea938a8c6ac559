"""Barriers, staging areas, kept tensors and critical sections, the same program on both."""

import json

import pytest

from programs import PYTHONS, printed
from staging_programs import PROGRAMS


@pytest.fixture(scope="module")
def both():
    return [json.loads(printed("staging_programs.py", module)) for module in PYTHONS]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_two_give_the_same(both, program):
    theirs, ours = (each[program] for each in both)
    assert theirs.keys() == ours.keys()
    differing = {key: (theirs[key], ours[key]) for key in theirs if theirs[key] != ours[key]}
    assert differing == {}
