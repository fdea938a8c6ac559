"""Stories of control flow: switches and merges, frames, and calls of functions."""

import numpy as np

from cases import ANY, stories_of


def named(name):
    return ("function", name)


def switch_story(m, op):
    """A value goes one of two ways, which meet again."""
    value = m.values()
    pred = ("bool", np.asarray(bool(m.one_in(2))))
    m.call("Switch", {"data": value, "pred": pred}, hides=True)
    ways = [m.made(0, 0), m.made(0, 1)]
    m.call("Merge", {"inputs": ways if m.one_in(2) else ways[::-1]})


def frame_story(m, op):
    """A value goes into a frame and out of it."""
    told = {"frame_name": "f", "is_constant": bool(m.one_in(2)), "hides": True}
    inside = m.call("Enter", {"data": m.values()}, **told)
    m.call("Exit", {"data": inside})


def bool_story(m, op):
    m.call(op, {"input": m.values()})


def call_story(m, op):
    """Functions of two numbers are called, chosen, or called again and again."""
    x = m.values((2,), -2, 2, "float32")
    told = {"gradient": not m.one_in(4)}
    if op.endswith("While"):
        told = {"cond": named("is_small"), "body": named("grown")}
        return m.call(op, {"input": [x]}, **told)
    told["Tout"] = ["float32"]
    one, other = named(m.choice(["squared", "sine", "grown"])), named("sine")
    if op.endswith("If"):
        cond = ("bool", np.asarray(bool(m.one_in(2)))) if m.one_in(2) else m.integers(m.one_in(2))
        return m.call(op, {"cond": cond, "input": [x]}, then_branch=one, else_branch=other, **told)
    if op.endswith("Case"):
        index = m.integers(m.rng.integers(-1, 4))
        given = {"branch_index": index, "input": [x]}
        return m.call(op, given, branches=[one, other, named("grown")], **told)
    m.call(op, {"args": [x]}, f=one, **told)


CALLS = "If StatelessIf Case StatelessCase While StatelessWhile PartitionedCall"

TABLE = [
    *stories_of("Switch Merge", [*ANY, "float64", "int32", "bfloat16"], switch_story),
    *stories_of("Enter Exit", [*ANY, "float64", "int32", "bfloat16"], frame_story),
    *stories_of("ToBool", [kind for kind in ANY if kind != "complex64"], bool_story),
    *stories_of(CALLS + " StatefulPartitionedCall", ["float32"], call_story),
]
