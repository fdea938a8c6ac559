"""What the programs measure with. They run in the interpreter of either library, or of none."""

import time
from typing import Callable, NamedTuple


class Figure(NamedTuple):
    """One line of the table. `sample(seconds)` measures for about so long and gives a value in `unit`.

    More is better where the unit is per second, less everywhere else. None: there is no such thing here.
    """

    name: str
    unit: str
    sample: Callable[[float], float | None]


class Limit(NamedTuple):
    """What bounds the figure of that name, measured by itself, in the figure's unit."""

    figure: str
    label: str
    sample: Callable[[float], float]


class Seconds:
    """Seconds that one call takes, as a mean over a bounded time. Calls that are not counted warm up."""

    def __init__(self, call):
        self._call = call
        self._last = None  # of a call, in the sample before

    def __call__(self, seconds):
        if self._last is None:
            self._last = self._calls_for(0)
            if self._last > seconds:
                return self._last  # long, and this is the round that warms up
        if self._last < seconds / 5:
            self._calls_for(seconds / 5)
        self._last = self._calls_for(seconds)
        return self._last

    def _calls_for(self, seconds):
        count, batch = 0, 1
        start = time.perf_counter()
        while True:
            for _ in range(batch):
                self._call()
            count += batch
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return elapsed / count
            # Few looks at the clock for short calls, and no overrun for long ones.
            batch = max(1, min(2 * batch, int((seconds - elapsed) / 4 / (elapsed / count))))


def microseconds(call):
    """A sample: of a call, or of anything that gives seconds (a Seconds, a native limit)."""
    return _scaled(call, lambda seconds: seconds * 1e6)


def milliseconds(call):
    return _scaled(call, lambda seconds: seconds * 1e3)


def gigabytes_per_second(size, call):
    """A sample: `size` bytes per call."""
    return _scaled(call, lambda seconds: size / seconds / 1e9)


def thousands_per_second(count, call):
    """A sample: `count` things per call."""
    return _scaled(call, lambda seconds: count / seconds / 1e3)


def _scaled(call, convert):
    timed = call if getattr(call, "gives_seconds", False) else Seconds(call)
    return lambda seconds: convert(timed(seconds))


def once(value):
    """A sample: something that was measured while the program was set up, and can be only then."""
    return lambda seconds: value


class Scale(NamedTuple):
    """How large a run is to be: "quick", "normal" or "full"."""

    name: str

    def pick(self, quick, normal, full=None):
        return {"quick": quick, "normal": normal, "full": full or normal}[self.name]
