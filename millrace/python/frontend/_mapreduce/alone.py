"""A job in one process, without a cluster: the same pieces, one after the other."""

import time
import uuid

from millrace._graph.graph import Graph
from millrace._mapreduce import pieces
from millrace._mapreduce.attempt import MapReduceError, said_of, told
from millrace._mapreduce.ledger import Ledger
from millrace._mapreduce.outputs import Workshop
from millrace._mapreduce.queue_output import Filling, Queue, Results
from millrace._run.session import Session


class Told:
    """Says how far a job is, not more often than every so many seconds.

    Args:
      ledger: the Ledger.
      say: a function of a line, or None.
      pause: seconds.
      clock: gives seconds.
    """

    def __init__(self, ledger, say, pause, clock=time.monotonic):
        self._ledger = ledger
        self._say = say
        self._pause = pause
        self._clock = clock
        self._phase_began = self._last = clock()

    def begin_phase(self):
        self._phase_began = self._clock()

    def tell(self):
        now = self._clock()
        if self._say is not None and now - self._last >= self._pause:
            self._last = now
            self._say(self._ledger.progress(now - self._phase_began))


def rejecting(ledger, note):
    """A function for inputs to give files to that can't be looked at."""

    def reject(place, record, error):
        note({"path": place.path, "position": place.position, "error": told(error)})
        ledger.add_bad(1, said_of(place, record, error))

    return reject


def divided(words, folder, reject):
    """The splits of a job's input. MapReduceError for whatever else a program's generator raises."""
    try:
        yield from words.input.splits(folder, reject)
    except MapReduceError:
        raise
    except Exception as error:
        raise MapReduceError(f"the input can't be divided: {told(error)}") from error


def gathered(ledger, workshop, words, rejected):
    """Has all of a job that is reduced ready to be published; returns the paths that its files will have."""
    ledger.counters["bad records"] = ledger.num_bad
    aside = workshop.keep_rejected(rejected) + ledger.aside
    parts = [] if isinstance(words.output, Queue) else ledger.parts
    return workshop.gather(parts, words.output.suffix, ledger.counters, aside)


def check(ledger):
    """MapReduceError if the job can't be done."""
    if ledger.failure is not None:
        raise MapReduceError(ledger.failure)


def _results(output):
    """The queue of results on a server that stands beside."""
    if output.target is None:
        raise ValueError(
            f"{output} is on a task of a cluster, and this process is in none: give `target`"
        )
    graph = Graph()
    with graph.as_default():
        filling = Filling(output)
    return Results(filling, lambda: Session(output.target, graph))


def run(words, say, pause):
    """(counters, paths of files) of a job made here. MapReduceError if it can't be done."""
    if not isinstance(words.output, Queue):
        return _run(words, say, pause, None)
    with _results(words.output) as results:
        return _run(words, say, pause, results)


def _run(words, say, pause, results):
    workshop = Workshop(words.output.folder, uuid.uuid4().hex)
    if results is not None:
        # First: it is closed whatever comes, and who reads waits for nothing.
        results.begin(workshop)
    workshop.make()
    try:
        ledger, rejected = Ledger(words.max_bad), []
        progress = Told(ledger, say, pause)
        parts = words.partitions or 1
        base = {"work": workshop.path, "partitions": parts}
        for split in divided(words, workshop.path, rejecting(ledger, rejected.append)):
            check(ledger)
            number = ledger.add_split(split["weight"])
            item = {**split, **base, "split": number}
            ledger.add_report(pieces.attempted(pieces.map_split, words, item, "alone"))
            workshop.forget(split)
            check(ledger)
            progress.tell()
        ledger.all_are_found()
        check(ledger)
        ledger.reduce_begins(parts)
        progress.begin_phase()
        plan = workshop.write_plan(ledger.plan)
        for number in range(parts):
            item = {**base, "partition": number, "plan": plan}
            ledger.add_report(pieces.attempted(pieces.reduce_partition, words, item, "alone"))
            check(ledger)
            progress.tell()
        made = gathered(ledger, workshop, words, rejected)
        if results is not None:
            workshop.note_publishing()
            for path in ledger.parts:
                results.put_file(path)
            results.close()
        workshop.publish()
        return dict(ledger.counters), made
    finally:
        workshop.remove()
