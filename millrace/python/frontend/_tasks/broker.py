"""What an App keeps on its broker: two queues, two tables and an area of results, and the steps on them.

All of it is in the resources of one task, by names that begin with the App's. Every program that uses the
App builds the same nodes, and finds the same things by them.
"""

import contextlib
import threading

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.default_graph import control_dependencies, device
from millrace._graph.graph import Graph
from millrace._ops.arrays import placeholder
from millrace._run.config import ConfigProto, RunOptions
from millrace._run.session import Session
from millrace._state.queues import PriorityQueue
from millrace._state.staging import MapStagingArea
from millrace._state.tables import MutableHashTable
from millrace._tasks import calls, errors as task_errors
from millrace._values import dtypes, errors

# The step that settles a call always puts a result: this is the key of none. The first one that is put
# under a key stays, so nothing grows under it.
_NO_RESULT = 0
_MICRO = 1e6  # an eta is a whole number of microseconds in its queue
_LOST = (
    errors.UnavailableError,
    errors.AbortedError,
    errors.CancelledError,
    errors.DeadlineExceededError,
    RuntimeError,  # another thread found the connection lost, and closed it
)


class Steps:
    """The nodes: of the queues of calls (`waiting`, in order of priority; `later`, in order of eta),
    the tables (`states` and `running`, by ids; `revoked`; `periods`, by names) and the results."""

    def __init__(self, name, place, lease):
        self.graph = Graph()
        with self.graph.as_default(), device(place):
            self._build(name, lease)
        self.graph.finalize()

    def _build(self, name, lease):
        waiting, later = (
            PriorityQueue(-1, [dtypes.string], shapes=[()], shared_name=f"{name}_{which}")
            for which in ("waiting", "later")
        )
        states, running, revoked, periods = (
            MutableHashTable(dtypes.string, dtypes.string, "", shared_name=f"{name}_{which}")
            for which in ("states", "running", "revoked", "periods")
        )
        results = MapStagingArea([dtypes.string], shapes=[()], shared_name=f"{name}_results")
        self._build_settling(waiting, later, states, running, results)
        self.take, self.take_later = waiting.dequeue(lease=lease), later.dequeue(lease=lease)
        # To settle what was taken, and to acknowledge it after that, in one step.
        with control_dependencies([self.settle]):
            self.end = gen_ops.queue_end_lease(waiting.queue_ref, self.take.fed)
            self.end_later = gen_ops.queue_end_lease(later.queue_ref, self.take_later.fed)

        # Texts under keys, for whichever table a step is about.
        self.keys, self.texts = placeholder(dtypes.string, [None]), placeholder(
            dtypes.string, [None]
        )
        self.begin = running.insert(self.keys, self.texts)
        self.look = (states.lookup(self.keys), revoked.lookup(self.keys))
        self.look_running = running.lookup(self.keys)
        self.look_periods, self.periods = periods.lookup(self.keys), periods.export()
        self.set_period, self.end_period = periods.insert(self.keys, self.texts), periods.remove(
            self.keys
        )
        self.revoke = revoked.insert(self.keys, self.texts)
        self.forget = (
            states.remove(self.keys),
            revoked.remove(self.keys),
            running.remove(self.keys),
        )
        self.list = (states.export(), running.export(), revoked.export())
        self.sizes = (waiting.size(), later.size(), *waiting.lease_counts())

        self.id = placeholder(dtypes.int64, [])
        self.result = results.peek(self.id)
        self.drop_result = results.get(self.id)[1]

    def _build_settling(self, waiting, later, states, running, results):
        """One step with all that a call's settlement changes. Under a lease all but the result is done
        once for the element, by whoever comes first; and of two results the first one stays.

        In this order: who sees a call in a queue finds its state; what follows a call waits before the
        call has ended; and a call that has ended has its result.
        """
        texts, numbers = (dtypes.string, [None]), (dtypes.int64, [None])
        self.fresh = placeholder(*texts), placeholder(*texts)
        self.waiting = placeholder(*numbers), placeholder(*texts)
        self.later = placeholder(*numbers), placeholder(*texts)
        self.kept = placeholder(dtypes.int64, []), placeholder(dtypes.string, [])
        self.ended = placeholder(*texts), placeholder(*texts)
        self.gone = placeholder(*texts)
        done = states.insert(*self.fresh)
        for queue, elements in ((waiting, self.waiting), (later, self.later)):
            with control_dependencies([done]):
                done = queue.enqueue_many(list(elements))
        self.send = done
        with control_dependencies([done]):
            done = results.put(self.kept[0], [self.kept[1]], indices=[0])
        with control_dependencies([done]):
            done = states.insert(*self.ended)
        with control_dependencies([done]):
            self.settle = running.remove(self.gone)


class Broker:
    """A connection to what an App keeps. Any thread may call.

    Args:
      target: where: "grpc://HOST:PORT" of a task that serves.
      place: its device, "/job:broker/task:0", where the target is a task of a cluster; None otherwise.
      name: of the App.
      lease: for how many seconds a call is lent to a worker that says nothing.
      patience: for how many seconds any step but one that takes may last.
    """

    def __init__(self, target, place, name, lease, patience):
        self._target = target
        self._place = place
        self._patience = patience
        self._lock = threading.Lock()
        self._session = None  # under the lock
        self.steps = Steps(name, place, lease)

    def connect(self, patience=None):
        """A new Session with the broker; patience as of the Broker, 0 for none."""
        patience = self._patience if patience is None else patience
        config = ConfigProto(operation_timeout_in_ms=int(1000 * patience))
        if self._place:
            config.device_filters.append(self._place)
        return Session(self._target, self.steps.graph, config)

    def _run(self, fetches, feeds=None, options=None):
        with self._lost("step"):
            return self._connected().run(fetches, feeds, options)

    def _connected(self):
        with self._lock:
            if self._session is None:
                self._session = self.connect()
            return self._session

    @contextlib.contextmanager
    def _lost(self, what):
        """A connection that broke is told as such, and made anew the next time."""
        try:
            yield
        except _LOST as error:
            self.close()
            message = getattr(error, "message", str(error))
            raise task_errors.BrokerLost(
                f"the broker at {self._target} gave no answer to a {what}: {message}"
            ) from None

    def close(self):
        """Ends the connection; the next step makes another."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(errors.OpError, RuntimeError):
                session.close()

    # ---- Calls -----------------------------------------------------------------------------------

    def send(self, settlement):
        """Tells the broker of a Settlement of nothing but calls that begin to wait, in one step."""
        self._run(self.steps.send, self._sent(settlement))

    def settle(self, settlement, end=None):
        """Tells the broker of a Settlement, in one step, under the lease that the thread is in.

        Args:
          end: what acknowledges the lease in the same step: `steps.end` or `steps.end_later`; None if
            it is not to be.
        """
        steps = self.steps
        number, text = settlement.result or (_NO_RESULT, b"")
        feeds = {
            **self._sent(settlement),
            steps.kept[0]: number,
            steps.kept[1]: text,
            **_fed(steps.ended, _named(settlement.states)),
            steps.gone: _array([calls.shown_id(each) for each in settlement.gone]),
        }
        self._run(steps.settle if end is None else end, feeds)

    def _sent(self, settlement):
        steps = self.steps
        later = [(int(_MICRO * each.eta), each.text()) for each in settlement.later]
        return {
            **_fed(steps.fresh, _named(settlement.fresh)),
            **_fed(steps.waiting, [(-each.priority, each.text()) for each in settlement.waiting]),
            **_fed(steps.later, later),
        }

    def look(self, number):
        """(state, whether it is revoked) of a call; b"" for the state of one that is not known."""
        states, revoked = self._run(self.steps.look, {self.steps.keys: [calls.shown_id(number)]})
        return states[0], bool(revoked[0])

    def states(self, numbers):
        """The states of calls, as texts."""
        return self._run(
            self.steps.look[0],
            {self.steps.keys: _array([calls.shown_id(each) for each in numbers])},
        )

    def begin(self, number, text):
        """Says that a worker has a call, `text` for those who ask; the same as `look`."""
        steps = self.steps
        feeds = {steps.keys: [calls.shown_id(number)], steps.texts: [text]}
        (states, revoked), _ = self._run((steps.look, steps.begin), feeds)
        return states[0], bool(revoked[0])

    def running(self, number):
        """What `begin` said of a call; b"" if no worker has it."""
        return self._run(self.steps.look_running, {self.steps.keys: [calls.shown_id(number)]})[0]

    def revoke(self, number):
        """A call that is not begun yet will not be."""
        steps = self.steps
        self._run(steps.revoke, {steps.keys: [calls.shown_id(number)], steps.texts: ["revoked"]})

    def result(self, number, seconds):
        """The text of a call's result; waits for it.

        Raises:
          NoResult: if there is none after so many seconds.
        """
        return self._waited(self.steps.result, number, seconds)

    def forget(self, number, seconds):
        """Drops a call that has ended, with its result."""
        with contextlib.suppress(task_errors.NoResult):
            self._waited(self.steps.drop_result, number, seconds)
        self.forget_state(number)

    def forget_state(self, number):
        """Drops all that is known of a call but its result."""
        self._run(self.steps.forget, {self.steps.keys: [calls.shown_id(number)]})

    def _waited(self, fetches, number, seconds):
        options = RunOptions(timeout_in_ms=max(1, int(1000 * seconds)))
        try:
            return self._connected().run(fetches, {self.steps.id: number}, options)[0]
        except errors.DeadlineExceededError:
            raise task_errors.NoResult(
                f"call {calls.shown_id(number)} has no result after {seconds:g} s"
            ) from None
        except _LOST as error:
            with self._lost("question for a result"):
                raise error

    # ---- Periods, and what there is --------------------------------------------------------------

    def period(self, name):
        """What is known of what is repeated under a name; b"" if nothing is."""
        return self._run(self.steps.look_periods, {self.steps.keys: [name]})[0]

    def set_period(self, name, text):
        """From now on what is repeated under a name is this; b"" for nothing."""
        steps = self.steps
        if text:
            self._run(steps.set_period, {steps.keys: [name], steps.texts: [text]})
        else:
            self._run(steps.end_period, {steps.keys: [name]})

    def periods(self):
        """{name: text} of all that is repeated."""
        return _dict(self._run(self.steps.periods))

    def list(self):
        """({id: state}, {id: who has it}, {ids that are revoked}), ids and states as texts."""
        states, running, revoked = self._run(self.steps.list)
        return _dict(states), _dict(running), set(_dict(revoked))

    def sizes(self):
        """(calls that wait, calls for later, calls that workers have)."""
        waiting, later, lent, _ = self._run(self.steps.sizes)
        return int(waiting), int(later), int(lent)


def _array(texts):
    return np.array(texts, dtype=object)


def _named(states):
    return [(calls.shown_id(number), text) for number, text in states.items()]


def _fed(placeholders, pairs):
    """Feeds of two vectors from pairs."""
    first, second = placeholders
    firsts = [pair[0] for pair in pairs]
    is_number = first.dtype == dtypes.int64
    firsts = np.array(firsts, np.int64) if is_number else _array(firsts)
    return {first: firsts, second: _array([pair[1] for pair in pairs])}


def _dict(exported):
    keys, values = exported
    return {key.decode(): value for key, value in zip(keys, values)}
