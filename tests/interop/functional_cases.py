"""Ops that call functions: branches, loops and calls. Their gradients are made by clients, for functions of their own."""

import numpy as np

from cases import Row, rows_of

BRANCHES = ["squared", "sine", "checked"]


def branch(m):
    return ("function", m.choice(BRANCHES))


def number(m):
    return m.values(m.shape(ranks=(0, 1, 2), most=3), -1 if m.one_in(4) else 0.2, 2)


def condition(m):
    """What decides: a scalar of any type; of a longer one, whether it has elements."""
    if m.one_in(4):
        return m.values(m.shape(ranks=(1,), most=2), dtype="float32")
    kind = m.choice(["bool", "bool", "int32", "int64", "float32", "float64", "string", "uint8"])
    return m.values((), 0, 1, kind)


def decided(m):
    attrs = {"Tout": ["float32"], "then_branch": branch(m), "else_branch": branch(m)}
    return {"cond": condition(m), "input": [number(m)]}, attrs


def chosen(m):
    branches = [branch(m) for _ in range(int(m.rng.integers(1, 4)))]
    index = m.integers(m.rng.integers(-1, len(branches) + 1))
    return {"branch_index": index, "input": [number(m)]}, {
        "Tout": ["float32"],
        "branches": branches,
    }


def repeated(m):
    functions = {
        "cond": ("function", m.choice(["has_turns", "is_small"])),
        "body": ("function", "turned"),
    }
    return {"input": [m.integers(m.rng.integers(0, 4)), number(m)]}, functions


def counted(m):
    """From one number to another; a step of nought is refused."""
    step = 0 if m.one_in(8) else m.choice([1, 2, -1])
    return {
        "start": m.integers(m.rng.integers(-2, 4)),
        "limit": m.integers(m.rng.integers(-2, 5)),
        "delta": m.integers(step),
        "input": [number(m)],
    }, {"body": ("function", "turned_down")}


def called(m):
    if m.one_in(2):
        return {"args": [number(m)]}, {"Tout": ["float32"], "f": branch(m)}
    one, other = m.broadcasting()
    if m.one_in(6):
        one, other = (2, 3), (4,)
    given = [m.values(one, 0.2, 2), m.values(other, 0.2, 2)]
    return {"args": given}, {"Tout": ["float32"] * 2, "f": ("function", "product")}


def called_there(m):
    inputs, attrs = called(m)
    device = m.choice([b"/cpu:0", b"/device:CPU:0"])
    return {"target": ("string", np.asarray(device, object)), **inputs}, attrs


def symbolic(m):
    """What comes back to the arguments, of what came to the results."""
    x = m.values(m.shape(ranks=(0, 1, 2), most=3), 0.2, 2)
    given = [x, m.values(x[1].shape)]
    return {"input": given}, {"Tout": ["float32"], "f": ("function", m.choice(["squared", "sine"]))}


def device(m):
    names = [m.choice(["CPU", "GPU", "TPU_REPLICATED_CORE"]) for _ in range(m.rng.integers(0, 4))]
    return {}, {"device_names": names}


TABLE = [
    *rows_of("If StatelessIf", ["float32"], decided),
    *rows_of("Case StatelessCase", ["float32"], chosen),
    *rows_of("While StatelessWhile", ["float32"], repeated),
    Row("For", ["float32"], counted),
    *rows_of("PartitionedCall StatefulPartitionedCall", ["float32"], called),
    Row("RemoteCall", ["float32"], called_there),
    Row("SymbolicGradient", ["float32"], symbolic),
    Row("DeviceIndex", ["int32"], device),
]

_PYTHON = "its function is known to the client that made it alone: composite_programs.py has them"

UNCOMPARED = {
    **{op: _PYTHON for op in ("EagerPyFunc", "PyFunc", "PyFuncStateless")},
    **{
        op: "it is about steps that run at once: test_client_batches.py has them"
        for op in ("Batch", "BatchFunction", "Unbatch", "UnbatchGrad")
    },
}
