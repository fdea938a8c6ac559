"""What a mapper gives, gathered by key within a bound of memory: beyond it, sorted runs go to disk."""

import os

from millrace._mapreduce import keys, runs

_ENTRY = 200  # bytes that a key takes besides its own
_COMBINED_FROM = 64  # values of one key


class Gathering:
    """Pairs of one split, until they are written as one file with a segment per partition.

    Args:
      parts: the number of partitions.
      partition: a function of a key and `parts`, or None for one that spreads evenly.
      combine: a function of a key and a list of values that gives one value, or None.
      memory: how many bytes it may hold, by its own estimate.
      folder: where runs go that don't fit; exists, and is its own.
    """

    def __init__(self, parts, partition, combine, memory, folder):
        self._parts = parts
        self._partition = partition
        self._combine = combine
        self._memory = memory
        self._folder = folder
        self._values = {}  # the key's bytes -> [values]
        self._size = 0
        self._spilled = []  # per spill, a segment per partition

    @property
    def num_spills(self):
        return len(self._spilled)

    wanted = "pairs (key, value)"  # of a mapper

    def taken_at_once(self, given):
        """Takes the list that `map` gave for a record if that is quick: how many pairs, or -1 for nothing of it."""
        return -1

    def checked(self, given):
        """The same list for take(). TypeError or ValueError if it is not of what it must be of."""
        pairs = []
        for pair in given:
            if type(pair) is not tuple or len(pair) != 2:
                raise TypeError(f"map gives {pair!r:.100}; it must give {self.wanted}")
            pairs.append((keys.encode(pair[0]), pair[1]))
        return pairs

    def take(self, pairs):
        """Takes what checked() gave; returns how many pairs that is."""
        for key, value in pairs:
            self.add(key, value)
        return len(pairs)

    def add(self, key, value):
        """Takes a pair; `key` is its bytes (keys.encode)."""
        values = self._values.get(key)
        if values is None:
            self._values[key] = values = []
            self._size += len(key) + _ENTRY
        values.append(value)
        self._size += runs.size_of(value) + 8
        if self._combine is not None and len(values) >= _COMBINED_FROM:
            self._combine_in_place(key, values)
        if self._size > self._memory:
            self._spill()

    def write(self, path):
        """Writes all into a new file; returns the segments, one per partition."""
        if not self._spilled:
            return self._write_values(path)
        self._spill()
        with runs.RunWriter(path) as writer:
            return [
                writer.write(self._combined(runs.merged(list(segments), self._folder)))
                for segments in zip(*self._spilled)
            ]

    def _spill(self):
        path = os.path.join(self._folder, f"spill-{len(self._spilled)}")
        self._spilled.append(self._write_values(path))

    def _write_values(self, path):
        by_part = [[] for _ in range(self._parts)]
        for key in sorted(self._values):
            by_part[self._part_of(key)].append(key)
        with runs.RunWriter(path) as writer:
            segments = [writer.write(map(self._entry, part)) for part in by_part]
        self._values.clear()
        self._size = 0
        return segments

    def _entry(self, key):
        values = self._values[key]
        if self._combine is not None and len(values) > 1:
            self._combine_in_place(key, values)
        return key, values

    def _combine_in_place(self, key, values):
        before = sum(map(runs.size_of, values)) + 8 * len(values)
        values[:] = [self._combine(keys.decode(key), values[:])]
        self._size += runs.size_of(values[0]) + 8 - before

    def _combined(self, entries):
        """One value per key, of what spills have of it."""
        if self._combine is None:
            yield from entries
            return
        for key, values in runs.grouped(entries):
            values = list(values)
            if len(values) > 1:
                values = [self._combine(keys.decode(key), values)]
            yield key, values

    def _part_of(self, key):
        if self._partition is None:
            return keys.part_of(key, self._parts)
        name = keys.decode(key)
        part = self._partition(name, self._parts)
        if not 0 <= part < self._parts:
            raise ValueError(
                f"partition gives {part} for the key {name!r:.100}; it must be 0 to {self._parts - 1}"
            )
        return part
