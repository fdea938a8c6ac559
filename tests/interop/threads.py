"""Python threads that tests start: each ends with the test, and its exception is not lost."""

import threading

from tasks import DEADLINE


class Background:
    """A call on a thread of its own."""

    def __init__(self, call, *arguments):
        self._value = None
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(call, arguments), daemon=True)
        self._thread.start()

    def _run(self, call, arguments):
        try:
            self._value = call(*arguments)
        except BaseException as error:  # handed to whoever asks for the result
            self._error = error

    def ended(self):
        return not self._thread.is_alive()

    def error(self):
        """What the call raised, or None; waits for its end."""
        self._thread.join(DEADLINE)
        assert self.ended(), f"still running after {DEADLINE} s"
        return self._error

    def result(self):
        """What the call returned; raises what it raised."""
        error = self.error()
        if error is not None:
            raise error
        return self._value


def in_threads(call, arguments):
    """call(a) for each argument, all at once; their results in order."""
    return [each.result() for each in [Background(call, a) for a in arguments]]
