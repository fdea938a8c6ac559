"""The measuring half of the benchmarks in Python: one JSON line per figure, as harness.h prints them."""

import json
import statistics


def report(name, unit, values, goal=None, baseline_name=None, baseline=None):
    """Prints a figure; less is better, and `goal` is the most that the median may be."""
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
    print(json.dumps(line), flush=True)
