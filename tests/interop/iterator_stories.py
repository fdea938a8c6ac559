"""Stories of iterators of all kinds, and of what is asked of datasets and of their parts."""

from cases import stories_of
from dataset_stories import TYPES, Data, flag, int64, numbers, rows, walk, word


class Walk:
    """An iterator of a story, and what it gives."""

    def __init__(self, m, data, handle, after=()):
        self.m, self.handle, self.after = m, handle, list(after)
        self.attrs = {"output_types": data.types, "output_shapes": data.shapes}

    def call(self, verb, output=0, name="iterator", **told):
        return self.m.call(verb, {name: self.handle}, output, after=self.after, **told)

    def IteratorGetNext(self):
        self.call("IteratorGetNext", **self.attrs)

    def IteratorGetNextSync(self):
        self.call("IteratorGetNextSync", **self.attrs)

    def IteratorGetNextAsOptional(self):
        """What is there, or not: it is asked for in a step of its own."""
        optional = self.call("IteratorGetNextAsOptional", **self.attrs)
        self.m.call("OptionalHasValue", {"optional": optional})

    def IteratorToStringHandle(self):
        made = self.call("IteratorToStringHandle", name="resource_handle", hides=True)
        text = word(b"nobody") if self.m.one_in(6) else ("=", made[1], 0)
        version = self.m.choice(["", "V2"])
        attrs = {} if self.m.one_in(3) else dict(self.attrs)
        if attrs and self.m.one_in(8):
            attrs["output_types"] = ["int16"]
        given = {"string_handle": text}
        other = self.m.call(f"IteratorFromStringHandle{version}", given, hides=True, **attrs)
        self.m.call("IteratorGetNext", {"iterator": other}, **self.attrs)

    def IteratorGetDevice(self):
        self.call("IteratorGetDevice", name="resource", hides=True)

    def SerializeIterator(self):
        """What it has come to, which it goes on from."""
        policy = {} if self.m.one_in(2) else {"external_state_policy": self.m.choice([0, 1, 2])}
        kept = self.call("SerializeIterator", name="resource_handle", **policy)
        given = {"resource_handle": self.handle, "serialized": kept}
        self.m.call("DeserializeIterator", given)
        self.IteratorGetNext()


VERBS = ["IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional"]
OTHERS = ["IteratorToStringHandle", "IteratorGetDevice", "SerializeIterator"]
PAIRS = {
    "IteratorFromStringHandle": "IteratorToStringHandle",
    "IteratorFromStringHandleV2": "IteratorToStringHandle",
    "DeserializeIterator": "SerializeIterator",
}


def named_walk(m, op):
    """One that lasts: begun, or not yet, or twice."""
    data = m.choice([rows, numbers])(m)
    kind = op if op in ("Iterator", "IteratorV2") else m.choice(["Iterator", "IteratorV2"])
    attrs = {"output_types": data.types, "output_shapes": data.shapes}
    if m.one_in(12):
        attrs["output_types"] = ["int16"] * len(data.types)
    handle = m.call(kind, shared_name=m.choice(["i", "j"]), container="", **attrs)
    made = Walk(m, data, handle)
    if not m.one_in(6):
        m.call("MakeIterator", {"dataset": data.handle, "iterator": handle})
    if m.one_in(6):
        m.call("MakeIterator", {"dataset": data.handle, "iterator": handle})
    return made


def iterator_story(m, op):
    made = named_walk(m, op)
    verb = PAIRS.get(op, op)
    verbs = [m.choice(VERBS) for _ in range(int(m.rng.integers(0, 5)))]
    if verb in [*VERBS, *OTHERS]:
        verbs.append(verb)
    for each in [*verbs, m.choice(VERBS), "IteratorGetNext"]:
        getattr(made, each)()


def anonymous_story(m, op):
    """One without a name lives for a step, in which it is begun and asked."""
    data = m.choice([rows, numbers])(m)
    attrs = {"output_types": data.types, "output_shapes": data.shapes}
    kind = "AnonymousIteratorV2" if op == "DeleteIterator" else op
    handle = m.call(kind, **attrs)
    made = Walk(m, data, handle)
    if op == "DeleteIterator":
        m.call(op, {"handle": handle, "deleter": m.made(handle[1], 1)})
    if not m.one_in(6):
        m.call("MakeIterator", {"dataset": data.handle, "iterator": handle})
        made.after = [len(m.calls) - 1]
    for verb in VERBS[:2]:
        getattr(made, verb)()


def factory_story(m, op):
    """A function makes its dataset, once."""
    data = Data(m, None, ["int64"], [[]], 3)
    attrs = {"output_types": data.types, "output_shapes": data.shapes}
    handle = m.call(op, dataset_factory=("function", "below_three"), **attrs)
    made = Walk(m, data, handle)
    for _ in range(4):
        getattr(made, m.choice(VERBS))()


def options_story(m, op):
    """What was told to a dataset, and to those that it is made of.

    Fields of the message: whether order matters, and how many threads there are. Told twice, or in another
    order, they come as they were told here, and merged in TensorFlow.
    """
    data = rows(m)
    for told in (b"\x08\x01", b"\x2a\x02\x10\x03"):
        if m.one_in(2):
            data = data.then("OptionsDataset", serialized_options=told)
        if m.one_in(2):
            data = data.then("TakeDataset", {"count": int64(m, 2)})
    m.call(op, {"input_dataset": data.handle})


def element_story(m, op):
    data = m.choice([rows, numbers])(m)
    index = int64(m, m.rng.integers(-1 if m.one_in(8) else 0, data.size + 1))
    given = {"dataset": data.handle, "index": index}
    m.call(op, given, output_types=data.types, output_shapes=data.shapes)


def table_story(m, op):
    """A table is filled from a dataset of pairs. Of values alone TensorFlow ends the process."""
    one, other = numbers(m), numbers(m)
    types, shapes = ["int64", "int64"], [[], []]
    given = {"input_datasets": [one.handle, other.handle]}
    pairs = m.call("ZipDataset", given, output_types=types, output_shapes=shapes)
    table = m.call("HashTableV2", key_dtype="int64", value_dtype="int64", hides=True)
    handle = {"table_handle": table}
    m.call(op, {**handle, "dataset": pairs})
    if m.one_in(4):
        m.call(op, {**handle, "dataset": pairs})
    m.call("LookupTableSizeV2", handle)
    asked = {"keys": int64(m, [0, 1, 5]), "default_value": int64(m, -1)}
    m.call("LookupTableFindV2", {**handle, **asked})


def helper_story(m, op):
    """What datasets keep their elements in, or draw their seeds from, made for them or for nobody."""
    data = rows(m)
    if "Cache" in op:
        given = {"filename": word(b""), "cache": m.call(op)}
        return walk(data.then("CacheDatasetV2", given))
    seeds = {}
    if op == "AnonymousSeedGenerator":
        seeds = {"seed": int64(m, 3), "seed2": int64(m, 4), "reshuffle": flag(m)}
    given = {"buffer_size": int64(m, m.choice([2, 9])), "seed_generator": m.call(op, seeds)}
    # Without a seed the order is anybody's.
    if op == "AnonymousSeedGenerator":
        walk(data.then("ShuffleDatasetV2", given))


TABLE = [
    *stories_of("Iterator IteratorV2 MakeIterator", TYPES, iterator_story),
    *stories_of(" ".join([*VERBS, *OTHERS, *PAIRS]), TYPES, iterator_story),
    *stories_of(
        "AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3", TYPES, anonymous_story
    ),
    *stories_of("DeleteIterator", TYPES, anonymous_story),
    *stories_of("OneShotIterator", ["int64"], factory_story),
    *stories_of("GetOptions", TYPES, options_story),
    *stories_of("GetElementAtIndex", TYPES, element_story),
    *stories_of("InitializeTableFromDataset", ["int64"], table_story),
    *stories_of("AnonymousMemoryCache DummyMemoryCache", TYPES, helper_story),
    *stories_of("AnonymousSeedGenerator DummySeedGenerator", TYPES, helper_story),
]

NO_PAIRS = "of no pairs it tells that they are at an end, as if more had been asked for"

REASONS = {
    ("InitializeTableFromDataset", f"{call} in TensorFlow, values here"): NO_PAIRS
    for call in (
        "Dataset: OutOfRangeError",
        "Dataset: FailedPreconditionError",
        "FindV2: FailedPreconditionError",
    )
}
