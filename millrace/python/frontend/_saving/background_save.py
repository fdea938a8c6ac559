"""A save that goes on while its program does."""

import logging
import threading

_log = logging.getLogger("millrace")


def wait_for_save(saver):
    """Returns when an asynchronous save of a Saver is done, and raises its error; at once for one without `wait`."""
    wait = getattr(saver, "wait", None)
    if wait is not None:
        wait()


class BackgroundSave:
    """Calls a function on a thread of its own, and keeps its error for whoever waits.

    A program that ends waits for it.

    Args:
      write: the function.
      path: of the checkpoint, for words.
    """

    def __init__(self, write, path):
        self._write = write
        self._path = path
        self._error = None
        self._thread = threading.Thread(target=self._run, name=f"save {path}")
        self._thread.start()

    def _run(self):
        try:
            self._write()
        except Exception as error:  # whoever waits gets it, whatever it is
            # Said here, too: a program may end without waiting.
            _log.error("checkpoint %s was not saved: %s", self._path, error)
            self._error = error

    @property
    def is_done(self):
        return not self._thread.is_alive()

    def wait(self):
        """Returns when it is done. Raises what the function raised, once."""
        self._thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error
