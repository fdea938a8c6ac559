"""Which of its checkpoints a Saver keeps: the last ones, and now and then one for good."""

import math

_SECONDS_PER_HOUR = 3600


class KeptCheckpoints:
    """The last checkpoints, oldest first, each with the time at which it was saved.

    Args:
      max_to_keep: how many; None or 0 for all, of which none is noted then.
      every_n_hours: of those that go, one in so many hours stays on disk.
      now: when counting the hours begins, in seconds since the epoch.
    """

    def __init__(self, max_to_keep, every_n_hours, now):
        self._max = max_to_keep
        self._every = every_n_hours * _SECONDS_PER_HOUR
        self._next_for_good = now + self._every
        self.last = []  # (path, time)

    def add(self, path, now):
        """Notes a new checkpoint; returns the one to remove now, or None."""
        if not self._max:
            return None
        self.last = [item for item in self.last if item[0] != path] + [(path, now)]
        if len(self.last) <= self._max:
            return None
        oldest, saved_at = self.last.pop(0)
        if saved_at > self._next_for_good:
            # An endless time is that of a checkpoint of which nobody knows it.
            self._next_for_good += self._every
            return None
        return oldest

    @property
    def paths(self):
        return [path for path, _ in self.last]

    def set(self, paths):
        """Takes these for the last ones, saved at a time that nobody knows."""
        self.last = [(path, math.inf) for path in paths]
