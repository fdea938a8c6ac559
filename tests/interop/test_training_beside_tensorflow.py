"""Gradients and optimizers, the same program on TensorFlow and on Millrace: the numbers agree."""

import json

import numpy as np
import pytest

from programs import PYTHONS, printed
from tasks import DEADLINE
from training_programs import PROGRAMS

# What TensorFlow has no gradient of second order for: SoftsignGrad.
ONE_SIDED = {("softsign", 1)}


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("training_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


def differences(theirs, ours, path=()):
    """Where the two disagree, as lines."""
    if isinstance(theirs, dict):
        assert theirs.keys() == ours.keys()
        for key in theirs:
            yield from differences(theirs[key], ours[key], (*path, key))
    elif theirs is None or ours is None:
        if theirs is not ours and path not in ONE_SIDED:
            yield f"{path}: {theirs} in TensorFlow, {ours} here"
    elif isinstance(theirs, list) and any(
        isinstance(each, (list, str)) or each is None for each in theirs
    ):
        assert len(theirs) == len(ours), path
        for i, (one, other) in enumerate(zip(theirs, ours)):
            yield from differences(one, other, (*path, i))
    elif isinstance(theirs, str):
        if theirs != ours:
            yield f"{path}: {theirs} in TensorFlow, {ours} here"
    elif not np.allclose(theirs, ours, rtol=1e-5, atol=1e-6):
        yield f"{path}: {theirs} in TensorFlow, {ours} here"


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_numbers_agree(both, program):
    theirs, ours = both
    assert list(differences(theirs[program], ours[program])) == []


def test_a_difference_is_seen():
    assert list(differences({"a": [[1.0, 2.0]]}, {"a": [[1.0, 2.1]]}))
    assert list(differences({"a": [None]}, {"a": [[1.0]]}))
    assert list(differences({"a": ["w/Adam"]}, {"a": ["w/Adam_1"]}))
