"""Stories of datasets that few programs name: sparse rows, reducers, names of files, pauses, shards."""

import numpy as np

from cases import stories_of
from dataset_stories import TYPES, Data, int64, numbers, pairs_of, rows, walk, word

PLAIN = [dtype for dtype in TYPES if dtype != "bfloat16"]
PATTERNS = [b"*", b"a*", b"./?1", b"d/*", b"*/a1", b"b2", b"[ab]2", b"none*", b"d", b"d/e/*"]


def sparse_slice_story(m, op):
    """Values in the order of their first axis, or one that is off it."""
    rank, size = int(m.rng.integers(1, 4)), int(m.rng.integers(0, 5))
    count = int(m.rng.integers(0, 6))
    first = np.sort(m.rng.integers(0, size + 1 + m.one_in(8), count))
    if m.one_in(8):
        first = first[::-1]
    rest = m.rng.integers(0, 3, (count, rank - 1))
    indices = np.concatenate([first[:, None], rest], 1)
    given = {
        "indices": int64(m, indices if not m.one_in(12) else indices[:, :0]),
        "values": m.values((count + m.one_in(12),)),
        "dense_shape": int64(m, [size, *[3] * (rank - 1)]),
    }
    types = ["int64", m.dtype, "int64"]
    walk(Data(m, m.call(op, given), types, [[None, rank - 1], [None], [rank - 1]], size), 6)


def sparse_batch_story(m, op):
    """Elements of one shape or of several lengths; what they make is taken out of its variant."""
    data = numbers(m)
    if m.one_in(2):
        data = pairs_of(data, 2)
    elif m.one_in(2):
        shape = m.shape(ranks=(0, 1, 2), most=3)
        value = m.values((int(m.rng.integers(0, 5)), *shape))
        handle = m.call("TensorSliceDataset", {"components": [value]}, output_shapes=[shape])
        data = Data(m, handle, [m.dtype], [list(shape)], 0)
    row = [m.choice([-1, 2, 3, 1 if m.one_in(4) else 3]) for _ in data.shapes[0]]
    given = {
        "input_dataset": data.handle,
        "batch_size": int64(m, m.rng.integers(0 if m.one_in(8) else 1, 4)),
        "row_shape": int64(m, np.asarray(row if not m.one_in(12) else [*row, 1])),
    }
    attrs = {"output_types": ["variant"], "output_shapes": [None]}
    handle = m.call(op, given, **attrs)
    iterator = m.call("IteratorV2", shared_name="", container="", **attrs)
    m.call("MakeIterator", {"dataset": handle, "iterator": iterator})
    for _ in range(4):
        m.call("IteratorGetNext", {"iterator": iterator}, is_part=True, **attrs)
        element = {"serialized_sparse": m.made(len(m.calls) - 1)}
        m.call("DeserializeSparse", element, dtype=data.types[0])


def reducer_story(m, op):
    given = {f"{part}_func_other_arguments": [] for part in ("key", "init", "reduce", "finalize")}
    told = {"key_func": "parity", "init_func": "double", "reduce_func": "plus"}
    told["finalize_func"] = m.choice(["double", "inverse", "is_odd"])
    dtype = "bool" if told["finalize_func"] == "is_odd" else "int64"
    told = {name: ("function", function) for name, function in told.items()}
    walk(numbers(m).then(op, given, types=[dtype], **told), 4)


def matching_story(m, op):
    for name in (b"a1", b"a2", b"b2", b"d/a1", b"d/e/f"):
        if not m.one_in(4):
            m.call("WriteFile", {"filename": word(name), "contents": word(b"")})
    count = int(m.rng.integers(1, 4))
    patterns = word([m.choice(PATTERNS) for _ in range(count)]) if m.one_in(2) else None
    handle = m.call(op, {"patterns": patterns or word(m.choice(PATTERNS))})
    walk(Data(m, handle, ["string"], [[]], 0))


def sleep_story(m, op):
    pause = int64(m, m.choice([0, 1, 500, -1 if m.one_in(4) else 2000]))
    walk(rows(m).then(op, {"sleep_microseconds": pause}))


def replicas_story(m, op):
    data = pairs_of(numbers(m), int(m.rng.integers(1, 5)))
    if m.one_in(8):
        data = numbers(m)
    count = int64(m, m.rng.integers(0 if m.one_in(8) else 1, 4))
    walk(data.then(op, {"num_replicas": count}), 16)


def shard_story(m, op):
    """By elements, or not at all."""
    workers = int(m.rng.integers(0 if m.one_in(8) else 1, 4))
    given = {"num_workers": int64(m, workers), "index": int64(m, m.rng.integers(0, 3))}
    walk(numbers(m).then(op, given, auto_shard_policy=m.choice([-1, 2])))


def batch_size_story(m, op):
    """Of batches, or not, behind what leaves batches whole or does not."""
    data = numbers(m) if m.one_in(6) else pairs_of(numbers(m), int(m.rng.integers(1, 4)))
    for _ in range(int(m.rng.integers(0, 3))):
        name = m.choice(["TakeDataset", "SkipDataset", "RepeatDataset", "RebatchDataset", "Concat"])
        if name == "Concat":
            other = pairs_of(numbers(m), int(m.rng.integers(1, 4)))
            data = data.then("ConcatenateDataset", {"another_dataset": other.handle})
        elif name == "RebatchDataset":
            data = data.then(name, {"num_replicas": int64(m, 2)})
        else:
            data = data.then(name, {"count": int64(m, 2)})
    m.call(op, {"input_dataset": data.handle})


def compressed_story(m, op):
    """What went in comes out, as the types that are asked for."""
    parts = [m.values(), m.values((2,), dtype="int64")][: int(m.rng.integers(1, 3))]
    packed = m.call("CompressElement", {"components": parts}, is_part=True)
    types = [dtype for dtype, _ in parts]
    if m.one_in(6):
        types = m.choice([types + ["int64"], ["float64"], [m.dtype]])
    m.call(
        "UncompressElement",
        {"compressed": packed},
        output_types=types,
        output_shapes=[None] * len(types),
    )


TABLE = [
    *stories_of("SparseTensorSliceDataset", PLAIN, sparse_slice_story),
    *stories_of("DenseToSparseBatchDataset", ["int64", "string", "float32"], sparse_batch_story),
    *stories_of("ExperimentalDenseToSparseBatchDataset", ["int64"], sparse_batch_story),
    *stories_of(
        "GroupByReducerDataset ExperimentalGroupByReducerDataset", ["int64"], reducer_story
    ),
    *stories_of(
        "MatchingFilesDataset ExperimentalMatchingFilesDataset", ["string"], matching_story
    ),
    *stories_of("ComputeBatchSize", ["int64"], batch_size_story),
    *stories_of("CompressElement UncompressElement", PLAIN, compressed_story),
    *stories_of("SleepDataset ExperimentalSleepDataset", TYPES, sleep_story),
    *stories_of("RebatchDataset ExperimentalRebatchDataset", ["int64"], replicas_story),
    *stories_of("AutoShardDataset ExperimentalAutoShardDataset", ["int64"], shard_story),
]

REASONS = {
    (op, "DeserializeSparse: InvalidArgumentError in TensorFlow, OutOfRange"): (
        "it goes on inside of a batch that has failed, which is dropped here"
    )
    for op in ("DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset")
}
