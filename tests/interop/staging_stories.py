"""Stories of staging areas, with and without keys, and of barriers."""

import numpy as np

from cases import stories_of

TYPES = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8", "float64"]
TYPES += ["int32", "int8", "bfloat16", "complex128"]


class Area:
    """What all ops of an area must be told alike, and how much is in it."""

    def __init__(self, m, prefix, capacity):
        self.m, self.prefix, self.size = m, prefix, 0
        self.types = [m.dtype, "int64"] if m.one_in(2) else [m.dtype]
        self.attrs = {"shared_name": "s", "dtypes": self.types}
        if capacity and m.one_in(3):
            self.attrs["capacity"] = capacity
        if m.one_in(8):
            self.attrs["memory_limit"] = 4000

    def call(self, op, inputs=None, **told):
        self.m.call(self.prefix + op, inputs or {}, **{**self.attrs, **told})

    def values(self):
        return [self.m.values(dtype=dtype) for dtype in self.types]


def stage_story(m, op):
    """Elements go in and come out in turn; some are looked at; the area is emptied.

    Never more than there are: TensorFlow's areas wait whatever the step's patience.
    """
    area = Area(m, "", 4)
    stage = {key: value for key, value in area.attrs.items() if key != "dtypes"}
    count = int(m.rng.integers(1, 4))
    for _ in range(count):
        m.call("Stage", {"values": area.values()}, **stage)
    area.call("StageSize")
    if m.one_in(2) or op == "StagePeek":
        area.call("StagePeek", {"index": m.integers(m.rng.integers(count))})
    for _ in range(int(m.rng.integers(1, count + 1))):
        area.call("Unstage")
    if m.one_in(4) or op == "StageClear":
        area.call("StageClear")
        area.call("StageSize")
    m.call("Stage", {"values": area.values()}, **stage)
    area.call("StageSize")


def keyed_story(m, op):
    """Parts of elements go in under keys; whole ones come out by key, or the first there is."""
    prefix = "OrderedMap" if op.startswith("Ordered") else "Map"
    area = Area(m, prefix, 5)
    verb = op.removeprefix(prefix)
    every = [*range(len(area.types))]
    keys = [int(key) for key in m.rng.permutation(5)[: m.rng.integers(2, 4)]]
    for key in keys:
        stage(m, area, key, every)
    if len(every) > 1 and m.one_in(2):
        stage(m, area, 8, [int(m.rng.integers(2))])
    area.call("Size")
    area.call("IncompleteSize")
    if verb == "Stage" and m.one_in(4):
        stage(m, area, m.choice([keys[0], 9]), every)
    which = m.choice([every, [0]])
    given = {"key": m.integers(keys[0], "int64"), "indices": m.integers(which)}
    taken = [area.types[i] for i in which]
    if verb == "Peek" or m.one_in(3):
        area.call("Peek", given, dtypes=taken)
    if verb != "UnstageNoKey":
        area.call("Unstage", given, dtypes=taken)
    else:
        # Which key a map without an order gives is open.
        indices = {"indices": m.integers(every)}
        area.call("UnstageNoKey", indices, hides=prefix == "Map")
    if verb == "Clear" or m.one_in(4):
        area.call("Clear")
    area.call("Size")
    area.call("IncompleteSize")


def stage(m, area, key, which):
    values = [m.values(dtype=area.types[i]) for i in which]
    given = {"key": m.integers(key, "int64"), "indices": m.integers(which), "values": values}
    area.call("Stage", given)


def barrier_story(m, op):
    """Components of elements come one by one; whole elements are taken in the order of their keys."""
    shape = m.shape(ranks=(0, 1), least=1)
    types = [m.dtype, "int64"] if not m.one_in(4) else [m.dtype]
    attrs = {"component_types": types}
    if not m.one_in(16):
        attrs["shapes"] = [list(shape), []][: len(types)]
    handle = m.call("Barrier", hides=True, **attrs)
    on = {"handle": handle}
    names = np.asarray([b"a", b"b", b"c", b"d"], object)
    for index in range(len(types)):
        keys = m.rng.permutation(names)[: m.rng.integers(1, 5)]
        rows = len(keys) + int(m.one_in(24))
        rest = shape if index == 0 else ()
        values = m.values((rows, *rest), dtype=types[index])
        given = {**on, "keys": ("string", keys), "values": values}
        m.call("BarrierInsertMany", given, component_index=3 if m.one_in(24) else index)
        m.call("BarrierReadySize", on)
    m.call("BarrierIncompleteSize", on)
    taken = {"component_types": types, "waits": True, "allow_small_batch": bool(m.one_in(2))}
    # One that gives up waiting loses what it has, in TensorFlow.
    number = m.integers(1)
    is_closed = op == "BarrierClose" or m.one_in(3)
    if is_closed:
        m.call("BarrierClose", on, cancel_pending_enqueues=bool(m.one_in(3)))
        number = m.integers(m.choice([1, 2, 9]))
        values = m.values((1, *shape))
        given = {**on, "keys": ("string", m.rng.permutation(names)[:1]), "values": values}
        m.call("BarrierInsertMany", given, component_index=0)
    given = {**on, "num_elements": number}
    m.call("BarrierTakeMany", given, wait_for_incomplete=bool(m.one_in(4)), **taken)


KEYED = "Stage Peek Unstage UnstageNoKey Clear Size IncompleteSize".split()
BARRIERS = "Barrier BarrierInsertMany BarrierTakeMany BarrierClose BarrierReadySize"

TABLE = [
    *stories_of("Stage Unstage StagePeek StageSize StageClear", TYPES, stage_story),
    *stories_of(" ".join(f"Map{verb}" for verb in KEYED), TYPES, keyed_story),
    *stories_of(" ".join(f"OrderedMap{verb}" for verb in KEYED), TYPES, keyed_story),
    *stories_of(BARRIERS + " BarrierIncompleteSize", TYPES, barrier_story),
]

REASONS = {
    (op, "BarrierTakeMany: output"): "what became ready by one call leaves in the order of its heap"
    for op in [*BARRIERS.split(), "BarrierIncompleteSize"]
}
