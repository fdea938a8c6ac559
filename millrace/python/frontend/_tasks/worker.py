"""Worker: threads that take calls, run them, and say what became of them."""

import json
import os
import socket
import threading
import time
import traceback

from millrace._tasks import calls, code, errors as task_errors, running, values, verdicts
from millrace._tasks.seats import Seat
from millrace._values import errors

_LONGEST_PAUSE = 5.0  # seconds before the broker is tried again
_LONGEST_STOP = 5.0  # seconds until what settles calls is through with it, if the broker answers


class Worker:
    """Takes calls from the broker and runs them, in threads, until it is stopped.

    A call is lent to it, and acknowledged when its result is kept: if the worker dies, another one runs
    it again. Any number of workers may come and go.

    Args:
      app: the App, with the tasks that it runs.
      threads: how many calls it runs at once.
      grace: seconds that a call may go on when the worker is asked to stop; then it is given back.
      name: as others see it; None for the machine's and the process'.
      say: is given a line now and then.
    """

    def __init__(self, app, threads=1, grace=10.0, name=None, say=print):
        if threads < 1 or grace < 0:
            raise ValueError(
                f"a worker with {threads} threads and {grace} s of grace makes no sense"
            )
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self._app = app
        self._broker = app.broker
        self._grace = grace
        self._say = say
        self._limits = running.TimeLimits()
        self._stopping = threading.Event()
        self._joined = threading.Event()
        self._rates = {}  # by task; under the lock
        self._lock = threading.Lock()
        steps = self._broker.steps
        who = json.dumps({"worker": self.name, "attempt": 1})[:-1] + ', "since": '
        self.seats = [Seat(self._broker, steps.calls, who) for _ in range(threads)]
        self.seats.append(Seat(self._broker, steps.dues))
        works = [self._run_one] * threads + [self._move_one]
        self._threads = [
            threading.Thread(target=self._work, args=each, name=f"{app.name}-{i}", daemon=True)
            for i, each in enumerate(zip(self.seats, works))
        ]
        self._helpers = [
            threading.Thread(target=self._sweep, name=f"{app.name}-old", daemon=True),
            threading.Thread(target=self._keep, name=f"{app.name}-leases", daemon=True),
        ]

    def start(self):
        """Begins, in the background."""
        for thread in (*self._threads, *self._helpers):
            thread.start()

    def run(self):
        """Works until stop() is called, by a signal's handler say."""
        self.start()
        self._stopping.wait()
        self.join()

    def stop(self):
        """Takes no more calls. Does not wait: a signal's handler may call it."""
        self._stopping.set()

    def join(self):
        """After stop(): waits for the calls that run, and gives back those that take too long."""
        end = time.monotonic() + self._grace
        self._stop_seats()
        for seat, thread in zip(self.seats, self._threads):
            thread.join(max(0.0, end - time.monotonic()))
            loan = seat.held() if thread.is_alive() else None
            if loan is not None:
                self._say(
                    f"{self.name}: gives back a call that runs for more than {self._grace:g} s"
                )
                loan.is_lost = True
                seat.give_back(loan)
        self._joined.set()

    def _stop_seats(self):
        """What waits for calls ends; the broker may be one that does not answer."""
        stopping = [threading.Thread(target=seat.stop, daemon=True) for seat in self.seats]
        for thread in stopping:
            thread.start()
        end = time.monotonic() + _LONGEST_STOP
        for thread in stopping:
            thread.join(max(0.0, end - time.monotonic()))

    @property
    def steps_made(self):
        """How many steps on the broker its seats have made, of which each call takes one."""
        return sum(seat.steps_made for seat in self.seats)

    # ---- Taking ----------------------------------------------------------------------------------

    def _work(self, seat, work):
        """A thread: takes and works, and connects anew when the broker was lost."""
        failures = 0
        while not self._stopping.is_set():
            try:
                self._broker.sizes()  # is it there at all? This wait has an end
                if not seat.connect():
                    break
                loan = settlement = None
                while True:
                    loan = self._take(seat, loan, settlement)
                    if loan is None:
                        return
                    failures = 0
                    settlement = work(seat, loan)
                    if settlement is None:
                        loan = None
            except Exception as error:  # of the broker's, or a fault here: no call ends the thread
                if self._stopping.is_set():
                    break
                pause = min(_LONGEST_PAUSE, 0.1 * 2.0 ** min(failures, 20))
                failures += 1
                self._say(f"{self.name}: tries again in {pause:.1f} s: {first_line(error)}")
                self._stopping.wait(pause)
            finally:
                seat.close()

    def _take(self, seat, loan, settlement):
        """Settles what was done, and takes the next: a Loan; None if the worker stops."""
        if self._stopping.is_set():
            seat.end()
        if loan is not None and loan.is_lost:
            self._say(f"{self.name}: a call is not acknowledged: it went to another worker")
            loan = settlement = None
        try:
            return seat.take(loan, settlement)
        except (errors.FailedPreconditionError, errors.InvalidArgumentError, ValueError) as error:
            if loan is None:
                raise
            self._say(f"{self.name}: a call is not acknowledged: {first_line(error)}")
        seat.give_back(loan)
        return seat.take()

    def _keep(self):
        """A thread: extends the leases of what the worker has."""
        while not self._joined.wait(self._broker.lease / 3):
            for seat in self.seats:
                seat.keep()

    def _read(self, loan):
        """(the Call that was lent, None); for what is none (None, how it is settled: put aside as DEAD)."""
        try:
            call = calls.read_call(loan.text)
            if loan.number and call.id != loan.number:
                raise ValueError(f"its id is {call.id}, and {loan.number} in its queue")
            return call, None
        except ValueError as error:
            number = self._app.fresh_id()
            told = calls.Call(number, "?", sent=self._app.clock())
            message = f"what came is no call: {error}"
            self._say(f"{self.name}: {message}; kept as call {calls.shown_id(number)}")
            return None, self._failed(told, calls.DEAD, message).but(gone=loan.number)

    def _sweep(self):
        """A thread: drops what is kept of calls that ended long ago."""
        while not self._stopping.wait(min(60.0, self._app.keep / 2)):
            try:
                drop_old(self._broker, self._app.clock() - self._app.keep)
            except (errors.OpError, task_errors.BrokerLost):
                pass  # the threads that take say so, and it is there again the next time
            except Exception as error:
                # A state that is none of ours, say; others are dropped later.
                self._say(f"{self.name}: can't drop what is old: {first_line(error)}")

    # ---- Calls that wait for their time ----------------------------------------------------------

    def _move_one(self, seat, loan):
        """The Settlement of a call whose time may have come; None if it was given back."""
        call, refusal = self._read(loan)
        if call is None:
            return refusal
        now = self._app.clock()
        if call.eta > now:
            # Not to the end: one that is due earlier may come meanwhile, and only who is free takes it.
            self._stopping.wait(min(call.eta - now, 0.5))
            seat.give_back(loan)
            return None
        if call.gathers:
            states = map(verdicts.read_state, self._broker.states(call.gathers))
            return verdicts.gathered(call, list(states), self._value_of, now)
        if call.period is not None and not self._is_current(call.period):
            return verdicts.Settlement()
        return verdicts.due(call, now, self._app.fresh_id())

    def _value_of(self, number):
        return json.loads(self._broker.result(number, 10.0)[0])["value"]

    def _is_current(self, period):
        name, number, _ = period
        return verdicts.read_state(self._broker.period(name)).get("number") == number

    # ---- Running ---------------------------------------------------------------------------------

    def _run_one(self, _seat, loan):
        """Runs a call, if it is to be run: its Settlement."""
        call, refusal = self._read(loan)
        if call is None:
            return refusal
        now = self._app.clock()
        if loan.attempt > 1:
            # The step that took it says who has a call only the first time (steps.py).
            told = {"worker": self.name, "attempt": loan.attempt, "since": time.time()}
            self._broker.begin(call.id, json.dumps(told))
        if verdicts.text_has_ended(loan.state):
            # Its result was kept, and the acknowledgement was lost.
            return verdicts.Settlement(gone=call.id)
        task = self._app.tasks.get(call.name)
        attempts = task.attempts if task else 3
        refusal = verdicts.why_not(call, loan.attempt, attempts, loan.is_revoked, now)
        if refusal is None and task is None and not call.code:
            known = ", ".join(sorted(self._app.tasks)) or "none"
            refusal = calls.FAILURE, f"{self.name} knows no task '{call.name}'; it knows {known}"
        if refusal is not None:
            return self._failed(call, *refusal)
        begin = self._begin_of(task, call, now)
        if begin > now:
            return verdicts.put_off(call, begin, is_admitted=True)
        running.tell(running.CurrentCall(self._broker, call, loan.attempt))
        try:
            return self._outcome(task, call)
        finally:
            running.tell(None)

    def _begin_of(self, task, call, now):
        """When a task's rate lets a call begin."""
        seconds = verdicts.read_rate(task.rate) if task else 0.0
        if not seconds or call.is_admitted:
            return now
        with self._lock:
            return self._rates.setdefault(task.name, verdicts.Rate(seconds)).moment(now)

    def _outcome(self, task, call):
        """Runs the function; the Settlement of what it did."""
        app = self._app
        try:
            function = task.function if task else self._function(call)
            args = values.unpacked(call.args, app.pickles)
            kwargs = values.unpacked(call.kwargs, app.pickles)
            limit = task.time_limit if task else 0.0
            value = self._limits.run(limit, function, *args, **kwargs)
            value = values.packed(value, app.pickles, f"what '{call.name}' returned")
        except BaseException as error:  # also SystemExit: it is the call that ends, not the worker
            return self._after(task, call, error)
        return verdicts.succeeded(call, value, app.clock(), self.name)

    def _function(self, call):
        if not self._app.runs_code:
            raise ValueError(
                "the call brings its own code, and this worker's App was not made with runs_code=True"
            )
        return code.unpacked_code(call.code)

    def _after(self, task, call, error):
        """The Settlement of a call that raised."""
        now = self._app.clock()
        message = f"{type(error).__name__}: {error}"
        is_retried = isinstance(error, (task_errors.Retry, *(task.retry_on if task else ())))
        if task and is_retried and call.retries < task.retries:
            pause = getattr(error, "after", None) if isinstance(error, task_errors.Retry) else None
            if pause is None:
                pause = verdicts.pause_before(call.retries, task.pause, task.longest_pause, call.id)
            return verdicts.retried(call, message, pause, now)
        told = "".join(traceback.format_exception(error))
        return self._failed(call, calls.FAILURE, message, told)

    def _failed(self, call, state, message, told=""):
        return verdicts.failed(call, state, message, self._app.clock(), self.name, told)


def drop_old(broker, before):
    """Drops the results and states of calls that ended before a moment; how many there were.

    And the word that a call is revoked, where nothing else is known of it: it was dropped before, or
    never sent.
    """
    states, _, revoked = broker.list()
    told = {number: verdicts.read_state(text) for number, text in states.items()}
    old = [each for each, state in told.items() if verdicts.has_ended(state)]
    old = [each for each in old if told[each]["at"] < before]
    for number in old:
        if broker.look(number)[0]:  # another worker may do the same
            broker.forget(number, 1.0)
    for number in revoked - states.keys():
        if not broker.look(number)[0]:  # the three lists are not of one moment
            broker.forget_state(number)
    return len(old)


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]
