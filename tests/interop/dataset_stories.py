"""Stories of datasets: one is made, an iterator walks along it, and takes elements till after the end.

UNCOMPARED tells why some ops are not there, among them the first version of several.
"""

import numpy as np

from cases import stories_of
from file_stories import damaged, record

TYPES = ["float32", "int64", "string", "bool", "complex64", "float16", "uint8", "float64"]
TYPES += ["int32", "bfloat16", "int8"]


class Data:
    """A dataset of a story, and what its elements are."""

    def __init__(self, m, handle, types, shapes, size):
        self.m, self.handle, self.types, self.shapes, self.size = m, handle, types, shapes, size

    def then(self, op, inputs=None, types=None, shapes=None, source="input_dataset", **told):
        """The dataset that an op makes of this one."""
        types, shapes = types or self.types, self.shapes if shapes is None else shapes
        attrs = {"output_types": types, "output_shapes": shapes, **told}
        attrs = {key: value for key, value in attrs.items() if value is not None}
        given = {source: self.handle, **(inputs or {})}
        return Data(self.m, self.m.call(op, given, **attrs), types, shapes, self.size)

    def batched(self):
        return [[None, *shape] for shape in self.shapes]


def int64(m, value):
    return m.integers(value, "int64")


def flag(m, value=None):
    return "bool", np.asarray(bool(m.one_in(2)) if value is None else value)


def word(value):
    return "string", np.asarray(value, object)


def numbers(m, size=None):
    size = int(m.rng.integers(0, 7)) if size is None else size
    given = {"start": int64(m, 0), "stop": int64(m, size), "step": int64(m, 1)}
    attrs = {"output_types": ["int64"], "output_shapes": [[]]}
    return Data(m, m.call("RangeDataset", given, **attrs), ["int64"], [[]], size)


def rows(m, size=None, least=0):
    """The rows of one tensor of the story's type, or of two."""
    size = int(m.rng.integers(0, 7)) if size is None else size
    shapes = [list(m.shape(ranks=(0, 1, 2), most=2, least=least))]
    parts = [m.values((size, *shapes[0]))]
    if m.one_in(2):
        parts.append(m.values((size,), dtype="int64"))
        shapes.append([])
    handle = m.call("TensorSliceDataset", {"components": parts}, output_shapes=shapes)
    return Data(m, handle, [dtype for dtype, _ in parts], shapes, size)


def walk(data, most=9):
    """Elements, and one more than there are."""
    m = data.m
    attrs = {"output_types": data.types, "output_shapes": data.shapes}
    iterator = m.call("IteratorV2", shared_name="", container="", **attrs)
    m.call("MakeIterator", {"dataset": data.handle, "iterator": iterator})
    for _ in range(most):
        m.call("IteratorGetNext", {"iterator": iterator}, **attrs)


def source_story(m, op):
    if op == "RangeDataset":
        start, stop, step = (int(n) for n in m.rng.integers(-3, 6, 3))
        given = {"start": int64(m, start), "stop": int64(m, stop), "step": int64(m, step)}
        dtype = m.dtype if m.dtype in ("int32", "float32", "float64") else "int64"
        attrs = {"output_types": [dtype], "output_shapes": [[]]}
        return walk(Data(m, m.call(op, given, **attrs), [dtype], [[]], 0))
    if op == "TensorSliceDataset":
        return walk(rows(m))
    parts = [m.values(), m.values()][: int(m.rng.integers(1, 3))]
    shapes = [list(value.shape) for _, value in parts]
    handle = m.call(op, {"components": parts}, output_shapes=shapes)
    walk(Data(m, handle, [dtype for dtype, _ in parts], shapes, 1), 2)


def counted_story(m, op):
    """Take, Skip, Repeat and Shard: so many of the elements."""
    data = rows(m)
    if op == "ShardDataset":
        given = {
            "num_shards": int64(m, m.rng.integers(0, 4)),
            "index": int64(m, m.rng.integers(-1, 3)),
        }
        return walk(data.then(op, given, require_non_empty=bool(m.one_in(4))))
    count = m.rng.integers(-1, 4) if op == "RepeatDataset" else m.rng.integers(-2, 8)
    walk(data.then(op, {"count": int64(m, count)}))


def batch_story(m, op):
    data = rows(m) if m.one_in(2) else numbers(m)
    given = {"batch_size": int64(m, m.rng.integers(0, 5))}
    told = {"shapes": data.batched()}
    given["drop_remainder"] = flag(m)
    if op == "ParallelBatchDataset":
        given["num_parallel_calls"] = int64(m, m.choice([1, 2, -1]))
        told["deterministic"] = "true"
    walk(data.then(op, given, **told), 7)


def padded_story(m, op):
    """Elements of several lengths are padded to the longest, or to a length that is asked for."""
    data = numbers(m, int(m.rng.integers(0, 6)))
    if m.one_in(2):
        data = rows(m)
    shapes = [
        m.integers([m.choice([-1, 3]) if m.one_in(2) else dim for dim in shape], "int64")
        for shape in data.shapes
    ]
    padding = [m.values((), dtype=dtype) for dtype in data.types]
    given = {"batch_size": int64(m, m.rng.integers(1, 4)), "padded_shapes": shapes}
    given["padding_values"] = padding
    given["drop_remainder"] = flag(m)
    outer = [[None] * (len(shape) + 1) for shape in data.shapes]
    # The types are those of what pads.
    made = data.m.call(op, {"input_dataset": data.handle, **given}, output_shapes=outer)
    walk(Data(m, made, data.types, outer, 0), 5)


def window_story(m, op):
    """Windows are datasets: what they hold is read one window after the other."""
    data = numbers(m)
    given = {
        name: int64(m, m.rng.integers(least, 4))
        for name, least in (("size", 1 if not m.one_in(8) else 0), ("shift", 1), ("stride", 1))
    }
    windows = data.then(op, {**given, "drop_remainder": flag(m)}, types=["variant"], shapes=[[]])
    flat = windows.then(
        "FlatMapDataset", {"other_arguments": []}, ["int64"], [[]], f=("function", "window_itself")
    )
    walk(flat, 12)


def shuffle_story(m, op):
    data = rows(m)
    given = {"buffer_size": int64(m, m.choice([1, 2, 3, 10, 0 if m.one_in(4) else 4]))}
    told = {}
    seeds = [int64(m, m.rng.integers(1, 9)), int64(m, m.rng.integers(0, 9))]
    if op != "ShuffleDatasetV2":
        given |= {"seed": seeds[0], "seed2": seeds[1]}
        told["reshuffle_each_iteration"] = bool(m.one_in(2))
    if "Repeat" in op:
        given["count"] = int64(m, m.rng.integers(0, 3))
    if op.endswith(("V2", "V3")):
        seeded = {"seed": seeds[0], "seed2": seeds[1], "reshuffle": flag(m)}
        given["seed_generator"] = m.call("AnonymousSeedGenerator", seeded)
    walk(data.then(op, given, **told), 13)


def passing_story(m, op):
    """What lets elements through as they are."""
    data = rows(m)
    given, told = {}, {}
    if op == "PrefetchDataset":
        given = {"buffer_size": int64(m, m.rng.integers(-2, 4))}
    elif op == "CacheDataset":
        given = {"filename": word(b"")}
    elif op == "CacheDatasetV2":
        given = {"filename": word(b""), "cache": m.call("AnonymousMemoryCache")}
    elif op == "OptimizeDataset":
        given = {"optimizations": word([])}
    elif op == "OptimizeDatasetV2":
        given = {f"optimizations_{kind}": word([]) for kind in ("enabled", "disabled", "default")}
    elif op == "RewriteDataset":
        given = {"rewrite_name": word(b"none" if m.one_in(8) else b"")}
    elif op.endswith("StatsDataset"):
        given = {"tag": word(b"t")}
    elif op.endswith("AssertNextDataset"):
        given = {"transformations": word([])}
    elif op == "OptionsDataset":
        told = {"serialized_options": b""}
    elif op.endswith("MaxIntraOpParallelismDataset"):
        given = {"max_intra_op_parallelism": int64(m, m.rng.integers(-1, 3))}
    elif op.endswith("PrivateThreadPoolDataset"):
        given = {"num_threads": int64(m, m.rng.integers(-1, 3))}
    elif op == "AssertCardinalityDataset":
        given = {"cardinality": int64(m, data.size + int(m.rng.integers(-1, 2)))}
    walk(data.then(op, given, **told))


def wrapped_story(m, op):
    """A dataset in a variant of its own, and as it was; here the two are the same."""
    data = rows(m)
    for verb in ("WrapDatasetVariant", "UnwrapDatasetVariant"):
        data.handle = m.call(verb, {"input_handle": data.handle})
    walk(data)


def joined_story(m, op):
    one = rows(m)
    if op == "ConcatenateDataset":
        parts = [m.values((2, *one.shapes[0]), dtype=one.types[0])]
        parts += [m.values((2,), dtype="int64")] * (len(one.types) - 1)
        other = m.call("TensorSliceDataset", {"components": parts}, output_shapes=one.shapes)
        return walk(one.then(op, {"another_dataset": other}))
    other = numbers(m)
    types, shapes = [*one.types, *other.types], [*one.shapes, *other.shapes]
    given = {"input_datasets": [one.handle, other.handle]}
    handle = m.call(op, given, output_types=types, output_shapes=shapes)
    walk(Data(m, handle, types, shapes, 0))


def directed_story(m, op):
    """Another dataset tells from which of several each element comes."""
    picks = m.values((int(m.rng.integers(0, 7)),), 0, 2 if m.one_in(6) else 1, "int64")
    selector = m.call("TensorSliceDataset", {"components": [picks]}, output_shapes=[[]])
    datasets = [numbers(m), numbers(m)]
    given = {"selector_input_dataset": selector}
    given["data_input_datasets"] = [data.handle for data in datasets]
    told = {"stop_on_empty_dataset": bool(m.one_in(2))} if op[0] == "D" else {}
    attrs = {"output_types": ["int64"], "output_shapes": [[]]}
    handle = m.call(op, given, **attrs, **told)
    walk(Data(m, handle, ["int64"], [[]], 0))


def pairs_of(data, size):
    given = {"batch_size": int64(data.m, size), "drop_remainder": flag(data.m)}
    return data.then("BatchDatasetV2", given, shapes=data.batched())


def unbatch_story(m, op):
    data = rows(m, least=1)  # TensorFlow breaks down on elements without a value
    batched = pairs_of(data, 2)
    walk(batched.then(op, shapes=data.shapes))


def rebatch_story(m, op):
    data = numbers(m)
    batched = pairs_of(data, 3)
    sizes = int64(m, m.rng.integers(1 if not m.one_in(8) else 0, 4, int(m.rng.integers(1, 3))))
    walk(batched.then(op, {"batch_sizes": sizes, "drop_remainder": flag(m)}, shapes=[[None]]))


def unique_story(m, op):
    m.dtype = m.choice(["int32", "int64", "string"])
    value = m.values((int(m.rng.integers(0, 8)),))
    handle = m.call("TensorSliceDataset", {"components": [value]}, output_shapes=[[]])
    walk(Data(m, handle, [m.dtype], [[]], 0).then(op))


def random_story(m, op):
    given = {"seed": int64(m, m.rng.integers(1, 9)), "seed2": int64(m, m.rng.integers(0, 9))}
    attrs = {"output_types": ["int64"], "output_shapes": [[]]}
    if op.endswith("V2"):
        given["seed_generator"] = m.call("AnonymousSeedGenerator", {**given, "reshuffle": flag(m)})
    walk(Data(m, m.call(op, given, **attrs), ["int64"], [[]], 0), 5)


def asked_story(m, op):
    """How many elements there are; the one there is; the one at a place."""
    data = m.choice([rows, numbers])(m)
    if m.one_in(3):
        data = data.then("RepeatDataset", {"count": int64(m, m.rng.integers(-1, 3))})
    if op.endswith("Cardinality"):
        return m.call(op, {"input_dataset": data.handle})
    if op == "DatasetToSingleElement":
        data = data.then("TakeDataset", {"count": int64(m, 1 if not m.one_in(3) else 2)})
        given = {"dataset": data.handle}
    m.call(op, given, output_types=data.types, output_shapes=data.shapes)


def files_story(m, op):
    """Lines, or records of one length, of files that are written before."""
    text = m.choice([b"", b"one\ntwo\n", b"a\r\nb", b"\n\n", b"abcdefghij"])
    m.call("WriteFile", {"filename": word(b"f"), "contents": word(text)})
    m.call("WriteFile", {"filename": word(b"g"), "contents": word(b"last one")})
    names = word([b"f", b"g"] if not m.one_in(8) else [b"f", b"none"])
    kind = word(b"" if not m.one_in(8) else b"ODD")
    given = {"filenames": names, "buffer_size": int64(m, m.choice([0, 1, 100]))}
    if op.startswith("Fixed"):
        # All of a length that records fit into.
        m.calls[0].inputs["contents"] = word(b"abcdefghij")
        sizes = m.choice([(0, 0), (1, 1), (2, 0), (0, 2)])
        given |= {"header_bytes": int64(m, sizes[0]), "footer_bytes": int64(m, sizes[1])}
        given["record_bytes"] = int64(m, 0 if m.one_in(8) else m.choice([1, 2]))
    if not op.startswith("Fixed") or op.endswith("V2"):
        given["compression_type"] = kind
    if op.startswith("TFRecord"):
        for call in m.calls:
            lines = call.inputs["contents"][1].item().split(b"\n")
            whole = b"".join(record(line) for line in lines)
            call.inputs["contents"] = word(damaged(m, whole))
    walk(Data(m, m.call(op, given), ["string"], [[]], 0), 12)


RARER = ["NonSerializableDataset", "BytesProducedStatsDataset", "LatencyStatsDataset"]
RARER += [f"Experimental{op}" for op in RARER]
RARER += [
    f"Experimental{op}Dataset"
    for op in ("AssertNext", "MaxIntraOpParallelism", "PrivateThreadPool")
]

TABLE = [
    *stories_of("RangeDataset TensorDataset TensorSliceDataset", TYPES, source_story),
    *stories_of("TakeDataset SkipDataset RepeatDataset ShardDataset", TYPES, counted_story),
    *stories_of("BatchDatasetV2 ParallelBatchDataset", TYPES, batch_story),
    *stories_of("PaddedBatchDatasetV2", TYPES, padded_story),
    *stories_of("WindowDataset", ["int64"], window_story),
    *stories_of("ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3", TYPES, shuffle_story),
    *stories_of("ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2", TYPES, shuffle_story),
    *stories_of("PrefetchDataset CacheDataset CacheDatasetV2", TYPES, passing_story),
    *stories_of("AssertCardinalityDataset OptionsDataset ModelDataset", TYPES, passing_story),
    *stories_of("MaxIntraOpParallelismDataset PrivateThreadPoolDataset", TYPES, passing_story),
    *stories_of("IgnoreErrorsDataset FinalizeDataset", TYPES, passing_story),
    *stories_of("ExperimentalIgnoreErrorsDataset OptimizeDataset", TYPES, passing_story),
    *stories_of("OptimizeDatasetV2 RewriteDataset AssertNextDataset", TYPES, passing_story),
    *stories_of(" ".join(RARER), TYPES, passing_story),
    *stories_of("UnwrapDatasetVariant WrapDatasetVariant", TYPES, wrapped_story),
    *stories_of("ConcatenateDataset ZipDataset", TYPES, joined_story),
    *stories_of("DirectedInterleaveDataset", ["int64"], directed_story),
    *stories_of("ExperimentalDirectedInterleaveDataset", ["int64"], directed_story),
    *stories_of("UnbatchDataset ExperimentalUnbatchDataset", TYPES, unbatch_story),
    *stories_of("RebatchDatasetV2", ["int64"], rebatch_story),
    *stories_of("UniqueDataset ExperimentalUniqueDataset", ["int64"], unique_story),
    *stories_of("RandomDataset RandomDatasetV2", ["int64"], random_story),
    *stories_of("DatasetCardinality ExperimentalDatasetCardinality", TYPES, asked_story),
    *stories_of("DatasetToSingleElement", TYPES, asked_story),
    *stories_of("TextLineDataset TFRecordDataset", ["string"], files_story),
    *stories_of("FixedLengthRecordDatasetV2", ["string"], files_story),
]

REASONS = {
    **{
        ("TFRecordDataset", f"in TensorFlow, {code}Error here"): (
            "what is packed in a way that it does not know it reads as if it were not packed"
        )
        for code in ("InvalidArgument", "FailedPrecondition")
    },
    **{
        (op, "IteratorGetNext: NotFoundError in TensorFlow, OutOfRange"): (
            "it tells of a file that is not there for ever"
        )
        for op in ("FixedLengthRecordDatasetV2", "TextLineDataset", "TFRecordDataset")
    },
    **{
        (op, f"{call}: values in TensorFlow, InvalidArgumentError here"): (
            "it makes batches of no elements without end"
        )
        for op in ("RebatchDataset", "RebatchDatasetV2")
        for call in (op, "MakeIterator")
    },
    ("RebatchDatasetV2", "IteratorGetNext: values in TensorFlow, FailedPrecondition"): (
        "it makes batches of no elements without end"
    ),
}

UNCOMPARED = {
    op: "TensorFlow writes it down with other inputs than its signature has, and breaks on that"
    for op in (
        *("BatchDataset", "PaddedBatchDataset", "FixedLengthRecordDataset"),
        *("ParallelFilterDataset", "ExperimentalRandomDataset", "TFRecordDatasetV2"),
    )
}
