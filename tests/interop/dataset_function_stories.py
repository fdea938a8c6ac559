"""Stories of datasets that call functions of their elements."""

from cases import stories_of
from dataset_stories import Data, flag, int64, numbers, walk

NONE = {"other_arguments": []}


def named(name):
    return ("function", name)


def map_story(m, op):
    """Numbers are doubled, or divide: nought is an error in its place."""
    data, given, told = numbers(m), dict(NONE), {"f": named(m.choice(["double", "inverse"]))}
    if op.endswith("MapAndBatchDataset"):
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
    told = {}
    if op.endswith(("V2", "V3", "V4")) and not op.startswith("Legacy"):
        given["num_parallel_calls"] = int64(m, m.choice([1, 2, -1, 0 if m.one_in(4) else 3]))
    if op.endswith("ParallelInterleaveDataset"):
        given["sloppy"] = flag(m, False)
    elif op.endswith(("V3", "V4", "DatasetV2")) and op != "ParallelInterleaveDatasetV2":
        told["deterministic"] = "true"
    if op.endswith(("V4", "ParallelInterleaveDataset")) or op.startswith("Legacy"):
        for name in ("buffer_output_elements", "prefetch_input_elements"):
            given[name] = int64(m, m.choice([1, 2, 0 if m.one_in(4) else 1]))
    walk(numbers(m).then(op, given, f=named("up_to"), **told), 16)


def window_story(m, op):
    """What has one key comes in batches."""
    given = {f"{part}_func_other_arguments": [] for part in ("key", "reduce", "window_size")}
    told = {"key_func": named("parity"), "reduce_func": named("in_twos")}
    told["window_size_func"] = named("three")
    walk(numbers(m).then(op, given, shapes=[[None]], **told), 5)


def generator_story(m, op):
    """The same element over and over."""
    given = {f"{part}_func_other_arguments": [] for part in ("init", "next", "finalize")}
    told = {"init_func": named("one"), "next_func": named("double")}
    told["finalize_func"] = named("is_odd" if m.one_in(2) else "double")
    attrs = {"output_types": ["int64"], "output_shapes": [[]]}
    walk(Data(m, m.call(op, given, **attrs, **told), ["int64"], [[]], 0), 3)


def scan_story(m, op):
    given = {**NONE, "initial_state": [int64(m, m.rng.integers(-2, 3))]}
    walk(numbers(m).then(op, given, f=named("sum_so_far")))


def reduce_story(m, op):
    given = {"input_dataset": numbers(m).handle, "initial_state": [int64(m, 2)], **NONE}
    m.call(op, given, f=named("plus"), output_types=["int64"], output_shapes=[[]])


PARALLEL = [f"ParallelInterleaveDataset{version}" for version in ("", "V2", "V3", "V4")]
PARALLEL += ["ExperimentalParallelInterleaveDataset", "LegacyParallelInterleaveDatasetV2"]

TABLE = [
    *stories_of("MapDataset ParallelMapDataset ParallelMapDatasetV2", ["int64"], map_story),
    *stories_of("MapAndBatchDataset ExperimentalMapAndBatchDataset", ["int64"], map_story),
    *stories_of("FilterDataset", ["int64"], filter_story),
    *stories_of("TakeWhileDataset ExperimentalTakeWhileDataset", ["int64"], filter_story),
    *stories_of("FlatMapDataset InterleaveDataset", ["int64"], flat_story),
    *stories_of(" ".join(PARALLEL), ["int64"], flat_story),
    *stories_of("GroupByWindowDataset ExperimentalGroupByWindowDataset", ["int64"], window_story),
    *stories_of("GeneratorDataset", ["int64"], generator_story),
    *stories_of("ScanDataset ExperimentalScanDataset", ["int64"], scan_story),
    *stories_of("ReduceDataset", ["int64"], reduce_story),
]
