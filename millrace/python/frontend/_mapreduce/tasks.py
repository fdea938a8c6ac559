"""A job on a cluster: one `files` task that owns queues and the book, and tasks that take work out of them.

Over queues go names, offsets and counts, as JSON; over files goes what is read, sorted and written. A worker
takes its work under a lease and reports under the same one: so of several attempts at one piece, one report counts.
"""

import contextlib
import functools
import json
import queue
import threading
import time
import uuid

from millrace._mapreduce import alone, pieces
from millrace._mapreduce.attempt import MapReduceError, told
from millrace._mapreduce.backups import Backups
from millrace._mapreduce.ledger import Ledger
from millrace._mapreduce.outputs import Workshop
from millrace._mapreduce.shared_queues import KINDS, TAKES
from millrace._values import errors

_AHEAD = 64  # splits that may wait to be taken, besides those that are being mapped
_GLANCE = 0.5  # seconds between looks at what was given up
_FAREWELL = 5.0  # seconds that the owner waits for the last of its workers to hear of the end


# ---- Workers -----------------------------------------------------------------------------------


def work(words, shared, far, config, server, say):
    """What a task does that maps or reduces: takes pieces until there are no more."""
    name = f"{config.task_type}:{config.task_id}"
    with shared.session(server.target) as session:
        for kind in TAKES[config.task_type]:
            if kind == "publish":
                _publish(shared, far, session, server, say)
                continue
            make = pieces.map_split if kind == "map" else pieces.reduce_partition
            make = functools.partial(_attempted, words, make)
            while _take_one(shared, session, shared.work[kind], make, say):
                pass
        # A job that is over hears of nobody any more.
        with contextlib.suppress(errors.CancelledError):
            session.run(shared.report, {shared.text: json.dumps({"bye": name})})


def _attempted(words, make, item):
    # Of this attempt alone: who was stopped and wakes up may not write into another's file.
    return pieces.attempted(make, words, item, uuid.uuid4().hex)


def _publish(shared, far, session, server, say):
    """Puts results into their queue, if they go into one: each under the lease of its partition, so once."""
    is_closed = shared.work["publish"].is_closed
    # Of a job that has failed that queue, and who has it, may be gone.
    if far is None or session.run(is_closed):
        return
    try:
        with far.results(server.target) as results:
            make = functools.partial(pieces.put_partition, put=results.put_file)
            while _take_one(far, results.session, far.work["publish"], make, say):
                pass
    except errors.OpError:
        # Others were quicker, and who reads has read all and ended: the owner closes the queue of this work
        # before that of the results.
        if not session.run(is_closed):
            raise


def _take_one(shared, session, of, make, say):
    """Makes a piece of work. False if there is none any more."""
    try:
        lease = session.run(of.take)
    except (errors.OutOfRangeError, errors.CancelledError):
        return False
    item = json.loads(lease.value)
    try:
        with lease:
            if "over" in item:
                return False
            session.run(shared.report, {shared.text: json.dumps(make(item))})
    except errors.FailedPreconditionError as error:
        say(f"{error.message}; going on with the next")  # the lease was lost
    except errors.CancelledError:
        pass  # the job is over: another has done it
    return True


# ---- The owner ---------------------------------------------------------------------------------


class Owner:
    """What the `files` task does: divides the input, keeps the book, publishes the output.

    Two threads do what waits, one puts splits into their queue, the other takes reports; this one decides.
    """

    def __init__(self, words, shared, far, config, server, attempts, backups, say, pause):
        self._words = words
        self._shared = shared
        self._say = say or _silent
        self._attempts = attempts
        cluster = config.cluster_spec
        self._workers = {
            f"{job}:{i}" for job in TAKES if job in cluster.jobs for i in cluster.task_indices(job)
        }
        self._num_takers = {
            kind: sum(cluster.num_tasks(job) for job in cluster.jobs if kind in TAKES.get(job, ()))
            for kind in KINDS
        }
        self._parts = words.partitions or self._num_takers["reduce"]
        self._room = threading.Semaphore(_AHEAD + self._num_takers["map"])
        self._ledger = Ledger(words.max_bad)
        self._progress = alone.Told(self._ledger, say, pause)
        self._workshop = Workshop(words.output.folder, uuid.uuid4().hex)
        self._base = {"work": self._workshop.path, "partitions": self._parts}
        self._events = queue.SimpleQueue()  # functions for this thread to call
        self._farewells = set()
        self._rejected = []
        self._outstanding = {}  # number -> the piece of work, of the phase that it is in
        self._least_idle = backups
        self._backups = Backups(backups)
        self._session = shared.session(server.target)
        self._results = None if far is None else far.results(server.target)

    def run(self):
        """(counters, paths of files). MapReduceError if the job can't be done."""
        with self._session, self._results or contextlib.nullcontext():
            threads = []
            try:
                # First: it is closed whatever comes, and who reads waits for nothing.
                if self._results is not None:
                    self._results.begin(self._workshop)
                self._workshop.make()
                for left in self._workshop.others():
                    self._say(f"{left} is of a job that was killed or still runs")
                threads += [self._start(self._feed), self._start(self._receive)]
                self._follow_until(lambda: self._ledger.is_mapped, "map")
                self._end_phase("map")
                self._begin_reduce()
                self._follow_until(lambda: self._ledger.is_reduced, "reduce")
                self._end_phase("reduce")
                made = alone.gathered(self._ledger, self._workshop, self._words, self._rejected)
                self._fill_queue()
                self._workshop.publish()
                self._workshop.remove()  # before the wait, in which a launcher may end this task
                self._part()
                return dict(self._ledger.counters), made
            finally:
                self._close()
                for thread in threads:
                    thread.join()
                self._workshop.remove()

    def _start(self, work):
        thread = threading.Thread(target=work, name="mapreduce", daemon=True)
        thread.start()
        return thread

    def _put(self, kind, item):
        of = self._shared.work[kind]
        self._session.run(of.put, {self._shared.text: json.dumps(item)})

    # ---- Threads that wait ----

    def _feed(self):
        """Puts all splits into the queue; waits while mappers are behind."""
        try:
            number = 0
            for split in alone.divided(self._words, self._workshop.path, self._reject):
                item = {**split, **self._base, "split": number}
                self._room.acquire()
                self._events.put(functools.partial(self._found, item))
                self._put("map", item)
                number += 1
            self._events.put(self._ledger.all_are_found)
        except errors.CancelledError:
            # If the job has ended before, nobody hears of this.
            why = (
                f"a job of the name '{self._shared.name}' has ended here before: give each of a program "
                "a `name` of its own"
            )
            self._events.put(functools.partial(self._ledger.fail, why))
        except MapReduceError as error:
            self._events.put(functools.partial(self._ledger.fail, str(error)))
        except Exception as error:
            why = f"splits can't be handed out: {told(error)}"
            self._events.put(functools.partial(self._ledger.fail, why))

    def _reject(self, place, record, error):
        def note():
            alone.rejecting(self._ledger, self._rejected.append)(place, record, error)

        self._events.put(note)

    def _receive(self):
        try:
            while True:
                report = json.loads(self._session.run(self._shared.next_report))
                self._events.put(functools.partial(self._on_report, report))
        except (errors.OutOfRangeError, errors.CancelledError):
            pass  # the job has ended
        except Exception as error:
            why = f"reports don't come any more: {told(error)}"
            self._events.put(functools.partial(self._ledger.fail, why))

    # ---- The thread that decides ----

    def _found(self, item):
        self._outstanding[self._ledger.add_split(item["weight"])] = item

    def _on_report(self, report):
        if "bye" in report:
            self._farewells.add(report["bye"])
        elif self._ledger.add_report(report) and "failed" not in report:
            self._backups.note(report["seconds"])
            (number,) = (report[key] for key in ("split", "partition", "publish") if key in report)
            self._workshop.forget(self._outstanding.pop(number))
            self._room.release()

    def _follow_until(self, is_done, kind):
        look = time.monotonic() + _GLANCE
        while not is_done():
            try:
                self._events.get(timeout=_GLANCE)()
            except queue.Empty:
                pass
            if time.monotonic() >= look:
                self._look_at_dead_letters()
                self._back_up(kind)
                look = time.monotonic() + _GLANCE
            alone.check(self._ledger)
            self._progress.tell()

    def _look_at_dead_letters(self):
        for of in self._shared.work.values():
            if not self._session.run(of.num_dead):
                continue
            item = json.loads(self._session.run(of.dead))
            if "over" in item or self._ledger.is_done(item):
                continue
            self._ledger.fail(
                f"{pieces.name_of(item)} was given up after {self._attempts} attempts: each time the task that "
                "had it died, or was silent for longer than the lease"
            )

    def _back_up(self, kind):
        """Has what takes long done by another as well; whoever reports first counts."""
        # Whoever reads may take his time; nobody puts results in faster than that.
        if kind == "publish" or (kind == "map" and not self._ledger.all_found):
            return
        num_waiting = int(self._session.run(self._shared.work[kind].size))
        for number in self._backups.due(num_waiting, self._outstanding, time.monotonic()):
            item = self._outstanding[number]
            self._say(f"{pieces.name_of(item)} takes long: another task does it as well")
            self._put(kind, item)

    def _end_phase(self, kind):
        """Tells workers that there is no more of a kind, though somebody may still be at a piece that is done."""
        of = self._shared.work[kind]
        for _ in range(self._num_takers[kind]):
            self._session.run(of.put_end)
        self._session.run(of.close)
        self._outstanding.clear()
        self._backups = Backups(self._least_idle)

    def _begin_reduce(self):
        plan = self._workshop.write_plan(self._ledger.plan)
        self._ledger.reduce_begins(self._parts)
        self._progress.begin_phase()
        for number in range(self._parts):
            item = {**self._base, "partition": number, "plan": plan}
            self._outstanding[number] = item
            self._put("reduce", item)

    def _fill_queue(self):
        """Has the results put into their queue, if they go into one, and closes it."""
        if self._results is None:
            return
        self._workshop.note_publishing()
        self._ledger.publish_begins()
        self._progress.begin_phase()
        for number, path in enumerate(self._ledger.parts):
            item = {"publish": number, "path": path}
            self._outstanding[number] = item
            self._put("publish", item)
        self._follow_until(lambda: self._ledger.is_published, "publish")
        self._end_phase("publish")
        self._results.close()

    def _part(self):
        """Lets workers hear that there is no more to do; those that died are not waited for long."""
        end = time.monotonic() + _FAREWELL
        while self._farewells < self._workers and (left := end - time.monotonic()) > 0:
            try:
                self._events.get(timeout=left)()
            except queue.Empty:
                return

    def _close(self):
        # An error that is on its way says more than one of these.
        for close in (
            # The last kind first: who finds another closed looks at this one.
            *(self._shared.work[kind].cancel for kind in reversed(KINDS)),
            self._shared.close_reports,
        ):
            with contextlib.suppress(errors.OpError):
                self._session.run(close)
        self._room.release()  # who waits for it finds the queue closed


def _silent(line):
    pass
