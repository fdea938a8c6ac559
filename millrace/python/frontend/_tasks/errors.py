"""What goes wrong with calls, as their senders hear of it, and what tasks may raise."""


class TaskError(Exception):
    """A call ended without a value.

    Attributes:
      id: of the call, as text; name: of its task.
      state: "FAILURE" (it raised), "DEAD" (workers that had it died too often), "EXPIRED" or "REVOKED".
      message: what happened.
      traceback: of the exception on the worker, as text; "" if there was none.
    """

    def __init__(self, call_id, name, state, message, traceback=""):
        super().__init__(call_id, name, state, message, traceback)
        self.id, self.name, self.state = call_id, name, state
        self.message, self.traceback = message, traceback

    def __str__(self):
        told = f"call {self.id} of '{self.name}' ended as {self.state}: {self.message}"
        return f"{told}\n{self.traceback}".rstrip()


class NoResult(TimeoutError):
    """A call has no result yet, and whoever asked does not want to wait any longer."""


class BrokerLost(ConnectionError):
    """The broker did not answer, or its connection broke: whether what was asked for happened is unknown."""


class Retry(Exception):
    """Raised by a task that wants to be run again.

    Args:
      why: for people.
      after: seconds until then; None for the task's growing pauses.

    It counts as one of the task's retries.
    """

    def __init__(self, why="asked for", after=None):
        if after is not None and not after >= 0:
            raise ValueError(f"after is {after!r}; give seconds, 0 or more, or None")
        super().__init__(why)
        self.after = after


class TimeLimitExceeded(Exception):
    """Raised inside of a task that runs for longer than its time limit."""
