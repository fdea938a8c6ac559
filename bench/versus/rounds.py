"""Measures one benchmark: every figure in every cell in turn, round after round."""

import os
import pathlib
import statistics
import tempfile
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

_IN_MEMORY = "/dev/shm"


@dataclass
class Row:
    """A figure: its samples by cell, and by label those of its limits."""

    benchmark: str
    name: str
    unit: str
    cells: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)
    busy: dict = field(default_factory=dict)  # processors in use by client and servers, by cell

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
    """Runs a program in all cells and gives its Benchmark.

    The program finds a folder for its files by `tempfile`, and one in memory in IN_MEMORY.
    """
    folder.mkdir(parents=True)
    in_memory = _IN_MEMORY if os.path.isdir(_IN_MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="versus_", dir=in_memory) as memory:
        places = {"TMPDIR": str(folder), "IN_MEMORY": memory}
        return _measured(program, options, folder, zygote, progress, places)


def _measured(program, options, folder, zygote, progress, places):
    start = time.monotonic()
    children = {}
    try:
        for library in ("none", *LIBRARIES):
            log = folder / f"{library}.log"
            children[library] = Child(library, program, options.scale, log, places)
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


@dataclass
class _Place:
    """Where a figure, or a limit of it, is measured."""

    row: Row
    child: Child
    cell: str
    index: int
    samples: list
    pids: list
    busy: list = field(default_factory=list)

    def sample(self, seconds):
        """The value, and how many processors were in use meanwhile."""
        start, used = time.monotonic(), _processor_seconds(self.pids)
        request = {"sample": self.cell, "figure": self.index, "seconds": seconds}
        value = self.child.ask(SAMPLE_DEADLINE, **request)["value"]
        used = _processor_seconds(self.pids) - used
        return value, used / (time.monotonic() - start)


def _processor_seconds(pids):
    """Processor time that these processes have used so far."""
    ticks = 0
    for pid in pids:
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _open_cells(made, children, servers, cells):
    """Sets the program up in every cell, and its limits: the _Places."""
    opened = []
    rows = {}
    for client, kind in cells:
        child, cell, tasks = children[client], f"{client}_on_{kind}", servers.tasks(kind)
        try:
            answer = child.ask(OPEN_DEADLINE, open=cell, kind=kind, tasks=tasks)
        except ChildFailed as failure:
            made.failures.append(f"{made.title}, {cell}: {failure}")
            continue
        pids = [child.pid, *(pid for _, pid in tasks.values())]
        for index, (name, unit) in enumerate(answer["figures"]):
            if name not in rows:
                rows[name] = Row(made.title, name, unit)
                made.rows.append(rows[name])
            place = _Place(rows[name], child, cell, index, [], pids)
            rows[name].cells[client, kind] = place.samples
            rows[name].busy[client, kind] = place.busy
            opened.append(place)
    try:
        answer = children["none"].ask(OPEN_DEADLINE, open="limits")
    except ChildFailed as failure:
        made.failures.append(f"{made.title}, limits: {failure}")
        return opened
    for index, (name, label) in enumerate(answer["limits"]):
        if name in rows:
            place = _Place(rows[name], children["none"], "limits", index, [], [])
            rows[name].limits[label] = place.samples
            opened.append(place)
    return opened


def _run_rounds(made, opened, options, progress):
    """Round 0 warms up and is not counted, unless it is the only one."""
    first = 0 if options.rounds > 1 else 1
    for number in range(first, options.rounds + 1):
        for row in made.rows:
            places = [place for place in opened if place.row is row]
            turn = number % max(1, len(places))
            for place in places[turn:] + places[:turn]:
                progress(f"{made.title}: round {number} of {options.rounds}: {row.name}")
                try:
                    value, busy = place.sample(options.seconds)
                except ChildFailed as failure:
                    made.failures.append(f"{made.title}, {row.name}, {place.cell}: {failure}")
                    opened.remove(place)
                    continue
                if number > 0 and value is not None:
                    place.samples.append(value)
                    place.busy.append(busy)
