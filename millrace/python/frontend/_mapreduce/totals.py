"""Sums by key of what a mapper gives, for jobs that add or tally: they are made before anything is gathered.

Most keys of such a job come again and again, most are text, and most values are small whole numbers. Those go into a table of
totals in C++. Anything else goes the way of all pairs.
"""

from millrace import _millrace
from millrace._mapreduce import keys


class Totals:
    """In front of a Gathering that combines by adding; it has the same methods.

    Args:
      gathering: takes what does not fit, what is no text, and at the end all.
      memory: how many bytes the totals may take.
      gives_keys: whether the mapper gives keys alone, each of which counts as one.
    """

    def __init__(self, gathering, memory, gives_keys):
        self._gathering = gathering
        self._gives_keys = gives_keys
        # Of the gathering alone: C++'s table is none that Python's collector sees through, so one that
        # knew of this object would never go, nor what it holds.
        self._drain = _adding_to(gathering)
        self._totals = _millrace.Totals(memory, self._drain)
        self.taken_at_once = self._totals.count if gives_keys else self._totals.add
        self.wanted = "keys" if gives_keys else gathering.wanted

    @property
    def num_spills(self):
        return self._gathering.num_spills

    def checked(self, given):
        if self._gives_keys:
            return [(keys.encode(key), 1) for key in given]
        return self._gathering.checked(given)

    def take(self, pairs):
        return self._gathering.take(pairs)

    def write(self, path):
        self._drain(self._totals.take())
        return self._gathering.write(path)


def _adding_to(gathering):
    def drain(entries):
        for key, total in entries:
            gathering.add(key, total)

    return drain
