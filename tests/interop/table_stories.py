"""Stories of hash tables: filled once, changed and dense ones, by references and by resources."""

import numpy as np

from cases import stories_of

NUMBERS = ["int32", "float32", "float64"]


def pairs(keys, values):
    return [(keys, value) for value in values]


# What TensorFlow's tables map to what.
CHANGED = pairs("string", ["bool", "int64", *NUMBERS]) + pairs("int32", NUMBERS)
CHANGED += pairs("int64", ["int64", "string", *NUMBERS])
FIXED = [*CHANGED, ("string", "string"), ("int32", "string")]
DENSE = [pair for pair in CHANGED if pair[1] != "string"] + [("int64", "bool")]

KINDS = {
    "HashTable": FIXED,
    "MutableHashTable": CHANGED,
    "MutableHashTableOfTensors": CHANGED,
    "MutableDenseHashTable": DENSE,
}


class Table:
    """A table that a story is about. Its types are those that the row's type chooses."""

    def __init__(self, m, kind, version, is_anonymous=False):
        self.m, self.kind, self.version = m, kind, version
        self.is_anonymous = is_anonymous
        pairs = KINDS[kind]
        self.key_type, self.value_type = pairs[int(m.dtype) % len(pairs)]
        self.holds = m.shape(ranks=(1,), least=1, most=3) if self.has_shape() else ()
        name = "Anonymous" + kind if is_anonymous else kind + version
        attrs = {"value_dtype": self.value_type}
        inputs = {}
        if self.has_shape():
            attrs["value_shape"] = list(self.holds)
        if kind == "MutableDenseHashTable":
            inputs = {"empty_key": self.special(0), "deleted_key": self.special(1)}
            attrs["initial_num_buckets"] = 7 if m.one_in(16) else int(m.choice([8, 4, 64]))
        else:
            attrs["key_dtype"] = self.key_type
        self.handle = m.call(name, inputs, hides=True, **attrs)

    def has_shape(self):
        is_dense = self.kind == "MutableDenseHashTable" and self.m.one_in(2)
        return is_dense or self.kind == "MutableHashTableOfTensors"

    def special(self, number):
        """A key that means something else: seldom twice the same."""
        number = 0 if self.m.one_in(24) else number
        if self.key_type == "string":
            return "string", np.asarray([b"none", b"gone"][number], object)
        return self.m.integers(-7 - number, self.key_type)

    def keys(self, count=None):
        m = self.m
        count = int(m.rng.integers(0, 5)) if count is None else count
        if self.key_type == "string":
            words = np.asarray([b"", b"a", b"bc", b"d", b"ef", b"g"], object)
            return "string", m.rng.permutation(words)[:count]
        return m.integers(m.rng.permutation(6)[:count] - 1, self.key_type)

    def values(self, count):
        is_wrong = self.m.one_in(16) and not self.is_anonymous
        shape = (*self.holds, 2) if is_wrong and self.m.one_in(2) else self.holds
        count += int(is_wrong and shape == self.holds)
        return self.m.values((count, *shape), dtype=self.value_type)

    def call(self, op, inputs=None, **told):
        given = {"table_handle": self.handle, **(inputs or {})}
        self.m.call(op + self.version, given, **told)

    def rows(self):
        keys = self.keys()
        # One that comes twice. A fixed table of TensorFlow keeps what came before it.
        if self.kind != "HashTable" and self.m.one_in(8) and len(keys[1]):
            keys = keys[0], np.concatenate([keys[1], keys[1][:1]])
        return {"keys": keys, "values": self.values(len(keys[1]))}

    def InitializeTable(self):
        self.call("InitializeTable", self.rows())

    def LookupTableInsert(self):
        self.call("LookupTableInsert", self.rows())

    def LookupTableImport(self):
        if self.kind == "MutableDenseHashTable":
            return  # it would want buckets as TensorFlow lays them out
        self.call("LookupTableImport", self.rows())

    def LookupTableFind(self):
        m = self.m
        keys = self.keys()
        if m.one_in(4):
            keys = keys[0], np.resize(keys[1], (2, 2)) if keys[1].size else keys[1]
        shape = (*self.holds, 1) if m.one_in(24) else self.holds
        default = m.values(shape, dtype="int16" if m.one_in(24) else self.value_type)
        self.call("LookupTableFind", {"keys": keys, "default_value": default})

    def LookupTableSize(self):
        self.call("LookupTableSize")

    def LookupTableRemove(self):
        self.call("LookupTableRemove", {"keys": self.keys()})

    def LookupTableExport(self):
        # Another type would break TensorFlow down.
        types = {"Tkeys": self.key_type, "Tvalues": self.value_type}
        # The order is what buckets say, and with that how they are laid out.
        self.call("LookupTableExport", hides=True, **types)


def table_story(m, op):
    """A table is asked before it holds anything, filled, asked, and told what it holds."""
    version = "V2" if op.endswith("V2") or "Remove" in op else ""
    name = op.removesuffix("V2")
    kinds = [*KINDS]
    if name == "InitializeTable":
        kinds = kinds[:1]
    elif name in ("LookupTableInsert", "LookupTableRemove"):
        kinds = kinds[1:] if not m.one_in(8) else kinds
    is_anonymous = name.startswith("Anonymous")
    kind = name.removeprefix("Anonymous")
    kind = kind if kind in KINDS else m.choice(kinds)
    if is_anonymous:
        version = "V2"
    if kind == "MutableDenseHashTable" and not is_anonymous:
        version = "V2"
    table = Table(m, kind, version, is_anonymous)
    if m.one_in(4):
        getattr(table, m.choice(["LookupTableFind", "LookupTableSize", "LookupTableExport"]))()
    fill = "InitializeTable" if kind == "HashTable" else "LookupTableInsert"
    getattr(table, fill)()
    if name.startswith("LookupTable") or m.one_in(3):
        getattr(table, name if name.startswith("LookupTable") else fill)()
    if m.one_in(4) and version and kind != "HashTable":
        table.LookupTableRemove()
    table.LookupTableFind()
    table.LookupTableSize()


def text_story(m, op):
    """A fixed table is filled from the lines of a file: with whole lines, columns or their numbers."""
    version = "V2" if op.endswith("V2") else ""
    delimiter = m.choice(["\t", " ", ","])
    count = int(m.rng.integers(1, 5))
    lines = [delimiter.join([f"k{i}", str(i * 3), f"w{i}"]) for i in range(count)]
    if m.one_in(8):
        lines.append("short")
    text = "\n".join(lines) + m.choice(["", "\n"])
    m.call("WriteFile", {"filename": word(b"t"), "contents": word(text.encode())})
    key_index, value_index = m.choice([(-2, -1), (0, 1), (-1, -2), (2, 1), (0, 2), (0, -1), (5, 1)])
    key_type = "int64" if key_index in (-1, 1) else "string"
    value_type = "int64" if value_index in (-1, 1) else "string"
    if m.one_in(16):
        value_type = "int64"
    types = {"key_dtype": key_type, "value_dtype": value_type}
    handle = m.call("HashTable" + version, hides=True, **types)
    attrs = {"key_index": key_index, "value_index": value_index, "delimiter": delimiter}
    attrs["vocab_size"] = int(m.choice([-1, -1, count, count + 1, 1]))
    if m.one_in(4):
        attrs["offset"] = 1
    name = word(b"none" if m.one_in(16) else b"t")
    m.call(op, {"table_handle": handle, "filename": name}, **attrs)
    m.call("LookupTableSize" + version, {"table_handle": handle})
    keys = m.integers([0, 1, 2, 9], "int64") if key_type == "int64" else words(m, lines)
    default = (
        ("string", np.asarray(b"?", object)) if value_type == "string" else m.integers(-1, "int64")
    )
    given = {"table_handle": handle, "keys": keys, "default_value": default}
    m.call("LookupTableFind" + version, given)


def word(value):
    return "string", np.asarray(value, object)


def words(m, lines):
    parts = [b"k0", b"k1", b"w1", b"w2", b"", *(line.encode() for line in lines)]
    return "string", np.asarray(parts, object)


def anonymous_story(m, op):
    """A table without a name lives for a step: it is filled and asked in one."""
    table = Table(m, op.removeprefix("Anonymous"), "V2", is_anonymous=True)
    fill = "InitializeTable" if op == "AnonymousHashTable" else "LookupTableInsert"
    getattr(table, fill)()
    begun = len(m.calls) - 1
    table.LookupTableFind()
    table.LookupTableSize()
    for call in m.calls[begun + 1 :]:
        call.after = [begun]


ACTS = "InitializeTable LookupTableFind LookupTableSize LookupTableInsert LookupTableImport"
PAIRS = [str(i) for i in range(len(FIXED))]  # the number of a pair of types


def both(names):
    return " ".join(f"{name} {name}V2" for name in names.split())


TABLE = [
    *stories_of(both("HashTable MutableHashTable MutableHashTableOfTensors"), PAIRS, table_story),
    *stories_of("MutableDenseHashTableV2", PAIRS, table_story),
    *stories_of(both(ACTS + " LookupTableExport"), PAIRS, table_story),
    *stories_of(both("InitializeTableFromTextFile"), ["string"], text_story),
    *stories_of("AnonymousHashTable AnonymousMutableHashTable", PAIRS, anonymous_story),
    *stories_of("AnonymousMutableHashTableOfTensors", PAIRS, anonymous_story),
    *stories_of("AnonymousMutableDenseHashTable", PAIRS, anonymous_story),
    *stories_of("LookupTableRemoveV2", PAIRS, table_story),
]

UNCOMPARED = {
    "MutableDenseHashTable": "TensorFlow's kernel asks for an input that the op's signature lacks"
}
