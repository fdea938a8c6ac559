"""Stories of what is written for people: values as they go by, text into a file, conditions that must hold."""

import numpy as np

from cases import ANY, StoryRow, stories_of


def text(value):
    return "string", np.asarray(value, object)


def values(m):
    return [m.values(dtype=m.choice(ANY)) for _ in range(int(m.rng.integers(0, 3)))]


def print_story(m):
    """What it prints goes to the process; what goes by is compared."""
    attrs = {"message": m.choice(["", "seen: "]), "summarize": int(m.choice([-1, 0, 3]))}
    attrs["first_n"] = int(m.choice([-1, 0, 1]))
    given = m.call("Print", {"input": m.values(), "data": values(m)}, **attrs)
    m.call("Identity", {"input": given})


def line_story(m):
    """Lines go into one file, one behind the other."""
    name = b"f" if not m.one_in(8) else b"none/f"
    for _ in range(int(m.rng.integers(1, 4))):
        line = text(m.choice([b"", b"one", b"two words", b"a\nb"]))
        if m.one_in(8):
            line = text([b"one"])
        ends = {"end": m.choice(["", "\n", "."])} if m.one_in(2) else {}
        m.call("PrintV2", {"input": line}, output_stream=f"file://{name.decode()}", **ends)
    m.call("ReadFile", {"filename": text(name)})


def assert_story(m):
    """A condition holds, or does not; now and then it is no scalar."""
    holds = np.asarray(not m.one_in(3))
    if m.one_in(12):
        holds = holds.reshape(1)
    m.call("Assert", {"condition": ("bool", holds), "data": values(m)}, summarize=3)


def time_story(m):
    m.call("Timestamp", hides=True)


TABLE = [
    StoryRow("Print", ANY, print_story),
    StoryRow("PrintV2", ["string"], line_story),
    StoryRow("Assert", ANY, assert_story),
    *stories_of("Timestamp", ["float64"], lambda m, op: time_story(m)),
]
