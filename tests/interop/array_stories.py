"""Stories of what lives for one step: stacks and tensor arrays. Each call runs anew what it is made of."""

from cases import stories_of

TYPES = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8", "float64"]
TYPES += ["int32", "int8", "bfloat16", "complex128", "int16"]
NUMBERS = ["float32", "float64", "int32", "int64", "complex64"]


def stack_story(m, op):
    """A value is pushed and popped in one step; or a stack that is empty, closed or of another type."""
    version = "V2" if op.endswith("V2") else ""
    attrs = {"elem_type": m.dtype, "stack_name": m.choice(["", "s"])}
    if version:
        size = {"max_size": m.integers(m.choice([-1, 2, 3]))}
        handle = m.call("StackV2", size, **attrs)
    else:
        handle = m.call("Stack", hides=True, **attrs)
    pushes = []
    for _ in range(int(m.rng.integers(0, 4))):
        pushed = {"handle": handle, "elem": m.values()}
        swaps = bool(m.one_in(4))
        m.call("StackPush" + version, pushed, swap_memory=swaps, after=pushes)
        pushes = [len(m.calls) - 1]
    dtype = "float16" if m.one_in(16) else m.dtype
    m.call("StackPop" + version, {"handle": handle}, elem_type=dtype, after=pushes)
    if m.one_in(2):
        m.call("StackClose" + version, {"handle": handle}, after=pushes)
        pushes = [len(m.calls) - 1]
        m.call("StackPop" + version, {"handle": handle}, elem_type=m.dtype, after=pushes)


class Array:
    """A tensor array that a story is about."""

    def __init__(self, m, version):
        self.m, self.version = m, version
        self.size = int(m.rng.integers(1, 5))
        self.shape = m.shape(ranks=(0, 1, 2), most=3, least=0 if m.one_in(4) else 1)
        self.flow = None
        self.is_dynamic = bool(m.one_in(4))
        attrs = {"dtype": m.dtype, "dynamic_size": self.is_dynamic, "tensor_array_name": "ta"}
        attrs["clear_after_read"] = bool(m.one_in(2))
        if m.one_in(2):
            attrs["element_shape"] = m.choice([list(self.shape), [None] * len(self.shape)])
        if version == "V3" and m.one_in(4):
            attrs["identical_element_shapes"] = True
        size = {"size": m.integers(-1 if m.one_in(24) else self.size)}
        self.handle = m.call("TensorArray" + version, size, hides=version != "V3", **attrs)
        self.flow = m.made(0, 1) if version == "V3" else ("float32", self.zero())

    def zero(self):
        return self.m.values((), 0, 0, "float32")[1]

    def call(self, verb, inputs=None, changes=False, **attrs):
        m = self.m
        given = {"handle": self.handle, **(inputs or {}), "flow_in": self.flow}
        made = m.call(f"TensorArray{verb}{self.version}", given, **attrs)
        if changes:
            self.flow = made

    def value(self, rows=()):
        shape = (*self.shape, 2) if self.m.one_in(16) else self.shape
        return self.m.values((*rows, *shape))

    def index(self):
        beyond = self.m.one_in(16)
        return self.m.integers(self.size if beyond else self.m.rng.integers(self.size))

    def Write(self, index=None):
        index = self.index() if index is None else self.m.integers(index)
        self.call("Write", {"index": index, "value": self.value()}, changes=True)

    def Read(self, gradient=False):
        dtype = "int32" if self.m.one_in(16) else self.m.dtype
        self.call("Read", {"index": self.index()}, dtype=dtype, gradient=gradient)

    def indices(self, least=0):
        count = int(self.m.rng.integers(least, self.size + 1))
        drawn = self.m.rng.permutation(self.size)[:count]
        return self.m.integers(drawn + int(self.m.one_in(12)))

    def Scatter(self):
        indices = self.m.integers(self.m.rng.permutation(self.size))
        if self.m.one_in(6):
            indices = self.indices()
        rows = len(indices[1]) + int(self.m.one_in(16))
        given = {"indices": indices, "value": self.value((rows,))}
        self.call("Scatter", given, changes=True)

    def Gather(self, gradient=False):
        """Of no elements only where their shape is told: else TensorFlow's gives none, whatever it may know."""
        attrs = {"element_shape": list(self.shape)} if self.m.one_in(4) else {}
        given = {"indices": self.indices(0 if attrs else 1)}
        self.call("Gather", given, dtype=self.m.dtype, gradient=gradient, **attrs)

    def Split(self):
        lengths = self.m.rng.integers(0, 3, self.size)
        rows = int(lengths.sum()) + int(self.m.one_in(12))
        value = self.m.values((rows, *self.shape))
        self.call("Split", {"value": value, "lengths": self.m.integers(lengths, "int64")}, True)

    def Unpack(self):
        rows = self.size + int(self.m.one_in(8))
        self.call("Unpack", {"value": self.value((rows,))}, True)

    def Pack(self, gradient=False):
        attrs = {"element_shape": list(self.shape)} if self.m.one_in(4) else {}
        self.call("Pack", dtype=self.m.dtype, gradient=gradient, **attrs)

    def Concat(self, gradient=False):
        self.call("Concat", dtype=self.m.dtype, gradient=gradient)

    def Size(self):
        self.call("Size")

    def Close(self):
        self.m.call("TensorArrayClose" + self.version, {"handle": self.handle})


def filled(m, version, way):
    array = Array(m, version)
    if way == "Write":
        array.Write(0)
    else:
        getattr(array, way)()
    return array


def array_story(m, op):
    """An array is filled in one of three ways, then read in one of three ways."""
    version = op[-2:] if op[-2:] in ("V2", "V3") else ""
    verb = op.removesuffix(version).removeprefix("TensorArray")
    way = (
        verb if verb in ("Write", "Scatter", "Split", "Unpack") else m.choice(["Scatter", "Split"])
    )
    if verb == "Read" and m.one_in(2):
        way = "Write"
    array = filled(m, version, "Split" if verb == "Concat" and not m.one_in(4) else way)
    if way == "Write":
        for index in range(1, array.size - int(m.one_in(4))):
            array.Write(index)
    has_gradient = m.dtype in ("float32", "float64", "complex64") and version == "V3"
    if verb in ("Read", "Gather", "Concat", "Pack"):
        getattr(array, verb)(gradient=has_gradient)
    elif verb in ("Size", "Close"):
        getattr(array, verb)()
    else:
        array.Size()
        array.Gather(gradient=has_gradient)


def gradient_story(m, op):
    """The array of gradients by another, which adds what is written to one place."""
    version = "V2" if op.endswith("GradV2") else "V3" if not op.endswith("Grad") else ""
    array = filled(m, version, "Scatter")
    given = {"handle": array.handle, "flow_in": array.flow}
    attrs = {"source": m.choice(["g", "gradients"])}
    if op == "TensorArrayGradWithShape":
        given["shape_to_prepend"] = m.integers(m.shape(ranks=(0, 1), least=1))
    made = m.call(op, given, hides=version != "V3", **attrs)
    array.handle = made
    if version == "V3":
        array.flow = m.made(made[1], 1)
    array.Scatter()
    if m.one_in(2):
        array.Write()
    array.Size()
    array.Gather()


VERBS = "Write Read Scatter Gather Split Concat Size Close".split()


def names(version):
    return " ".join(f"TensorArray{verb}{version}" for verb in ["", *VERBS])


TABLE = [
    *stories_of("Stack StackV2 StackPush StackPushV2 StackPop StackPopV2", TYPES, stack_story),
    *stories_of("StackClose StackCloseV2", TYPES, stack_story),
    *[
        row
        for version in ("", "V2", "V3")
        for row in stories_of(names(version), TYPES, array_story)
    ],
    *stories_of("TensorArrayPack TensorArrayUnpack", TYPES, array_story),
    *stories_of("TensorArrayGrad TensorArrayGradV2", NUMBERS, gradient_story),
    *stories_of("TensorArrayGradV3 TensorArrayGradWithShape", NUMBERS, gradient_story),
]

GATHERS = ["TensorArrayPack", *("TensorArrayGather" + version for version in ("", "V2", "V3"))]

REASONS = {
    **{
        (row.op, f"{gather}: values in TensorFlow, InvalidArgumentError here"): (
            "it packs elements of several shapes if the first is empty"
        )
        for row in TABLE
        for gather in GATHERS
        if row.op.startswith("TensorArray") and "Grad" not in row.op
    },
    **{
        (row.op, f"{gather}: InvalidArgumentError in TensorFlow, values here"): (
            "it has no zeros of strings for elements that were not written"
        )
        for row in TABLE
        for gather in GATHERS
        if row.op.startswith("TensorArrayWrite")
    },
    ("TensorArrayGradV3", "V3: InvalidArgumentError in TensorFlow, values here"): (
        "of no elements it asks when a graph is made whether they fit, and never in a step"
    ),
}
