"""Optimizers as canned estimators are told them: by name, ready made, or by a function that makes one."""

from millrace._train.accumulating import AdagradOptimizer, FtrlOptimizer
from millrace._train.averaging import AdamOptimizer, RMSPropOptimizer
from millrace._train.descents import GradientDescentOptimizer
from millrace._train.optimizer import Optimizer

BY_NAME = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}


def chosen_optimizer(given, learning_rate):
    """The Optimizer that is meant.

    Args:
      given: an Optimizer, the name of one, or a function without arguments that gives one.
      learning_rate: of one that is named.

    Raises:
      ValueError: for another name, or what is no Optimizer.
    """
    if isinstance(given, str):
        if given not in BY_NAME:
            raise ValueError(
                f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(BY_NAME))}"
            )
        return BY_NAME[given](learning_rate=learning_rate)
    made = given() if callable(given) else given
    if not isinstance(made, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made
