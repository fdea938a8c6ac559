"""Layers, nets, metrics, losses and optimizers of tf.keras, with the same weights and inputs, give what TensorFlow's give."""

import json

import numpy as np
import pytest

from programs import PYTHONS, printed
from tasks import DEADLINE


@pytest.mark.parametrize(
    "program",
    [
        "keras_cell_programs.py",
        "keras_layer_programs.py",
        "keras_metric_programs.py",
        "keras_net_programs.py",
        "keras_optimizer_programs.py",
    ],
)
def test_everything_gives_the_same_numbers(program):
    theirs, ours = (
        json.loads(printed(program, module, deadline=12 * DEADLINE)) for module in PYTHONS
    )
    assert theirs.keys() == ours.keys() and len(theirs) > 6
    for name, wanted in theirs.items():
        assert np.shape(ours[name]) == np.shape(wanted), name
        assert np.allclose(ours[name], wanted, rtol=2e-4, atol=1e-5), name
