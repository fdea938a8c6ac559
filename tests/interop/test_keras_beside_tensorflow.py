"""Models of tf.keras, the same program on TensorFlow and on Millrace: training gives the same numbers."""

import json

import numpy as np
import pytest

from keras_programs import PROGRAMS
from programs import PYTHONS, printed
from tasks import DEADLINE


@pytest.fixture(scope="module")
def both():
    return [
        json.loads(printed("keras_programs.py", module, deadline=4 * DEADLINE))
        for module in PYTHONS
    ]


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_the_numbers_agree(both, program):
    theirs, ours = (each[program] for each in both)
    assert theirs.keys() == ours.keys()
    for name, wanted in theirs.items():
        assert np.allclose(ours[name], wanted, rtol=2e-4, atol=1e-5), (name, wanted, ours[name])
    assert theirs["loss"][0] != theirs["loss"][-1]
