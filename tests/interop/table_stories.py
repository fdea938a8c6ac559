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
        shape = (*self.holds, 2) if self.m.one_in(24) else self.holds
        return self.m.values((count + int(self.m.one_in(24)), *shape), dtype=self.value_type)

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


ACTS = "InitializeTable LookupTableFind LookupTableSize LookupTableInsert LookupTableImport"
PAIRS = [str(i) for i in range(len(FIXED))]  # the number of a pair of types


def both(names):
    return " ".join(f"{name} {name}V2" for name in names.split())


TABLE = [
    *stories_of(both("HashTable MutableHashTable MutableHashTableOfTensors"), PAIRS, table_story),
    *stories_of("MutableDenseHashTableV2", PAIRS, table_story),
    *stories_of(both(ACTS + " LookupTableExport"), PAIRS, table_story),
    *stories_of("LookupTableRemoveV2", PAIRS, table_story),
]
