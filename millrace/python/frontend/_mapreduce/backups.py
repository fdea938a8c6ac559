"""Which pieces of work are given out a second time, because whoever has them takes long: pure, time is an argument."""

_TIMES = 2  # as long as the longest piece so far


class Backups:
    """Of one phase. A piece is given out once more when nothing else is left to take, and not twice.

    Args:
      least: for so many seconds nothing has been left to take; None for no second tries at all.
    """

    def __init__(self, least):
        self._least = least
        self._longest = 0.0
        self._idle_since = None
        self._given = set()

    def note(self, seconds):
        """A piece took so long."""
        self._longest = max(self._longest, seconds)

    def due(self, num_waiting, outstanding, now):
        """Those of the outstanding pieces to give out now.

        Args:
          num_waiting: how many wait to be taken.
          outstanding: the numbers of pieces that nobody has reported.
          now: seconds.
        """
        if self._least is None or num_waiting or not outstanding:
            self._idle_since = None
            return []
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since < max(self._least, _TIMES * self._longest):
            return []
        found = [number for number in outstanding if number not in self._given]
        self._given.update(found)
        return found
