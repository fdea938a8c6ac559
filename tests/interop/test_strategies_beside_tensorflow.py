"""What replicas of a strategy train and bring together is what TensorFlow's do."""

import json

from programs import printed
from tasks import DEADLINE
from test_training_beside_tensorflow import differences


def test_replicas_do_what_tensorflows_do():
    theirs, ours = (
        json.loads(printed("strategy_programs.py", module, deadline=4 * DEADLINE))
        for module in ("tensorflow", "millrace")
    )
    assert theirs.keys() == ours.keys()
    for program in theirs:
        assert list(differences(theirs[program], ours[program])) == [], program
