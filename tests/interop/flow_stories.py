"""Stories of control flow: switches and merges, frames and their loops, and nodes that only come before others."""

import numpy as np

from cases import ANY, stories_of

KINDS = [*ANY, "float64", "int32", "bfloat16"]
NUMBERS = ["float32", "int32", "int64", "float64", "complex64", "uint8", "bfloat16"]


def flag(m):
    return bool(m.one_in(2))


def switch_story(m, op):
    """A value goes one of two ways, which meet again."""
    value = m.values()
    pred = ("bool", np.asarray(bool(m.one_in(2))))
    m.call("Switch", {"data": value, "pred": pred}, hides=True)
    ways = [m.made(0, 0), m.made(0, 1)]
    m.call("Merge", {"inputs": ways if m.one_in(2) else ways[::-1]})


def bool_story(m, op):
    m.call(op, {"input": m.values()})


def order_story(m, op):
    """A variable is read behind a node that runs after it was assigned; or behind none."""
    variable = m.call("VarHandleOp", shared_name="v", dtype=m.dtype, shape=[], hides=True)
    m.call("AssignVariableOp", {"resource": variable, "value": m.values(())})
    assigned = len(m.calls) - 1
    m.call(op, after=[assigned] if not m.one_in(6) else [])
    m.call("ReadVariableOp", {"resource": variable}, dtype=m.dtype, after=[len(m.calls) - 1])


# --- frames ---


class Frame:
    """A loop that a story is about: of a number that is counted, and of values."""

    def __init__(self, m, name, prefix="", outer=None):
        self.m, self.prefix, self.outer = m, prefix, outer
        self.told = {"frame_name": name, "is_part": True}
        if m.one_in(2):
            self.told["parallel_iterations"] = int(m.choice([1, 2, 30]))

    def enter(self, value, op="Enter", **told):
        return self.m.call(op, {"data": value}, **self.told, **told)

    def fixed(self, value):
        """The same in each turn, also of the loop around."""
        value = self.outer.fixed(value) if self.outer else value
        return self.enter(value, is_constant=True)

    def part(self, op, inputs, output=0, **told):
        return self.m.call(op, inputs, output, is_part=True, **told)

    def begin(self, value, op=""):
        """(Merge, what it gives) of a variable of the loop."""
        entered = self.enter(value, op + "Enter")
        merged = self.part(op + "Merge", {"inputs": [entered, entered]})
        return merged[1], merged

    def run(self, first, limit, values, body):
        """The values that leave: `body` is given the number and the values, and gives the latter."""
        ops = ["", *[self.prefix] * len(values)]
        begun = [self.begin(value, op) for value, op in zip([first, *values], ops)]
        bound, one = self.fixed(limit), self.fixed(self.m.integers(1))
        verb = self.m.choice(["Less", "Less", "LessEqual", "NotEqual"])
        going = self.part(verb, {"x": begun[0][1], "y": bound})
        going = self.part("LoopCond", {"input": going})
        parted = [
            self.part(op + "Switch", {"data": merged, "pred": going})
            for op, (_, merged) in zip(ops, begun)
        ]
        inside = [self.m.made(call, 1) for _, call, _ in parted]
        following = [self.part("AddV2", {"x": inside[0], "y": one}), *body(*inside)]
        for op, (merge, _), value in zip(ops, begun, following):
            self.part(op + "NextIteration", {"data": value}, closes=merge)
        return [self.m.made(call, 0) for _, call, _ in parted]

    def leave(self, value, op="", **told):
        return self.m.call(op + "Exit", {"data": value}, **told)


def turns(m):
    """(where counting begins, where it ends): seldom more than a few turns."""
    return m.integers(m.rng.integers(0, 3)), m.integers(3)


def loop_story(m, op):
    """Values change from turn to turn, also by a loop inside, or by a division by what is nought then."""
    first, limit = turns(m)
    frame = Frame(m, "outer")
    fixed = frame.fixed(m.values(()))
    divides = m.dtype in ("int32", "int64") and m.one_in(4)
    nests = m.one_in(3)

    def body(i, value):
        if divides:
            left = frame.part("Sub", {"x": i, "y": frame.fixed(m.integers(2))})
            left = frame.part("Cast", {"x": left}, DstT=m.dtype)
            return [frame.part("FloorDiv", {"x": value, "y": left})]
        if not nests:
            return [frame.part(m.choice(["AddV2", "Mul", "Sub"]), {"x": value, "y": fixed})]
        inner = Frame(m, "inner", outer=frame)
        around = inner.fixed(m.values(()))
        twice = inner.run(
            i, m.integers(3), [value], lambda _, x: [inner.part("Sub", {"x": x, "y": around})]
        )
        return [inner.leave(twice[1], is_part=True)]

    left = frame.run(first, limit, [m.values(m.shape(ranks=(0, 1)))], body)
    for value in left:
        frame.leave(value)


def ref_story(m, op):
    """A variable itself goes round, and is read when it has left; or goes one of two ways."""
    shape = m.shape(ranks=(0, 1))
    attrs = {"shape": list(shape), "dtype": m.dtype, "shared_name": "v"}
    variable = m.call("VariableV2", is_part=True, **attrs)
    if not m.one_in(8):
        m.call("Assign", {"ref": variable, "value": m.values(shape)})
    if op in ("RefSwitch", "RefMerge") or m.one_in(4):
        pred = ("bool", np.asarray(flag(m)))
        parted = m.call("RefSwitch", {"data": variable, "pred": pred}, is_part=True)
        ways = [parted, m.made(parted[1], 1)]
        m.call("RefMerge", {"inputs": ways if flag(m) else ways[::-1]})
        return
    frame = Frame(m, "round", "Ref")
    left = frame.run(*turns(m), [variable], lambda _, ref: [ref])
    frame.leave(left[1], "Ref")
    frame.leave(left[0])


LOOPS = "Enter Exit NextIteration LoopCond"
REFS = "RefEnter RefExit RefNextIteration RefSwitch RefMerge"

TABLE = [
    *stories_of("Switch Merge", KINDS, switch_story),
    *stories_of("ToBool", [kind for kind in ANY if kind != "complex64"], bool_story),
    *stories_of("NoOp ControlTrigger", KINDS, order_story),
    *stories_of(LOOPS, NUMBERS, loop_story),
    *stories_of(REFS, KINDS, ref_story),
]

_PRIVATE = "private: made where a graph is rewritten or cut into parts, and by no client"

UNCOMPARED = {op: _PRIVATE for op in "_SwitchN _Send _Recv _HostSend _HostRecv".split()}
UNCOMPARED |= {op: _PRIVATE for op in ("_FusedMatMul", "_FusedConv2D")}
_GROUP = "it is about a group of devices, which a session on one device is not"
_KINDS = "AllToAllV2 BcastRecv BcastRecvV2 BcastSend BcastSendV2 Gather GatherV2 Reduce ReduceV2"

UNCOMPARED |= {f"Collective{kind}": _GROUP for kind in f"{_KINDS} ReduceScatterV2".split()}
UNCOMPARED |= {op: "it is about two devices, by name" for op in ("Send", "Recv")}
UNCOMPARED["GatherTree"] = "TensorFlow 2 no longer has it"
