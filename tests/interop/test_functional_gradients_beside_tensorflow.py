"""Graphs with functions, imported by our client: their values and gradients are TensorFlow's."""

import json

import numpy as np
import pytest

from functional_programs import FEEDS
from programs import printed
from tasks import DEADLINE


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    # TensorFlow's graphs first: the other imports them.
    folder = tmp_path_factory.mktemp("graphs")
    return [
        json.loads(printed("functional_programs.py", module, folder, deadline=4 * DEADLINE))
        for module in ("tensorflow", "millrace")
    ]


@pytest.mark.parametrize("name", FEEDS)
def test_values_and_gradients_agree(both, name):
    theirs, ours = (each[name] for each in both)
    assert len(theirs) == len(ours) == len(FEEDS[name])
    for feed, wanted, found in zip(FEEDS[name], theirs, ours):
        for a, b in zip(wanted, found, strict=True):
            assert np.allclose(a, b, rtol=1e-5, atol=1e-6), (feed, wanted, found)
