"""Measures one benchmark: every figure in every cell in turn, round after round."""

import statistics
import time
from dataclasses import dataclass, field

from conversation import Child, ChildFailed
from servers import Servers

LIBRARIES = ("tensorflow", "millrace")
# (whose client, whose servers)
CELLS = [(client, servers) for client in LIBRARIES for servers in LIBRARIES]
IN_PROCESS = [(library, library) for library in LIBRARIES]

OPEN_DEADLINE = 1800.0  # seconds; bounds on hangs, not measures of speed
SAMPLE_DEADLINE = 600.0


@dataclass
class Row:
    """A figure: its samples by cell, and by label those of its limits."""

    benchmark: str
    name: str
    unit: str
    cells: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)

    @property
    def more_is_better(self):
        return self.unit.endswith("/s")

    def ratio(self):
        """How many times better Millrace alone is than TensorFlow alone; None if either is missing."""
        ours, theirs = (
            self.cells.get((library, library)) for library in ("millrace", "tensorflow")
        )
        if not ours or not theirs or not statistics.median(ours) or not statistics.median(theirs):
            return None
        ratio = statistics.median(ours) / statistics.median(theirs)
        return ratio if self.more_is_better else 1 / ratio


@dataclass
class Benchmark:
    """What a program gave."""

    title: str
    rows: list
    failures: list  # sentences
    seconds: float = 0.0


def measure(program, options, folder, zygote, progress):
    """Runs a program in all cells and gives its Benchmark."""
    start = time.monotonic()
    folder.mkdir(parents=True)
    children = {}
    try:
        for library in ("none", *LIBRARIES):
            log = folder / f"{library}.log"
            children[library] = Child(library, program, options.scale, log)
        hello = [child.hear(OPEN_DEADLINE) for child in children.values()][0]
        made = Benchmark(hello["title"], [], [])
        with Servers(folder, zygote, hello["tasks"]) as servers:
            opened = _open_cells(
                made, children, servers, IN_PROCESS if not hello["tasks"] else CELLS
            )
            _run_rounds(made, opened, options, progress)
    finally:
        for child in children.values():
            child.stop()
    made.seconds = time.monotonic() - start
    return made


def _open_cells(made, children, servers, cells):
    """Sets the program up in every cell. Gives (row, where its samples go, child, cell, index)."""
    opened = []
    rows = {}
    for client, kind in cells:
        cell = f"{client}_on_{kind}"
        try:
            answer = children[client].ask(
                OPEN_DEADLINE, open=cell, kind=kind, tasks=servers.tasks(kind)
            )
        except ChildFailed as failure:
            made.failures.append(f"{made.title}, {cell}: {failure}")
            continue
        for index, (name, unit) in enumerate(answer["figures"]):
            if name not in rows:
                rows[name] = Row(made.title, name, unit)
                made.rows.append(rows[name])
            samples = rows[name].cells[client, kind] = []
            opened.append((rows[name], samples, children[client], cell, index))
    try:
        answer = children["none"].ask(OPEN_DEADLINE, open="limits")
    except ChildFailed as failure:
        made.failures.append(f"{made.title}, limits: {failure}")
        return opened
    for index, (name, label) in enumerate(answer["limits"]):
        if name in rows:
            samples = rows[name].limits[label] = []
            opened.append((rows[name], samples, children["none"], "limits", index))
    return opened


def _run_rounds(made, opened, options, progress):
    """Round 0 warms up and is not counted, unless it is the only one."""
    first = 0 if options.rounds > 1 else 1
    for number in range(first, options.rounds + 1):
        for row in made.rows:
            places = [place for place in opened if place[0] is row]
            turn = number % max(1, len(places))
            for place in places[turn:] + places[:turn]:
                progress(f"{made.title}: round {number} of {options.rounds}: {row.name}")
                if not _sample(made, place, options, counted=number > 0):
                    opened.remove(place)


def _sample(made, place, options, counted):
    """Takes one sample; False, with the reason among the failures, if that can't be had."""
    row, samples, child, cell, index = place
    try:
        answer = child.ask(SAMPLE_DEADLINE, sample=cell, figure=index, seconds=options.seconds)
    except ChildFailed as failure:
        made.failures.append(f"{row.benchmark}, {row.name}, {cell}: {failure}")
        return False
    if counted and answer["value"] is not None:
        samples.append(answer["value"])
    return True
