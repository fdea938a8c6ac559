"""How the copies of a variable are kept alike: names that programs give to tf.get_variable."""

import enum


class VariableSynchronization(enum.Enum):
    """When the copies that a strategy makes of a variable are brought together. ON_READ is not trained."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """What becomes of the copies that a strategy makes of a variable when they are brought together."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3


def is_trained(trainable, synchronization):
    """Whether a variable is trained of which `trainable` (None for what follows) is said.

    Raises:
      ValueError: if it is to be trained, and is ON_READ.
    """
    on_read = synchronization == VariableSynchronization.ON_READ
    if on_read and trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for "
            "non-trainable variables. You have specified trainable=True and "
            "synchronization=VariableSynchronization.ON_READ."
        )
    return not on_read if trainable is None else trainable
