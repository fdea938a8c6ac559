"""What became of calls, for those who sent them."""

import json
import time

from millrace._tasks import calls, errors, values, verdicts
from millrace._tasks.steps import AT_ONCE

PATIENCE = 60.0  # seconds
_SETTLING = 5.0  # seconds, of which a call takes some milliseconds


class Result:
    """The result of one call, wherever it is run. What `send` gives; `App.result(id)` makes another.

    Attributes:
      id: of the call, as text.
    """

    def __init__(self, broker, number, pickles, unread):
        self._broker = broker
        self._number = number
        self._pickles = pickles
        self._unread = unread
        self._end = None  # the state in which it has ended, once its result is known here

    def __del__(self):
        self._unread.drop(self._number)

    @property
    def id(self):
        return calls.shown_id(self._number)

    def get(self, timeout=PATIENCE):
        """What the task returned; waits for it for so many seconds.

        Raises:
          tasks.NoResult: a TimeoutError: there is none in this time. It may come later.
          tasks.TaskError: if the call ended without a value; it says how, with the worker's traceback.
          tasks.BrokerLost: a ConnectionError.
        """
        try:
            told = json.loads(self._unread.text_of(self._number, timeout))
        except errors.NoResult as error:
            raise errors.NoResult(f"{error}; it is {self.state}") from None
        self._end = told["state"]
        return value_of(self.id, told, self._pickles)

    def look_ahead(self, others, seconds):
        """Before `get` is asked of it and of others behind it: they may come many at a time."""
        self._unread.look_ahead([self._number, *(each._number for each in others)], seconds)

    @property
    def state(self):
        """One of tasks.STATES, or "UNKNOWN" of a call that was forgotten or never sent.

        Others may see a call as STARTED for a moment after its result is there.
        """
        state, is_revoked = self._look()
        if not state:
            return "UNKNOWN"
        if verdicts.has_ended(state):
            return state["state"]
        if self._end:
            return self._end
        if self._broker.running(self._number):
            return calls.STARTED
        return calls.REVOKED if is_revoked else state["state"]

    def is_ready(self):
        """Whether it has ended, well or not."""
        state, _ = self._look()
        return verdicts.has_ended(state) or bool(state and self._end)

    def _look(self):
        text, is_revoked = self._broker.look(self._number)
        return verdicts.read_state(text), is_revoked

    def revoke(self):
        """If it is not begun yet, it will not be: it ends as REVOKED when a worker comes across it.

        One that runs goes on, unless the task itself asks `tasks.current().is_revoked()`.
        """
        self._broker.revoke(self._number)

    def forget(self):
        """Drops what the broker keeps of a call that has ended.

        Raises:
          ValueError: if it has not.
        """
        # Its result is there before its state says so: what is forgotten too early would come back.
        end = time.monotonic() + _SETTLING
        state, _ = self._look()
        while state and self._end and not verdicts.has_ended(state) and time.monotonic() < end:
            time.sleep(0.01)
            state, _ = self._look()
        if not verdicts.has_ended(state):
            if state and self._end:
                raise ValueError(f"call {self.id} is not settled yet: forget it in a moment")
            raise ValueError(f"call {self.id} is {self.state}: revoke it, and wait for its result")
        self._broker.forget(self._number, 1.0)
        self._end = None

    def __repr__(self):
        return f"<tasks.Result of call {self.id}>"


def value_of(shown_id, told, pickles):
    """The value that a call's result tells of.

    Raises:
      TaskError: if it tells of none.
    """
    if told["state"] == calls.SUCCESS:
        return values.unpacked(told["value"], pickles)
    raise errors.TaskError(
        shown_id, told["name"], told["state"], told["message"], told["traceback"]
    )


class GroupResult:
    """The results of calls that were sent together.

    Attributes:
      results: their Results, in the order of the group.
    """

    def __init__(self, results):
        self.results = list(results)

    def get(self, timeout=PATIENCE):
        """The list of what they returned; waits for so many seconds for all of them together.

        Raises:
          as Result.get, of the first in order that has no value.
        """
        end = time.monotonic() + timeout
        got = []
        for i, each in enumerate(self.results):
            each.look_ahead(self.results[i + 1 : i + AT_ONCE], end - time.monotonic())
            got.append(each.get(max(0.0, end - time.monotonic())))
        return got

    def is_ready(self):
        """Whether all have ended."""
        return all(each.is_ready() for each in self.results)

    def revoke(self):
        """Revokes all."""
        for each in self.results:
            each.revoke()

    def forget(self):
        """Forgets all."""
        for each in self.results:
            each.forget()
