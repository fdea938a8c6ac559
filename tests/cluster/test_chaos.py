"""A short time of chaos: tasks of a training job are killed and stopped at random, and it goes on.

chaos.py by itself does so for as long as one likes.
"""

import random

import pytest

from chaos import MODES, Chaos


@pytest.mark.parametrize("mode", MODES)
def test_training_lives_through_killed_and_stopped_tasks(mode, tmp_path):
    # Printed, and told by a failure: chaos.py --seed repeats it.
    seed = random.SystemRandom().randrange(1 << 30)
    first, last = Chaos(tmp_path, mode, seconds=5.0, seed=seed).run()
    assert last < first
