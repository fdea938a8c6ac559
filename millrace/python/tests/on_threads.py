"""Work beside a test, on threads of its own, whose errors are not lost."""

import threading

PATIENCE = 150  # seconds; a bound on hangs, not a measure of speed


class Beside:
    """A function that runs beside the test."""

    def __init__(self, function):
        self._value = self._error = None
        self._thread = threading.Thread(target=self._run, args=[function], daemon=True)
        self._thread.start()

    def _run(self, function):
        try:
            self._value = function()
        except BaseException as error:  # noqa: B902: told by `result`
            self._error = error

    def result(self):
        """What it gave; raises what it raised."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), f"still running after {PATIENCE} s"
        if self._error is not None:
            raise self._error
        return self._value


def together(works):
    """Runs each on a thread of its own; the first error of one of them."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: B902: told below
            errors.append(error)

    running = [Beside(lambda work=work: guarded(work)) for work in works]
    for each in running:
        each.result()
    if errors:
        raise errors[0]
