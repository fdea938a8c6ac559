"""Stories of datasets that call functions of their elements."""

from cases import stories_of
from dataset_stories import flag, int64, numbers, walk

NONE = {"other_arguments": []}


def named(name):
    return ("function", name)


def map_story(m, op):
    """Numbers are doubled, or divide: nought is an error in its place."""
    data, given, told = numbers(m), dict(NONE), {"f": named(m.choice(["double", "inverse"]))}
    if op == "MapAndBatchDataset":
        told["f"] = named("double")
        given |= {"batch_size": int64(m, m.rng.integers(1, 4)), "drop_remainder": flag(m)}
        told["shapes"] = [[None]]
    if op == "ParallelMapDataset":
        given["num_parallel_calls"] = m.integers(m.choice([1, 3, 0 if m.one_in(8) else 2]))
    elif op != "MapDataset":
        given["num_parallel_calls"] = int64(m, m.choice([1, 3, -1]))
    if op == "ParallelMapDatasetV2":
        told["deterministic"] = "true"
    walk(data.then(op, given, **told))


def filter_story(m, op):
    given, told = dict(NONE), {"predicate": named(m.choice(["is_odd", "is_below_four"]))}
    walk(numbers(m).then(op, given, **told))


def flat_story(m, op):
    """Each number gives the numbers below it."""
    given = dict(NONE)
    if op != "FlatMapDataset":
        given |= {"cycle_length": int64(m, m.rng.integers(1, 4))}
        given |= {"block_length": int64(m, m.rng.integers(0 if m.one_in(8) else 1, 4))}
    walk(numbers(m).then(op, given, f=named("up_to")), 16)


def scan_story(m, op):
    given = {**NONE, "initial_state": [int64(m, m.rng.integers(-2, 3))]}
    walk(numbers(m).then(op, given, f=named("sum_so_far")))


def reduce_story(m, op):
    given = {"input_dataset": numbers(m).handle, "initial_state": [int64(m, 2)], **NONE}
    m.call(op, given, f=named("plus"), output_types=["int64"], output_shapes=[[]])


TABLE = [
    *stories_of("MapDataset ParallelMapDataset ParallelMapDatasetV2", ["int64"], map_story),
    *stories_of("MapAndBatchDataset", ["int64"], map_story),
    *stories_of("FilterDataset", ["int64"], filter_story),
    *stories_of("TakeWhileDataset", ["int64"], filter_story),
    *stories_of("FlatMapDataset InterleaveDataset", ["int64"], flat_story),
    *stories_of("ScanDataset", ["int64"], scan_story),
    *stories_of("ReduceDataset", ["int64"], reduce_story),
]
