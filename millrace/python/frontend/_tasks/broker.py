"""What a program asks of an App's broker: connections to it, and a method for each kind of step."""

import contextlib
import threading

import numpy as np

from millrace._run.config import ConfigProto, RunOptions
from millrace._run.session import Session
from millrace._tasks import calls, errors as task_errors
from millrace._tasks.steps import AT_ONCE, NO_ID, Steps
from millrace._values import errors

_MICRO = 1e6  # an eta is a whole number of microseconds in its queue
# Seconds for which one step waits for a result if there is not much time. A step with a time limit of its own
# is a slow one, so only what is left in the end is waited for in that way.
_WAIT = 1.0
LOST = (
    errors.UnavailableError,
    errors.AbortedError,
    errors.CancelledError,
    errors.DeadlineExceededError,
    RuntimeError,  # another thread found the connection lost, and closed it
)


class Connection:
    """A session with the broker, with its steps ready to be made. Any thread may call.

    Args:
      patience: for how many seconds a step may last; 0 for any number.
    """

    def __init__(self, target, place, graph, patience):
        config = ConfigProto(operation_timeout_in_ms=int(1000 * patience))
        if place:
            config.device_filters.append(place)
        self._session = Session(target, graph, config)
        self._ready = {}
        self.made = 0  # how many steps

    def run(self, step, *fed):
        """Makes a Step; what it fetches."""
        ready = self._ready.get(step)
        if ready is None:
            ready = self._ready[step] = self._session.make_callable(step.fetches, step.feeds)
        self.made += 1
        return ready(*fed)

    def run_within(self, seconds, step, *fed):
        """The same with a time limit of its own, which makes it a slower one."""
        options = RunOptions(timeout_in_ms=max(1, int(1000 * seconds)))
        self.made += 1
        return self._session.run(step.fetches, dict(zip(step.feeds, fed)), options)

    def close(self):
        """Ends it, and the steps that wait."""
        with contextlib.suppress(errors.OpError, RuntimeError):
            self._session.close()  # if that fails the broker knows nothing of it any more


class Broker:
    """What an App keeps. Any thread may call.

    Args:
      target: where: "grpc://HOST:PORT" of a task that serves.
      place: its device, "/job:broker/task:0", where the target is a task of a cluster; None otherwise.
      name: of the App.
      lease: for how many seconds a call is lent to a worker that says nothing.
      patience: for how many seconds any step but one that waits for something may last.
    """

    def __init__(self, target, place, name, lease, patience):
        self._target = target
        self._place = place
        self.lease = lease
        self.patience = patience
        self._lock = threading.Lock()
        self._connections = {}  # by patience; under the lock
        self._made_before = 0  # steps, on connections that are closed; under the lock
        self.steps = Steps(name, place, lease)

    def connect(self, patience=0):
        """A new Connection; patience as of Connection."""
        return Connection(self._target, self._place, self.steps.graph, patience)

    @property
    def steps_made(self):
        """How many steps this App has made on its broker, but for those of its workers' seats."""
        with self._lock:
            return self._made_before + sum(each.made for each in self._connections.values())

    def _run(self, step, *fed):
        try:
            return self._connected(self.patience).run(step, *fed)
        except LOST as error:
            with self._lost("step"):
                raise error

    def _connected(self, patience):
        known = self._connections.get(patience)
        if known is not None:
            return known
        with self._lock:
            if patience not in self._connections:
                self._connections[patience] = self.connect(patience)
            return self._connections[patience]

    @contextlib.contextmanager
    def _lost(self, what):
        """A connection that broke is told as such, and made anew the next time."""
        try:
            yield
        except LOST as error:
            self.close()
            message = getattr(error, "message", str(error))
            raise task_errors.BrokerLost(
                f"the broker at {self._target} gave no answer to a {what}: {message}"
            ) from None

    def close(self):
        """Ends the connection; the next step makes another."""
        with self._lock:
            left = list(self._connections.values())
            self._connections.clear()
            self._made_before += sum(each.made for each in left)
        for each in left:
            each.close()

    # ---- Calls -----------------------------------------------------------------------------------

    def send(self, settlement):
        """Tells the broker of a Settlement of nothing but calls that begin to wait, in one step."""
        one = _one_call(settlement)
        if one is not None:
            self._run(self.steps.send_one, *one)
        else:
            self._run(self.steps.send, *fed_lists(settlement))

    def look(self, number):
        """(state, whether it is revoked) of a call; b"" for the state of one that is not known."""
        state, revoked = self._run(self.steps.look, number)
        return state, bool(revoked)

    def states(self, numbers):
        """The states of calls, as texts."""
        return self._run(self.steps.look_states, np.array(numbers, np.int64))

    def begin(self, number, text):
        """Says that a worker has a call, `text` for those who ask."""
        self._run(self.steps.begin, number, text)

    def running(self, number):
        """What is said of who has a call; b"" if no worker has it."""
        return self._run(self.steps.look_running, number)

    def revoke(self, number):
        """A call that is not begun yet will not be."""
        self._run(self.steps.revoke, number)

    def forget(self, number, seconds):
        """Drops a call that has ended, with its result."""
        with contextlib.suppress(task_errors.NoResult):
            self._waited(number, seconds, self.steps.drop_result, number)
        self.forget_state(number)

    def forget_state(self, number):
        """Drops all that is known of a call but its result."""
        self._run(self.steps.forget, number)

    # ---- Leases ----------------------------------------------------------------------------------

    def extend(self, lending, lease):
        """Lets a lease last longer; False if it is over."""
        return bool(self._run(lending.extend, lease))

    def give_back(self, lending, lease):
        """Gives back what is lent."""
        self._run(lending.give_back, lease)

    # ---- Results ---------------------------------------------------------------------------------

    def ask(self, settlement, seconds):
        """Sends one call, and gives the text of its result, in one step if it may be run at once.

        Raises:
          NoResult: as `result`. BrokerLost: it may have been sent or not.
        """
        one = _one_call(settlement)
        if one is None or seconds <= _WAIT:
            self.send(settlement)
        else:
            wait = self._wait_within(seconds)
            with self._lost("step"), contextlib.suppress(errors.DeadlineExceededError):
                return self._connected(wait).run(self.steps.ask, *one)
            seconds -= wait
            if not self.look(one[0])[0]:
                raise task_errors.BrokerLost(f"the broker at {self._target} does not know the call")
        return self.result(settlement.waiting[0].id, seconds)[0]

    def result(self, number, seconds, others=()):
        """(the text of a call's result, the states that others have then); waits for it.

        Raises:
          NoResult: if there is none after so many seconds.
        """
        if not others:
            return self._waited(number, seconds, self.steps.result, number), ()
        step = self.steps.result_and_states
        return self._waited(number, seconds, step, number, np.array(others, np.int64))

    def results(self, numbers, seconds, others=()):
        """The same of at most AT_ONCE calls: their texts; waits for all of them."""
        fed = np.array([*numbers, *[numbers[-1]] * (AT_ONCE - len(numbers))], np.int64)
        step = self.steps.results
        found = self._waited(numbers[0], seconds, step, fed, np.array(others, np.int64))
        return found[0][: len(numbers)], found[1]

    def _waited(self, number, seconds, step, *fed):
        left = seconds
        try:
            while left > _WAIT:
                wait = self._wait_within(left)
                with contextlib.suppress(errors.DeadlineExceededError):
                    return self._connected(wait).run(step, *fed)
                left -= wait
            return self._connected(_WAIT).run_within(left, step, *fed)
        except errors.DeadlineExceededError:
            raise task_errors.NoResult(
                f"call {calls.shown_id(number)} has no result after {seconds:g} s"
            ) from None
        except LOST as error:
            with self._lost("question for a result"):
                raise error

    def _wait_within(self, seconds):
        """For how long one step is to wait: as long as any other one may last, if there is so much time."""
        return self.patience if seconds > self.patience > _WAIT else _WAIT

    # ---- Periods, and what there is --------------------------------------------------------------

    def period(self, name):
        """What is known of what is repeated under a name; b"" if nothing is."""
        return self._run(self.steps.look_period, name)

    def set_period(self, name, text):
        """From now on what is repeated under a name is this; b"" for nothing."""
        if text:
            self._run(self.steps.set_period, name, text)
        else:
            self._run(self.steps.end_period, name)

    def periods(self):
        """{name: text} of all that is repeated."""
        names, texts = self._run(self.steps.periods)
        return {name.decode(): text for name, text in zip(names, texts)}

    def list(self):
        """({id: state}, {id: who has it}, {ids that are revoked}), states as texts."""
        states, running, revoked = self._run(self.steps.list)
        return _dict(states), _dict(running), set(_dict(revoked))

    def sizes(self):
        """(calls that wait, calls for later, calls that workers have)."""
        waiting, later, lent, _ = self._run(self.steps.sizes)
        return int(waiting), int(later), int(lent)


# ---- What is fed ---------------------------------------------------------------------------------


def fed_plain(settlement):
    """The values of `Steps.plain`."""
    return settlement.ended, settlement.result, settlement.state, settlement.gone


def fed_lists(settlement):
    """The values of `Steps.send`, which in `Steps.whole` follow those of `Steps.plain`."""
    waiting, later = settlement.waiting, settlement.later
    return (
        np.array(list(settlement.fresh), np.int64),
        _texts(settlement.fresh.values()),
        np.array([-each.priority for each in waiting], np.int64),
        np.array([each.id for each in waiting], np.int64),
        _texts(each.text() for each in waiting),
        np.array([int(_MICRO * each.eta) for each in later], np.int64),
        _texts(each.text() for each in later),
    )


def _one_call(settlement):
    """The values of `Steps.send_one`; None if it is not one call that may be run at once."""
    if settlement.later or len(settlement.waiting) != 1 or len(settlement.fresh) != 1:
        return None
    (call,), ((number, state),) = settlement.waiting, settlement.fresh.items()
    return (call.id, state, -call.priority, call.text()) if number == call.id else None


def _texts(texts):
    return np.array(list(texts), dtype=object)


def _dict(exported):
    keys, values = exported
    return {int(key): value for key, value in zip(keys, values) if key != NO_ID}
