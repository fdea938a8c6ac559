"""Patience: how long to wait before trying once more what failed, and when to give up.

The first try comes at once; then pauses grow. Success starts it anew.
"""

import time

_FIRST_PAUSE = 0.5  # seconds
_LONGEST_PAUSE = 30.0


class Patience:
    """Counts failures in a row.

    Args:
      limit_secs: how long they may go on, from the first one.
      clock: what tells the time, in seconds.

    Attributes:
      failures: how many there were in a row.
    """

    def __init__(self, limit_secs, clock=time.monotonic):
        self._limit = limit_secs
        self._clock = clock
        self.failures = 0

    def succeeded(self):
        self.failures = 0

    def failed(self):
        """How many seconds to wait before the next try; None to give up."""
        now = self._clock()
        if not self.failures:
            self._since = now
        self.failures += 1
        if now - self._since >= self._limit:
            return None
        if self.failures == 1:
            return 0.0
        # The exponent is bounded before the power is taken: failures may go on for days.
        return min(_FIRST_PAUSE * 2 ** min(self.failures - 2, 10), _LONGEST_PAUSE)
