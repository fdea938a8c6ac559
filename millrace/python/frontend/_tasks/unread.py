"""Results that a program has not read yet: those that are there come many at a time."""

import collections
import itertools
import threading

from millrace._tasks import errors, verdicts
from millrace._tasks.steps import AT_ONCE

_LONGEST_LOOK = 0.05  # seconds for which one result is waited for because of those before it
_PATIENCE = 2.0  # seconds within which results come that are there


class Unread:
    """What a program has sent and not read yet, in order. Any thread may call.

    Who asks for a result hears in the same step which of the next ones have ended; those are fetched in
    one step when one of them is asked for. How many are looked at grows while it is worth it, so a program
    that waits for each result of slow calls looks at few.

    Args:
      broker: the Broker.
    """

    def __init__(self, broker):
        self._broker = broker
        self._lock = threading.Lock()
        # All under the lock:
        self._numbers = {}  # id -> whether it is known to have ended, in the order of sending
        self._texts = {}  # id -> a result that was fetched and not asked for
        self._window = 1  # how many others to look at
        self._reach = AT_ONCE  # how far a group looks ahead
        # Not under it: whatever thread throws a Result away is in the middle of something.
        self._dropped = collections.deque()

    def add(self, number):
        """A call that was sent."""
        with self._lock:
            self._forget_dropped()
            self._numbers[number] = False

    def drop(self, number):
        """Nobody will ask for it any more."""
        self._dropped.append(number)

    def fetched(self):
        """The ids of those that were fetched and not asked for."""
        with self._lock:
            return list(self._texts)

    def _forget_dropped(self):
        while self._dropped:
            number = self._dropped.popleft()
            self._numbers.pop(number, None)
            self._texts.pop(number, None)

    def text_of(self, number, seconds):
        """The text of a call's result; waits for it.

        Raises:
          NoResult: if there is none after so many seconds.
        """
        with self._lock:
            self._forget_dropped()
            text = self._texts.pop(number, None)
            has_ended = self._numbers.pop(number, False)
            ended, others = self._next(has_ended)
        if text is not None:
            return text
        if ended:
            text = self._many([number, *ended], others)
        if text is None:
            text, states = self._broker.result(number, seconds, others)
            self._note(others, states)
        return text

    def _next(self, with_ended):
        """(ids that have ended, if they are wanted, the next ones that have not)."""
        ended, others = [], []
        # Who reads in another order finds the first ones read again and again: not all are looked through.
        for number, has_ended in itertools.islice(self._numbers.items(), 4 * AT_ONCE):
            if not has_ended:
                others.append(number)
                if len(others) == self._window:
                    break
            elif with_ended and len(ended) < AT_ONCE - 1 and number not in self._texts:
                ended.append(number)
        return ended, others

    def _many(self, numbers, others):
        """Fetches results that are there: the first one's; None if one of them is not any more."""
        try:
            texts, states = self._broker.results(numbers, _PATIENCE, others)
        except errors.NoResult:
            with self._lock:
                self._numbers.update((each, False) for each in numbers if each in self._numbers)
            return None
        with self._lock:
            for each, text in zip(numbers[1:], texts[1:]):
                if each in self._numbers:  # not dropped meanwhile
                    self._texts[each] = text
        self._note(others, states)
        return texts[0]

    def _note(self, numbers, states):
        found = 0
        with self._lock:
            for number, text in zip(numbers, states):
                is_small = verdicts.is_small_end(text)
                found += is_small
                if is_small and number in self._numbers:
                    self._numbers[number] = True
            self._window = min(AT_ONCE, 1 + 2 * found)

    def look_ahead(self, numbers, seconds):
        """Waits a moment for a result behind the first of these, which is about to be asked for."""
        with self._lock:
            numbers = numbers[: self._reach]
            is_here = numbers[0] in self._texts
            # The last that is not known to have ended.
            while numbers and self._numbers.get(numbers[-1], True):
                numbers.pop()
        if is_here or len(numbers) < 2 or seconds < _LONGEST_LOOK:
            return
        try:
            text, states = self._broker.result(numbers[-1], _LONGEST_LOOK, numbers[:-1])
        except errors.NoResult:
            with self._lock:
                self._reach = max(2, len(numbers) // 2)
            return
        with self._lock:
            self._reach = min(AT_ONCE, 2 * len(numbers))
            if numbers[-1] in self._numbers:
                self._texts[numbers[-1]] = text
        self._note(numbers[:-1], states)
