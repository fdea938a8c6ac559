"""Models of feature columns, the same program on TensorFlow and on Millrace: names and numbers agree, and
each goes on with the other's checkpoint."""

import json

import numpy as np
import pytest

from column_programs import PROGRAMS
from programs import PYTHONS, printed


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    # The first is run once more when it finds what the second has left.
    order = ["tensorflow", "millrace", "tensorflow"]
    assert set(order) == set(PYTHONS)
    return {module: json.loads(printed("column_programs.py", module, folder)) for module in order}


def assert_alike(theirs, ours, path):
    if isinstance(theirs, dict):
        assert theirs.keys() == ours.keys(), path
        for key in theirs:
            assert_alike(theirs[key], ours[key], f"{path} {key}")
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(theirs) == len(ours), (path, theirs, ours)
        for number, pair in enumerate(zip(theirs, ours)):
            assert_alike(*pair, f"{path} {number}")
    elif isinstance(theirs, float):
        assert np.isclose(ours, theirs, rtol=1e-5, atol=1e-6), (path, theirs, ours)
    else:
        assert theirs == ours, path


@pytest.mark.parametrize("program", [program.__name__ for program in PROGRAMS])
def test_names_and_numbers_agree(both, program):
    assert_alike(both["tensorflow"][program], both["millrace"][program], program)


def test_each_loads_what_the_other_has_trained(both):
    for module in PYTHONS:
        assert_alike(both["tensorflow"]["trained"]["given"], both[module]["loaded"], module)


def test_a_canned_estimator_is_served_by_tensorflow(tmp_path):
    ours = json.loads(printed("estimator_program.py", "millrace", tmp_path).splitlines()[-1])
    theirs = json.loads(printed("estimator_program.py", "tensorflow", tmp_path).splitlines()[-1])
    assert_alike(ours["asked"], ours["served"], "millrace")
    assert_alike(ours["asked"], theirs["served"], "tensorflow")
    assert set(ours["asked"]["classes"]) == {"no", "maybe", "yes"}
