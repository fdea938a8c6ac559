"""Progbar: how far something has come, in a line of text."""

import sys
import time

import numpy as np


class Progbar:
    """A line that tells how many of `target` steps were made, and means of numbers.

    Args:
      target: the number of steps; None if it is not known.
      width: of the bar, in characters.
      verbose: 0 for nothing, 1 for a bar, 2 for one line at the end.
      interval: the least seconds between two writes.
      stateful_metrics: names of numbers that are shown as they are, not as means.
      unit_name: what is counted.
    """

    def __init__(
        self,
        target,
        width=30,
        verbose=1,
        interval=0.05,
        stateful_metrics=None,
        unit_name="step",
        clock=time.monotonic,
        file=None,
    ):
        self.target, self.width, self.verbose = target, width, verbose
        self.interval, self.unit_name = interval, unit_name
        self.stateful_metrics = set(stateful_metrics or [])
        self._clock, self._file = clock, file
        self._values, self._seen = {}, 0
        self._start, self._written, self._length = clock(), None, 0

    def update(self, current, values=None):
        """Tells how far it is.

        Args:
          current: how many steps were made.
          values: a list of (name, number); means are weighted by the steps since the last call.
        """
        for name, value in values or []:
            if name in self.stateful_metrics:
                self._values[name] = (value, 1)
                continue
            total, count = self._values.get(name, (0.0, 0))
            steps = current - self._seen
            self._values[name] = (total + value * steps, count + steps)
        self._seen = current
        now = self._clock()
        is_last = self.target is not None and current >= self.target
        if self._written is not None and now - self._written < self.interval and not is_last:
            return
        if self.verbose == 1:
            self._show(f"{self._bar(current)} - {self._time(current, now, is_last)}", is_last)
            self._written = now
        elif self.verbose == 2 and is_last:
            self._show(f"{current}/{self.target} - {now - self._start:.0f}s", is_last)

    def add(self, n, values=None):
        """update with n steps more."""
        self.update(self._seen + n, values)

    def _bar(self, current):
        if self.target is None:
            return f"{current:7d}/Unknown"
        digits = len(str(self.target))
        done = int(self.width * min(current / max(self.target, 1), 1.0))
        head = "=" * max(done - 1, 0) + (">" if 0 < done < self.width else "=" * (done > 0))
        return f"{current:{digits}d}/{self.target} [{head:.<{self.width}}]"

    def _time(self, current, now, is_last):
        each = (now - self._start) / current if current else 0.0
        if self.target is not None and not is_last:
            left = int(each * (self.target - current))
            minutes, hours = left // 60, left // 3600
            if hours:
                return f"ETA: {hours}:{minutes % 60:02d}:{left % 60:02d}"
            return f"ETA: {minutes}:{left % 60:02d}" if minutes else f"ETA: {left}s"
        if each >= 1 or each == 0:
            unit = f"{each:.0f}s"
        else:
            unit = f"{each * 1e3:.0f}ms" if each >= 1e-3 else f"{each * 1e6:.0f}us"
        return f"{now - self._start:.0f}s {unit}/{self.unit_name}"

    def _show(self, line, is_last):
        for name, (total, count) in self._values.items():
            mean = float(np.mean(total / max(count, 1)))
            line += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
        file = self._file or sys.stdout
        # Backspaces too, for what shows text but knows no lines.
        back = "" if self.verbose == 2 else "\b" * self._length + "\r"
        file.write(back + line.ljust(self._length) + ("\n" if is_last else ""))
        file.flush()
        self._length = len(line)
