"""Elements that are lent to a program: what it holds of one, and the heartbeats by which it keeps it."""

import contextlib
import threading
import time
import weakref

from millrace import _millrace
from millrace._run.fetches import Fetches, cache_key, parted
from millrace._values import errors

_MAX_SIGNATURES = 1024  # of steps, that a session keeps

_entered = threading.local()  # leases: those whose `with` blocks this thread is in, innermost last
ENTERED = []  # those of all threads: steps need not look for one while nobody has any

# Ops that run functions, whose updates are not looked for one by one.
_CALLS = frozenset(
    "PartitionedCall StatefulPartitionedCall If StatelessIf While StatelessWhile Case For "
    "RemoteCall SymbolicGradient".split()
)


def entered_lease(graph):
    """The Lease under which this thread makes its steps of a graph; None if there is none."""
    for lease in reversed(getattr(_entered, "leases", ())):
        if lease.graph is graph:
            return lease
    return None


@contextlib.contextmanager
def under_no_lease():
    """Steps that this thread makes inside are made as if it were in no lease's block."""
    aside, _entered.leases = getattr(_entered, "leases", []), []
    try:
        yield
    finally:
        _entered.leases = aside


class Lease:
    """An element that a queue has lent to this program, until it acknowledges it or gives it back.

        taken = queue.dequeue(lease=30)
        with session.run(taken) as lease:
            session.run(add, {words: count(lease.value)})

    Steps of the same graph that the thread makes inside of `with` are made under the lease: each
    update in them (assignments, scatters, enqueues, tables, optimizers) happens once for the element,
    also if an earlier attempt made it, or its answer was lost and it is tried again. The block
    acknowledges the element at its end, and gives it back if it ends by an exception.

    Heartbeats extend the lease as long as this object is there and its session is open. A program
    that is stopped or cut off for longer than the lease loses it: the element goes to another taker.

    Attributes:
      value: the element: what a dequeue gives.
      attempt: an int: how often the element was lent, this time included.
      graph: the tf.Graph.
      is_held: False once it was acknowledged, given back, or is known to be lost.
    """

    def __init__(self, taken, parts, run, signatures):
        self.value, attempt, self._bytes = parts
        self.attempt = int(attempt)
        self.graph = taken.graph
        self.is_held = True
        self._taken = taken
        self._run = run
        self._signatures = signatures
        self._is_lost = False
        self._steps = _millrace.LeasedSteps(self._bytes)

    def ack(self):
        """Says that all is done: the element will not be lent again. Does nothing the second time.

        Raises:
          tf.errors.FailedPreconditionError: if the lease is lost, or the element a dead letter.
          RuntimeError: if the session is closed; the element has gone back to the queue then.
        """
        self._end(self._taken.ended)

    def give_back(self):
        """Gives the element to the next taker at once. Does nothing if it is not held any more.

        Raises:
          RuntimeError: if the session is closed.
        """
        if not self._is_lost:
            self._end(self._taken.given_back)

    def _end(self, operation):
        self.check()
        if not self.is_held:
            return
        self._run(operation, {self._taken.fed: self._bytes})
        self.is_held = False

    def check(self):
        """FailedPreconditionError if the lease is known to be lost."""
        if self._is_lost:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"the lease of {self._taken.value} (attempt {self.attempt}) is lost: no heartbeat "
                f"came through for {self._taken.seconds:g} s, and the element went to another taker",
            )

    def __enter__(self):
        self.check()
        if not self.is_held:
            raise ValueError("the lease was acknowledged or given back before; dequeue again")
        if not hasattr(_entered, "leases"):
            _entered.leases = []
        _entered.leases.append(self)
        ENTERED.append(self)
        return self

    def __exit__(self, kind, error, traceback):
        _entered.leases.remove(self)
        ENTERED.remove(self)
        if kind is None:
            self.ack()
            return
        # The program hears of its own error; what can't be given back comes back with time.
        with contextlib.suppress(errors.OpError, RuntimeError):
            self.give_back()

    def step(self, run, fetches, feed_dict, options, run_metadata):
        """Makes a step of a session under this lease: `run` is the session's, without."""
        self.check()
        feeds = dict(feed_dict or {})
        signature = self._signatures.of(fetches, feeds)
        if signature is None:
            return run(fetches, feed_dict, options, run_metadata)
        number, lease = self._steps.begin(signature)
        is_done = False
        try:
            feeds[self._taken.fed] = lease
            made, _ = run((fetches, self._taken.under.op), feeds, options, run_metadata)
            is_done = True
        finally:
            self._steps.end(number, is_done)
        return made

    def extend(self):
        """Makes a heartbeat. False if there is none to be made any more."""
        if not self.is_held or self._is_lost:
            return False
        try:
            held = self._run(self._taken.held, {self._taken.fed: self._bytes})
        except errors.OpError:
            return True  # the next one may come through in time
        except RuntimeError:
            return False  # the session is closed
        self._is_lost = not held and self.is_held
        return bool(held)

    @property
    def seconds(self):
        """How long it lasts without a heartbeat."""
        return self._taken.seconds

    def __repr__(self):
        state = "lost" if self._is_lost else "held" if self.is_held else "ended"
        return f"<tf.queue.Lease of {self.value!r}, attempt {self.attempt}, {state}>"


class StepSignatures:
    """By which number each step of a session is known when it is made again under a lease.

    What was found is kept, so that a step that is made for each element looks at its graph once.

    Args:
      graph: the tf.Graph of the session.
    """

    def __init__(self, graph):
        self._graph = graph
        self._kept = {}

    def of(self, fetches, feeds):
        """The number of the step with these fetches and this feed_dict; None if it updates nothing."""
        try:
            key = (cache_key(fetches), *feeds)
            if key in self._kept:
                return self._kept[key]
        except TypeError:  # something that cannot be a key
            return self._found(fetches, feeds)
        signature = self._found(fetches, feeds)
        if len(self._kept) >= _MAX_SIGNATURES:
            self._kept.clear()
        self._kept[key] = signature
        return signature

    def _found(self, fetches, feeds):
        parsed = Fetches(self._graph, fetches, None)
        fed = {self._graph.as_graph_element(key, allow_operation=False) for key, _ in parted(feeds)}
        if not _updates(parsed, fed):
            return None
        names = [sorted(tensor.name for tensor in fed)]
        names += [[each.name for each in found] for found in (parsed.tensors, parsed.operations)]
        return hash(str(names)) % 2**64


def _updates(parsed, fed):
    """Whether what is fetched needs an op that updates state."""
    to_visit = [tensor.op for tensor in parsed.tensors if tensor not in fed]
    to_visit += parsed.operations
    seen = set(to_visit)
    while to_visit:
        operation = to_visit.pop()
        kind = operation.type
        if kind in _CALLS or _millrace.ops.is_made_once(kind):
            return True
        before = [tensor.op for tensor in operation.inputs if tensor not in fed]
        for each in (*before, *operation.control_inputs):
            if each not in seen:
                seen.add(each)
                to_visit.append(each)
    return False


class Heartbeats:
    """What extends the leases of one session, each a third of its time after the last time.

    A thread does it while there are leases that somebody holds, and ends when there are none, or
    the session is closed.
    """

    def __init__(self):
        self._changed = threading.Condition()
        self._due = weakref.WeakKeyDictionary()  # Lease -> when
        self._thread = None
        self._is_over = False

    def keep(self, lease):
        """Extends a lease from now on, as long as the program holds it."""
        with self._changed:
            self._due[lease] = time.monotonic() + lease.seconds / 3
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="leases", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self):
        """No more heartbeats. One under way ends with the session."""
        with self._changed:
            self._is_over = True
            self._changed.notify()

    def _work(self):
        while True:
            with self._changed:
                due = min(self._due.items(), key=lambda entry: entry[1], default=None)
                if due is None or self._is_over:
                    self._thread = None
                    return
                lease, when = due
                pause = when - time.monotonic()
                if pause > 0:
                    del lease, due  # or this thread would be one who holds it
                    self._changed.wait(pause)
                    continue
            again = lease.extend()
            with self._changed:
                if again:
                    self._due[lease] = time.monotonic() + lease.seconds / 3
                else:
                    self._due.pop(lease, None)
            del lease, due
