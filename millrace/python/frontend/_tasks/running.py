"""Running one call in a worker's thread: what the function is told of it, and its time limit."""

import ctypes
import threading
import time

from millrace._tasks import calls, errors

_of_thread = threading.local()  # call: what this thread runs


class CurrentCall:
    """What a task may ask of the call that it runs: `tasks.current()`.

    Attributes:
      id, name: of the call.
      attempt: how often workers began it, this time included.
      retries: how often it was tried again after an error.
    """

    def __init__(self, broker, call, attempt):
        self.name = call.name
        self.attempt, self.retries = attempt, call.retries
        self._broker = broker
        self._number = call.id

    @property
    def id(self):
        return calls.shown_id(self._number)

    def is_revoked(self):
        """Whether somebody does not want it any more. Asks the broker."""
        return self._broker.look(self._number)[1]


def current():
    """The CurrentCall of this thread; None outside of a task that a worker runs."""
    return getattr(_of_thread, "call", None)


def tell(call):
    """From now on `current()` gives this thread a CurrentCall, or None."""
    _of_thread.call = call


class TimeLimits:
    """Raises TimeLimitExceeded inside of threads that take too long. One thread watches them all.

    It is raised between two steps of Python: a call into C that does not come back is not ended.
    """

    def __init__(self):
        self._changed = threading.Condition()
        self._ends = {}  # thread's number -> (when, a lock that is let go of once it was raised)
        self._thread = None

    def run(self, seconds, function, *args, **kwargs):
        """The function's value, if it takes at most so many seconds; 0 for any number.

        Raises:
          TimeLimitExceeded: inside of the function, which may clean up.
        """
        if not seconds:
            return function(*args, **kwargs)
        try:
            raised = self._enter(time.monotonic() + seconds)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave(raised)
                # One that was raised and has not arrived does so when a function begins.
                _nothing()
        except errors.TimeLimitExceeded as error:
            raise errors.TimeLimitExceeded(f"it ran for more than {seconds:g} s") from error

    def _enter(self, end):
        raised = threading.Lock()
        raised.acquire()
        with self._changed:
            self._ends[threading.get_ident()] = end, raised
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="limits", daemon=True)
                self._thread.start()
            self._changed.notify()
        return raised

    def _leave(self, raised):
        # Who takes the entry out decides. Not under the lock that all share: the error may arrive just
        # when this thread has it, which would then keep it.
        if self._ends.pop(threading.get_ident(), None) is None:
            raised.acquire()
            return
        with self._changed:
            self._changed.notify()

    def _watch(self):
        with self._changed:
            while ends := list(self._ends.items()):
                number, (end, raised) = min(ends, key=lambda entry: entry[1][0])
                pause = end - time.monotonic()
                if pause > 0:
                    self._changed.wait(pause)
                elif self._ends.pop(number, None) is not None:
                    kind = ctypes.py_object(errors.TimeLimitExceeded)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), kind)
                    raised.release()
            self._thread = None


def _nothing():
    """Nothing."""
