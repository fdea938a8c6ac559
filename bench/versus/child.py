"""Runs one program in this interpreter and samples its figures as the driver asks.

    child.py LIBRARY PROGRAM SCALE          serves requests, JSON lines on the standard input:
        {"open": CELL, "kind": LIBRARY, "tasks": {"worker:0": [ADDRESS, PID]}}  -> {"figures": […]}
        {"open": "limits"}                                                    -> {"limits": […]}
        {"sample": CELL, "figure": 0, "seconds": 0.3}                         -> {"value": 1.5}
    child.py LIBRARY PROGRAM SCALE --peer KIND ADDRESS CELL     the program's second process
"""

import contextlib
import gc
import importlib
import json
import os
import sys
import threading
import traceback

import interpreters
from measure import Scale


class Cluster:
    """The tasks that the driver started for this program."""

    def __init__(self, client, cell, kind, tasks):
        self.client = client  # whose client this is, as `kind` says whose servers
        self.cell = cell
        self.kind = kind
        self.pids = {name: pid for name, (_, pid) in tasks.items()}
        self._addresses = {name: address for name, (address, _) in tasks.items()}

    def target(self, name):
        """The session target of "worker:1"."""
        return "grpc://" + self._addresses[name]

    def peer_command(self, name):
        """The command line of this program's `peer` in a process of its own, for the same cell."""
        return [sys.executable, *sys.argv, "--peer", self.kind, self._addresses[name], self.cell]


def lines_in_and_out():
    """The driver's requests, and a function that answers. The program's prints go to the error output."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    requests = (json.loads(line) for line in sys.stdin)
    return requests, lambda answer: print(json.dumps(answer), file=out)


def named(tf, cell):
    """Nodes of different cells get different names, so that clients of one server share no state."""
    scope = contextlib.ExitStack()
    if tf is not None:
        scope.enter_context(tf.Graph().as_default())
        scope.enter_context(tf.name_scope(cell))
    return scope


def serve(library, tf, program, scale):
    cells = {}
    requests, answer = lines_in_and_out()
    answer({"title": program.TITLE, "tasks": program.tasks(scale)})
    for request in requests:
        try:
            if "sample" in request:
                figure = cells[request["sample"]][request["figure"]]
                answer({"value": figure.sample(request["seconds"])})
                continue
            cell = request["open"]
            with named(tf, cell):
                if tf is None:
                    cells[cell] = list(program.limits(scale))
                    answer({"limits": [[limit.figure, limit.label] for limit in cells[cell]]})
                else:
                    cluster = Cluster(library, cell, request["kind"], request["tasks"])
                    cells[cell] = list(program.figures(tf, cluster, scale))
                    answer({"figures": [[figure.name, figure.unit] for figure in cells[cell]]})
            gc.collect()
            gc.freeze()
        except Exception as error:
            traceback.print_exc()
            answer({"error": f"{type(error).__name__}: {error}"})


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


def main():
    library, name, scale, *peer = sys.argv[1:]
    tf = interpreters.load(library) if library != "none" else None
    program = importlib.import_module(f"programs.{name}")
    if peer:
        _, kind, address, cell = peer
        threading.Thread(target=end_with_parent, daemon=True).start()
        with named(tf, cell):
            program.peer(tf, Cluster(library, cell, kind, {"worker:0": [address, 0]}))
    else:
        serve(library, tf, program, Scale(scale))
    # Sessions in use by other threads would hold up an orderly end.
    os._exit(0)


main()
