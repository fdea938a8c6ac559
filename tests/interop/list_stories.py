"""Stories of values that hold tensors: lists, maps and optionals."""

from cases import FLOATS, stories_of

TYPES = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8", "float64"]
TYPES += ["int32", "int8", "bfloat16", "complex128", "int16", "uint16"]
KEYS = ["string", "int64", "int32", "float32", "float64", "bool", "int8"]
WITH_GRADIENTS = [*FLOATS[:2], "complex64"]


class List:
    """A list that a story is about, and what it is made of."""

    def __init__(self, m):
        self.m = m
        self.shape = m.shape(ranks=(0, 1, 2), most=3, least=0 if m.one_in(4) else 1)
        self.handle, self.length = None, int(m.rng.integers(0, 5))
        self.is_split = False  # pieces differ in their first axis

    def is_smooth(self):
        return self.m.dtype in WITH_GRADIENTS

    def declared(self, dtype=None):
        """The shape of elements as an input: all of it, a part, or nothing; seldom another."""
        m = self.m
        dtype = dtype or m.choice(["int32", "int64"])
        if m.one_in(24):
            return m.integers([7, *self.shape], dtype)
        if m.one_in(4):
            return m.integers(-1, dtype)
        shape = [-1 if m.one_in(4) else dim for dim in self.shape]
        return m.integers([-1, *shape[1:]] if self.is_split else shape, dtype)

    def dtype(self):
        return "int16" if self.m.one_in(20) else self.m.dtype

    def value(self, rows=()):
        shape = (*self.shape, 2) if self.m.one_in(24) else self.shape
        return self.m.values((*rows, *shape))

    def call(self, op, inputs, changes=False, **told):
        made = self.m.call("TensorList" + op, inputs, **told)
        if changes:
            self.handle = made

    def on(self, op, inputs, changes=False, **told):
        self.call(op, {"input_handle": self.handle, **inputs}, changes, **told)

    # How it begins.

    def Empty(self):
        most = self.m.integers(self.m.choice([-1, 2, 5]))
        given = {"element_shape": self.declared(), "max_num_elements": most}
        self.handle = self.m.call("EmptyTensorList", given, element_dtype=self.m.dtype)
        for _ in range(self.length):
            self.PushBack()

    def Reserve(self):
        count = self.m.integers(-1 if self.m.one_in(16) else self.length)
        given = {"element_shape": self.declared(), "num_elements": count}
        self.call("Reserve", given, True, element_dtype=self.m.dtype)
        if self.m.one_in(2):
            for index in range(self.length):
                self.SetItem(index)

    def FromTensor(self):
        given = {"tensor": self.value((self.length,)), "element_shape": self.declared()}
        self.call("FromTensor", given, True)

    def Split(self):
        lengths = self.m.rng.integers(0, 3, self.length)
        rows = int(lengths.sum()) + int(self.m.one_in(12))
        given = {"tensor": self.m.values((rows, *self.shape))}
        self.shape, self.is_split = (2, *self.shape), True
        lengths = self.m.integers(lengths, "int64")
        self.call("Split", {**given, "element_shape": self.declared(), "lengths": lengths}, True)

    def scattered(self, beyond=-1):
        indices = self.m.rng.permutation(max(self.length, 1))[: self.length]
        indices = indices + beyond * int(self.m.one_in(16))
        rows = self.length + int(self.m.one_in(16))
        return {"tensor": self.value((rows,)), "indices": self.m.integers(indices)}

    def Scatter(self):
        self.call("Scatter", {**self.scattered(), "element_shape": self.declared()}, True)

    def ScatterV2(self):
        count = self.m.integers(self.m.choice([-1, self.length, 6, 1]))
        given = {**self.scattered(), "element_shape": self.declared(), "num_elements": count}
        self.call("ScatterV2", given, True)

    # What changes it.

    def PushBack(self):
        self.on("PushBack", {"tensor": self.value()}, True)

    def SetItem(self, index=None):
        resizes = {"resize_if_index_out_of_bounds": True} if self.m.one_in(4) else {}
        # TensorFlow breaks down on an index below the first that it is to make room for.
        least = 0 if resizes else -1
        at = self.m.rng.integers(least, self.length + 1) if index is None else index
        given = {"index": self.m.integers(at), "item": self.value()}
        self.on("SetItem", given, True, **resizes)

    def Resize(self):
        self.on("Resize", {"size": self.m.integers(self.m.rng.integers(-1, 6))}, True)

    def ScatterIntoExistingList(self):
        # TensorFlow writes below the first, and lets elements of other shapes in and breaks down on them.
        given = self.scattered(beyond=1)
        given["tensor"] = self.m.values((self.length, *self.shape))
        self.on("ScatterIntoExistingList", given, True)

    def ConcatLists(self):
        given = {"input_a": self.handle, "input_b": self.handle}
        self.call("ConcatLists", given, True, element_dtype=self.dtype())

    # What reads it.

    def read(self, op, inputs, **attrs):
        given = {**inputs, "element_shape": self.declared("int32")}
        attrs |= {"element_dtype": self.dtype()}
        self.on(op, given, gradient=self.is_smooth(), **attrs)

    def PopBack(self):
        given = {"element_shape": self.declared("int32")}
        self.on("PopBack", given, output=1, element_dtype=self.dtype())
        self.handle = self.m.made(len(self.m.calls) - 1, 0)

    def GetItem(self):
        at = int(self.m.rng.integers(0, max(self.length, 1)))
        at = self.m.choice([-1, self.length]) if self.m.one_in(12) else at
        self.read("GetItem", {"index": self.m.integers(at)})

    def Stack(self):
        attrs = {"num_elements": int(self.m.choice([-1, self.length]))} if self.m.one_in(2) else {}
        self.read("Stack", {}, **attrs)

    def Gather(self):
        count = int(self.m.rng.integers(0, 4)) if self.length else 0
        indices = self.m.rng.integers(0, max(self.length, 1), count) + int(self.m.one_in(12))
        self.read("Gather", {"indices": self.m.integers(indices)})

    def Length(self):
        self.on("Length", {})

    def ElementShape(self):
        self.on("ElementShape", {}, shape_type=self.m.choice(["int32", "int64"]))

    def Concat(self):
        attrs = {"element_dtype": self.dtype()}
        if self.m.one_in(2):
            attrs["element_shape"] = [None, *self.shape[1:]] if self.shape else None
        self.on("Concat", {}, gradient=self.is_smooth(), **attrs)

    def ConcatV2(self):
        leading = self.m.integers([] if self.m.one_in(2) else [2] * self.length, "int64")
        self.read("ConcatV2", {"leading_dims": leading})


STARTS = "Empty Reserve FromTensor FromTensor Split Scatter ScatterV2".split()
CHANGES = "PushBack SetItem Resize ScatterIntoExistingList ConcatLists".split()
READS = "PopBack GetItem Stack Gather Length ElementShape Concat ConcatV2".split()


def list_story(m, op):
    """A list is begun in one way, changed and read."""
    verb = op.removeprefix("TensorList").removesuffix("TensorList")
    made = List(m)
    start = verb if verb in STARTS else m.choice(STARTS)
    if verb.startswith("Concat") and verb != "ConcatLists" and not m.one_in(4):
        start = "Split"
    getattr(made, start)()
    if verb in CHANGES:
        getattr(made, verb)()
    elif m.one_in(3):
        getattr(made, m.choice(CHANGES))()
    getattr(made, verb if verb in READS else m.choice(["Stack", "GetItem"]))()
    made.Length()


def batch_story(m, op):
    """Several lists in one tensor each get a row."""
    # TensorFlow packs no single one.
    rows, shape = int(m.rng.integers(2, 4)), m.shape(ranks=(0, 1), least=1)
    lists = []
    for _ in range(rows):
        declared = m.integers(shape if not m.one_in(8) else [9])
        given = {"element_shape": declared, "max_num_elements": m.integers(-1)}
        lists.append(m.call("EmptyTensorList", given, element_dtype=m.dtype))
    handles = m.call("Pack", {"values": lists})
    value = m.values((rows + int(m.one_in(8)), *shape))
    handles = m.call(op, {"input_handles": handles, "tensor": value})
    if m.one_in(2):
        handles = m.call(op, {"input_handles": handles, "tensor": m.values((rows, *shape))})
    m.call("Unpack", {"value": handles}, num=rows)
    one = m.made(len(m.calls) - 1, int(m.rng.integers(rows)))
    given = {"input_handle": one, "element_shape": m.integers(shape)}
    m.call("TensorListStack", given, element_dtype=m.dtype, gradient=m.dtype in WITH_GRADIENTS)


def map_story(m, op):
    """Keys are put in, found, taken out; some that are not there."""
    key_type, verb = m.choice(KEYS), op.removeprefix("TensorMap")
    keys = [m.values((), 0, 4, key_type) for _ in range(int(m.rng.integers(1, 4)))]
    handle = m.call("EmptyTensorMap")
    for key in keys:
        given = {"input_handle": handle, "key": key, "value": m.values()}
        handle = m.call("TensorMapInsert", given)
    key = m.values((), 0, 4, key_type) if m.one_in(4) else m.choice(keys)
    given = {"input_handle": handle, "key": key}
    if verb == "Erase" or m.one_in(4):
        handle = m.call("TensorMapErase", given, value_dtype=m.dtype)
        given = {**given, "input_handle": handle}
    m.call("TensorMapHasKey", given)
    dtype = "int16" if m.one_in(20) else m.dtype
    m.call("TensorMapLookup", given, value_dtype=dtype, gradient=m.dtype in WITH_GRADIENTS)
    if verb == "StackKeys" or m.one_in(4):
        dtype = "int16" if m.one_in(20) else key_type
        # They come in an order that each run of TensorFlow chooses.
        hides = len(keys) > 1
        m.call("TensorMapStackKeys", {"input_handle": handle}, key_dtype=dtype, hides=hides)
    m.call("TensorMapSize", {"input_handle": handle})


def optional_story(m, op):
    """An optional with a value, or without, is asked for what it holds."""
    parts = [m.values(), m.values((), dtype="int64")][: int(m.rng.integers(1, 3))]
    is_none = op == "OptionalNone" or op != "OptionalFromValue" and m.one_in(4)
    if is_none:
        optional = m.call("OptionalNone")
    else:
        optional = m.call("OptionalFromValue", {"components": parts})
    m.call("OptionalHasValue", {"optional": optional})
    shapes = [[None] * value.ndim if m.one_in(2) else list(value.shape) for _, value in parts]
    types = [dtype for dtype, _ in parts]
    if m.one_in(12):
        shapes[0] = [7, *shapes[0]]
    if m.one_in(12):
        types[0] = "int16"
    smooth = m.dtype in WITH_GRADIENTS and not is_none
    given = {"optional": optional}
    m.call("OptionalGetValue", given, output_types=types, output_shapes=shapes, gradient=smooth)


def names(verbs):
    return " ".join(f"TensorList{verb}" for verb in dict.fromkeys(verbs) if verb != "Empty")


MAPS = "EmptyTensorMap TensorMapInsert TensorMapErase TensorMapHasKey TensorMapLookup"
MAPS += " TensorMapStackKeys TensorMapSize"

TABLE = [
    *stories_of("EmptyTensorList " + names([*STARTS, *CHANGES, *READS]), TYPES, list_story),
    *stories_of("TensorListPushBackBatch", TYPES, batch_story),
    *stories_of(MAPS, TYPES, map_story),
    *stories_of("OptionalFromValue OptionalNone OptionalHasValue", TYPES, optional_story),
    *stories_of("OptionalGetValue", TYPES, optional_story),
]

# In stories of any op.
BROKEN = "TensorListConcat: InvalidArgumentError in TensorFlow, values here"
REASONS = {(row.op, BROKEN): "it takes elements of rank 1 for unknown ones" for row in TABLE}
