"""Stories of datasets around their corners: elements that fail, caches in files, what nobody says."""

from cases import stories_of
from dataset_function_stories import NONE, named
from dataset_stories import Data, flag, int64, numbers, walk, word


def spoilt(m, size=None):
    """Numbers of which one in four fails."""
    return numbers(m, size).then("MapDataset", NONE, f=named("but_one_in_four"))


def batched_story(m, op):
    """What fails takes those with it that were to lie in its batch."""
    given = {"batch_size": int64(m, m.rng.integers(1, 4)), "drop_remainder": flag(m)}
    # A map right before a batch is one dataset in TensorFlow, which loses more with a failure.
    apart = spoilt(m).then("PrefetchDataset", {"buffer_size": int64(m, 1)})
    if op == "BatchDatasetV2":
        return walk(apart.then(op, given, shapes=[[None]]))
    if op == "RebatchDatasetV2":
        pairs = apart.then("BatchDatasetV2", given, shapes=[[None]])
        sizes = {"batch_sizes": m.integers([m.choice([1, 2, 3]) for _ in range(2)], "int64")}
        return walk(pairs.then(op, {**sizes, "drop_remainder": flag(m)}, shapes=[[None]]))
    given |= {**NONE, "num_parallel_calls": int64(m, m.choice([1, 3]))}
    walk(numbers(m).then(op, given, shapes=[[None]], f=named("but_one_in_four")))


def window_story(m, op):
    """What fails spoils the windows that it lies in."""
    given = {name: int64(m, m.rng.integers(1, 4)) for name in ("size", "shift", "stride")}
    given["drop_remainder"] = flag(m)
    windows = spoilt(m).then(op, given, types=["variant"], shapes=[[]])
    walk(windows.then("FlatMapDataset", NONE, ["int64"], [[]], f=named("window_itself")), 14)


def directed_story(m, op):
    """What fails was its dataset's turn."""
    picks = m.values((int(m.rng.integers(0, 7)),), 0, 1, "int64")
    selector = m.call("TensorSliceDataset", {"components": [picks]}, output_shapes=[[]])
    given = {"selector_input_dataset": selector}
    given["data_input_datasets"] = [spoilt(m).handle, spoilt(m).handle]
    attrs = {"output_types": ["int64"], "output_shapes": [[]]}
    walk(Data(m, m.call(op, given, **attrs), ["int64"], [[]], 0))


def cached_story(m, op):
    """Several walks, the first of which may stop early, and none of which need see its dataset."""
    for turn in range(3):
        data = m.choice([numbers, spoilt])(m) if turn == 0 else numbers(m)
        given = {"filename": word(m.choice([b"a", b"b"]) if turn else b"a")}
        if op == "CacheDatasetV2":
            given["cache"] = m.call("DummyMemoryCache")
        cached = data.then(op, given)
        if m.one_in(3):
            cached = cached.then("RepeatDataset", {"count": int64(m, 2)})
        walk(cached, m.choice([2, 9, 14]))


def untold_story(m, op):
    """As many take turns as the machine runs at once, or a third of that, or as calls."""
    given = {**NONE, "cycle_length": int64(m, -1), "block_length": int64(m, m.choice([1, 2]))}
    if op != "InterleaveDataset":
        given["num_parallel_calls"] = int64(m, m.choice([1, 2, -1]))
    if op.endswith("V4"):
        for name in ("buffer_output_elements", "prefetch_input_elements"):
            given[name] = int64(m, m.choice([1, -1]))
    told = {"deterministic": "true"} if op.endswith(("V3", "V4")) else {}
    walk(numbers(m).then(op, given, f=named("up_to"), **told), 16)


def endless(m):
    return numbers(m, 3).then("RepeatDataset", {"count": int64(m, -1)})


def upwards(m):
    """To the largest number that there is."""
    given = {"start": int64(m, 0), "stop": int64(m, 2**63 - 1), "step": int64(m, 1)}
    attrs = {"output_types": ["int64"], "output_shapes": [[]]}
    return Data(m, m.call("RangeDataset", given, **attrs), ["int64"], [[]], 0)


def filtered(m):
    return numbers(m).then("FilterDataset", NONE, predicate=named("is_odd"))


def grouped(data):
    given = {f"{part}_func_other_arguments": [] for part in ("key", "reduce", "window_size")}
    told = {"key_func": named("parity"), "reduce_func": named("in_twos")}
    told["window_size_func"] = named("three")
    return data.then("GroupByWindowDataset", given, shapes=[[None]], **told)


def interleaved(data, op, **calls):
    m = data.m
    given = {**NONE, "cycle_length": int64(m, 2), "block_length": int64(m, 1)}
    given |= {name: int64(m, value) for name, value in calls.items()}
    return data.then(op, given, f=named("up_to"))


def cut_anew(data):
    m = data.m
    given = {"batch_size": int64(m, 2), "drop_remainder": flag(m)}
    pairs = data.then("BatchDatasetV2", given, shapes=[[None]])
    given = {"batch_sizes": m.integers([3], "int64"), "drop_remainder": flag(m)}
    return pairs.then("RebatchDatasetV2", given, shapes=[[None]])


def cardinality_story(m, op):
    """What is made of datasets that end, that never do, and of which nobody knows."""
    data = m.choice([numbers, endless, upwards, filtered])(m)
    make = m.choice(
        [
            lambda: data,
            lambda: grouped(data),
            lambda: interleaved(data, "InterleaveDataset"),
            lambda: interleaved(data, "ParallelInterleaveDatasetV2", num_parallel_calls=1),
            lambda: cut_anew(data),
            lambda: data.then("SkipDataset", {"count": int64(m, m.rng.integers(-1, 4))}),
            lambda: data.then("TakeDataset", {"count": int64(m, m.rng.integers(-1, 4))}),
            lambda: data.then("RepeatDataset", {"count": int64(m, m.rng.integers(-1, 4))}),
        ]
    )
    m.call(op, {"input_dataset": make().handle})


def saved_story(m, op):
    """A walk whose function draws something is saved unless the client refuses that."""
    function = m.choice(["double", "and_draws"])
    data = numbers(m).then("MapDataset", NONE, f=named(function))
    attrs = {"output_types": data.types, "output_shapes": data.shapes}
    iterator = m.call("IteratorV2", shared_name="kept", container="", **attrs)
    m.call("MakeIterator", {"dataset": data.handle, "iterator": iterator})
    m.call("IteratorGetNext", {"iterator": iterator}, **attrs)
    policy = {} if m.one_in(4) else {"external_state_policy": m.choice([0, 1, 2])}
    m.call(op, {"resource_handle": iterator}, hides=True, **policy)
    m.call("IteratorGetNext", {"iterator": iterator}, **attrs)


TABLE = [
    *stories_of("BatchDatasetV2 RebatchDatasetV2 MapAndBatchDataset", ["int64"], batched_story),
    *stories_of("WindowDataset", ["int64"], window_story),
    *stories_of("DirectedInterleaveDataset", ["int64"], directed_story),
    *stories_of("CacheDataset CacheDatasetV2", ["int64"], cached_story),
    *stories_of("InterleaveDataset ParallelInterleaveDatasetV2", ["int64"], untold_story),
    *stories_of("ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4", ["int64"], untold_story),
    *stories_of("DatasetCardinality", ["int64"], cardinality_story),
    *stories_of("SerializeIterator", ["int64"], saved_story),
]

REASONS = {
    **{
        (op, "IteratorGetNext: values in TensorFlow, AlreadyExistsError here"): (
            "it takes what a walk wrote that failed for all of its dataset"
        )
        for op in ("CacheDataset", "CacheDatasetV2")
    },
    ("ParallelInterleaveDataset", "IteratorGetNext: output 0"): (
        "how many elements it takes in a turn hinges on who was ready"
    ),
}
