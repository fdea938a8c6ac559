"""Stories of control flow: switches and merges."""

import numpy as np

from cases import ANY, stories_of


def switch_story(m, op):
    """A value goes one of two ways, which meet again."""
    value = m.values()
    pred = ("bool", np.asarray(bool(m.one_in(2))))
    m.call("Switch", {"data": value, "pred": pred}, hides=True)
    ways = [m.made(0, 0), m.made(0, 1)]
    m.call("Merge", {"inputs": ways if m.one_in(2) else ways[::-1]})


def bool_story(m, op):
    m.call(op, {"input": m.values()})


TABLE = [
    *stories_of("Switch Merge", [*ANY, "float64", "int32", "bfloat16"], switch_story),
    *stories_of("ToBool", [kind for kind in ANY if kind != "complex64"], bool_story),
]
