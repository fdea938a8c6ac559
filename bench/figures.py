"""The measuring half of the benchmarks in Python: one JSON line per figure, as harness.h prints them."""

import json
import os
import statistics
import time


def rounds(counted):
    """True for each round that counts, after a False for the one that warms up: at least one, and no
    more than `counted` and than begin in the time of a figure."""
    end = time.monotonic() + float(os.environ.get("MILLRACE_BENCH_SECONDS", 10))
    yield False
    yield True
    for _ in range(counted - 1):
        if time.monotonic() >= end:
            return
        yield True


def report(name, unit, values, goal=None, baseline_name=None, baseline=None, goal_ratio=None):
    """Prints a figure; less is better, and `goal` is the most that the median may be, `goal_ratio` the most that it may
    be beside the baseline's."""
    line = {
        "name": name,
        "unit": unit,
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }
    if baseline is not None:
        line["baseline"] = baseline_name
        line["baseline_median"] = statistics.median(baseline)
        line["ratio"] = line["median"] / line["baseline_median"]
    if goal is not None:
        line.update(goal=goal, goal_is_ratio=False, better="less", met=line["median"] <= goal)
    elif goal_ratio is not None:
        met = line["ratio"] <= goal_ratio
        line.update(goal=goal_ratio, goal_is_ratio=True, better="less", met=met)
    print(json.dumps(line), flush=True)
