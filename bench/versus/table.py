"""The table of a run, as Markdown and as JSON, and its place in docs/performance.md."""

import json
import re
import statistics

from rounds import CELLS, Benchmark, Row

BEGIN = "<!-- begin: written by bench/versus_tensorflow -->"
END = "<!-- end: written by bench/versus_tensorflow -->"
HEADER = [
    "figure",
    "unit",
    "limit",
    "TF client, TF servers",
    "TF client, our servers",
    "our client, TF servers",
    "ours, ours",
    "ours against TF",
]


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def with_spread(samples):
    if not samples:
        return "–"
    middle = number(statistics.median(samples))
    spread = f"{number(min(samples))}..{number(max(samples))}"
    return middle if len(samples) == 1 or min(samples) == max(samples) else f"{middle} ({spread})"


def columns(row):
    limits = [
        f"{number(statistics.median(samples))} {label}"
        for label, samples in row.limits.items()
        if samples
    ]
    ratio = row.ratio()
    verdict = "–" if ratio is None else f"{ratio:.1f} x" if ratio >= 0.95 else f"{ratio:.2f} x"
    cells = [with_spread(row.cells.get(cell, [])) for cell in CELLS]
    return [row.name, row.unit, ", ".join(limits) or "–", *cells, verdict]


def markdown(benchmarks):
    """One table; a line in bold opens each benchmark."""
    lines = [HEADER, ["---"] * len(HEADER)]
    for benchmark in benchmarks:
        lines.append([f"**{benchmark.title}**"] + [""] * (len(HEADER) - 1))
        lines += [columns(row) for row in benchmark.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    widths[0] = min(widths[0], 64)
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"
        for line in lines
    )


def _by_name(cells):
    return {" on ".join(cell): samples for cell, samples in cells.items()}


def _by_cell(names):
    return {tuple(name.split(" on ")): samples for name, samples in names.items()}


def json_text(benchmarks, run):
    return "".join(line + "\n" for line in _json_lines(benchmarks, run))


def _json_lines(benchmarks, run):
    """The run's description, then a line per figure and failure."""
    yield json.dumps({"run": run})
    for benchmark in benchmarks:
        for row in benchmark.rows:
            yield json.dumps(
                {
                    "benchmark": benchmark.title,
                    "figure": row.name,
                    "unit": row.unit,
                    "better": "more" if row.more_is_better else "less",
                    "cells": _by_name(row.cells),
                    "limits": row.limits,
                    "processors_busy": _by_name(row.busy),
                    "ours_against_tensorflow": row.ratio(),
                }
            )
        for failure in benchmark.failures:
            yield json.dumps({"benchmark": benchmark.title, "failure": failure})


def from_json_lines(lines):
    """(Benchmarks, the run's description), as json_text has them."""
    benchmarks, run = {}, {}
    for line in map(json.loads, lines):
        if "run" in line:
            run = line["run"]
            continue
        title = line["benchmark"]
        benchmark = benchmarks.setdefault(title, Benchmark(title, [], []))
        if "failure" in line:
            benchmark.failures.append(line["failure"])
            continue
        cells, busy = _by_cell(line["cells"]), _by_cell(line["processors_busy"])
        row = Row(title, line["figure"], line["unit"], cells, line["limits"], busy)
        benchmark.rows.append(row)
    return list(benchmarks.values()), run


def described(run):
    """The run in a sentence: the command, then versions and machine."""
    told = [f"`{run['command']}`; rounds: {run['rounds']}; minutes: {run['minutes']:.0f}"]
    return "; ".join(told + [f"{name} {value}" for name, value in run["versions"].items()]) + "."


def write_into(path, text):
    """Puts the text between the marks of a page; the rest of the page stays as it is."""
    page = path.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"{path} must have these two lines, once each:\n{BEGIN}\n{END}")
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.S)
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page), encoding="utf-8")
