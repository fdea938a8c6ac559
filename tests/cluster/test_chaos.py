"""A little chaos: five times a task of a training job is killed or stopped at random, and it goes on.

chaos.py by itself does so for as long as one likes.
"""

import random

import pytest

from chaos import MODES, Chaos


@pytest.mark.parametrize("mode", MODES)
def test_training_lives_through_killed_and_stopped_tasks(mode, tmp_path):
    # Printed, and told by a failure: the same seed strikes the same tasks.
    seed = random.SystemRandom().randrange(1 << 30)
    first, last = Chaos(tmp_path, mode, seed, strikes=5).run()
    assert last < first
