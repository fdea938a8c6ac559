"""Tables, strings, examples, samplers and images, the same program on TensorFlow and on Millrace."""

import json

import numpy as np
import pytest

from data_programs import PROGRAMS
from programs import PYTHONS, printed


@pytest.fixture(scope="module")
def both():
    return [json.loads(printed("data_programs.py", module)) for module in PYTHONS]


def agree(theirs, ours):
    if isinstance(theirs, list) and isinstance(ours, list):
        try:
            one, other = np.array(theirs, float), np.array(ours, float)
        except (TypeError, ValueError):
            return len(theirs) == len(ours) and all(map(agree, theirs, ours))
        return one.shape == other.shape and np.allclose(one, other, rtol=1e-4, atol=1e-4)
    if isinstance(theirs, float) and isinstance(ours, float):
        return np.isclose(theirs, ours, rtol=1e-4)
    return theirs == ours


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_two_agree(both, program):
    theirs, ours = (each[program] for each in both)
    assert theirs.keys() == ours.keys()
    differing = {
        key: (theirs[key], ours[key]) for key in theirs if not agree(theirs[key], ours[key])
    }
    assert differing == {}


def test_a_difference_is_seen():
    assert not agree([[1.0, 2.0]], [[1.0, 2.1]])
    assert not agree(["a", 1], ["a", 2])
    assert not agree("NotFoundError", [1.0])
