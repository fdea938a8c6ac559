"""Stories of queues, of all kinds, by references (the first version of the ops) and by resources."""

import numpy as np

from cases import stories_of

TYPES = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8", "float64"]
TYPES += ["int32", "int8", "bfloat16", "complex128", "int16", "uint16"]
KINDS = ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"]


class Queue:
    """A queue that a story is about, and how much is in it, so that few of its calls wait."""

    def __init__(self, m, kind, version):
        self.m, self.kind, self.version = m, kind, version
        # TensorFlow breaks down on many elements without a value.
        self.shape = m.shape(ranks=(0, 1, 2), most=3, least=1)
        self.knows_shape = kind != "FIFOQueue" or m.one_in(2)
        self.capacity = int(m.choice([-1, 4, 6, 20]))
        self.size, self.least, self.is_closed = 0, 0, False
        self.types = [m.dtype, "int64"] if m.one_in(3) else [m.dtype]
        self.handle = m.call(kind + version, hides=True, **self.attrs())
        if kind == "PriorityQueue":
            self.types = ["int64", *self.types]

    def attrs(self):
        made = {"component_types": self.types, "capacity": self.capacity}
        if self.kind == "PaddingFIFOQueue" or self.knows_shape:
            made["shapes"] = [self.declared(), []][: len(self.types)]
        if self.kind == "PriorityQueue" and "shapes" not in made:
            made["shapes"] = []
        if self.kind == "RandomShuffleQueue":
            self.least = int(self.m.choice([0, 0, 2]))
            made |= {"seed": int(self.m.rng.integers(1, 9)), "seed2": 3}
            made["min_after_dequeue"] = self.least
        return made

    def declared(self):
        if self.kind == "PaddingFIFOQueue":
            return [None if self.m.one_in(2) else dim for dim in self.shape]
        return list(self.shape)

    def call(self, op, inputs=None, **attrs):
        name = op + self.version
        return self.m.call(name, {"handle": self.handle, **(inputs or {})}, **attrs)

    def element(self, rows=()):
        """(components, whether they fit): wrong in about one of ten."""
        m = self.m
        fits, is_whole = not m.one_in(16), not m.one_in(20) or len(self.types) == 1
        shape = self.shape if fits else (*self.shape, 2)
        made = []
        for i, dtype in enumerate(self.types):
            is_first = i == self.types.index(m.dtype) and (self.kind != "PriorityQueue" or i > 0)
            made.append(m.values((*rows, *shape) if is_first else rows, dtype=dtype))
        if self.kind == "PriorityQueue":  # equal ones leave in no order there
            numbers = m.rng.choice(1000, rows, replace=False) if rows else m.rng.integers(1000)
            made[0] = "int64", np.asarray(numbers, "int64")
        return (made, fits) if is_whole else (made[:-1], False)

    def waits_for(self, more):
        if self.is_closed or self.capacity < 0:
            return False
        return self.size + more > self.capacity

    def QueueEnqueue(self):
        waits = self.waits_for(1)
        if waits and not self.m.one_in(8):
            return
        components, fits = self.element()
        self.call("QueueEnqueue", {"components": components}, waits=True)
        self.size += fits and not waits and not self.is_closed

    def QueueEnqueueMany(self):
        rows = int(self.m.rng.integers(0, 4))
        waits = self.waits_for(rows)
        if waits and not self.m.one_in(8):
            return
        components, fits = self.element((rows,))
        self.call("QueueEnqueueMany", {"components": components}, waits=True)
        if fits and not self.is_closed:
            self.size = self.capacity if waits else self.size + rows

    def taken_types(self):
        return ["int32", *self.types[1:]] if self.m.one_in(16) else self.types

    def there(self):
        """How many can be taken at once."""
        return max(0, self.size - (0 if self.is_closed else self.least))

    def QueueDequeue(self):
        if not self.there() and not self.m.one_in(8):
            return
        self.call("QueueDequeue", component_types=self.taken_types(), waits=True)
        self.size -= self.there() > 0

    def number(self):
        n = int(self.m.rng.integers(0, self.there() + 1))
        # One that waits and gives up loses what it has taken, in TensorFlow; and so does one of a closed queue
        # with priorities that asks for too many.
        wrong = 9 if self.is_closed and self.kind != "PriorityQueue" else -1
        return self.m.integers(wrong if self.m.one_in(16) else n)

    def QueueDequeueMany(self, op="QueueDequeueMany"):
        n = self.number()
        self.call(op, {"n": n}, component_types=self.taken_types(), waits=True)
        self.size = max(0, self.size - max(0, int(n[1])))

    def QueueDequeueUpTo(self):
        self.QueueDequeueMany("QueueDequeueUpTo")

    def QueueSize(self):
        self.call("QueueSize")

    def QueueIsClosed(self):
        self.call("QueueIsClosed")

    def QueueClose(self):
        self.call("QueueClose", cancel_pending_enqueues=bool(self.m.one_in(2)))
        self.is_closed = True


MOST_USED = ["QueueEnqueue", "QueueEnqueueMany", "QueueEnqueueMany"]
TAKERS = ["QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo"]


def queue_story(m, op):
    version = "V2" if op.endswith("V2") else ""
    name = op.removesuffix("V2")
    queue = Queue(m, name if name in KINDS else m.choice(KINDS), version)
    for _ in range(int(m.rng.integers(1, 5))):
        getattr(queue, m.choice(MOST_USED))()
    if name not in KINDS:
        getattr(queue, name)()
    for _ in range(int(m.rng.integers(0, 4))):
        getattr(queue, m.choice([*MOST_USED, *TAKERS, "QueueSize", "QueueIsClosed"]))()
    if m.one_in(3):
        queue.QueueClose()
        getattr(queue, m.choice(MOST_USED))()
    for taker in m.rng.permutation(TAKERS):
        getattr(queue, taker)()
    queue.QueueSize()


def fake_story(m):
    """A queue of one version is filled by the ops of the other."""
    queue = Queue(m, m.choice(KINDS), "V2")
    queue.QueueEnqueueMany()
    queue.handle, queue.version = m.call("FakeQueue", {"resource": queue.handle}, hides=True), ""
    queue.QueueEnqueue()
    queue.QueueSize()
    queue.QueueDequeue()


def both(names):
    return " ".join(f"{name} {name}V2" for name in names)


ACTS = ["QueueEnqueue", "QueueEnqueueMany", *TAKERS, "QueueSize", "QueueIsClosed", "QueueClose"]

TABLE = [
    *stories_of(both(KINDS), TYPES, queue_story),
    *stories_of(both(ACTS), TYPES, queue_story),
    *stories_of("FakeQueue", TYPES, lambda m, op: fake_story(m)),
]
