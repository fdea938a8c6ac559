"""One attempt at a piece of work: where it is, what it counts, and the records that it puts aside."""

import collections
import json
import os
import threading
import traceback
import typing

_SHOWN = 300  # characters of a record

_here = threading.local()  # attempt: the one that this thread makes


class MapReduceError(RuntimeError):
    """A job can't be done. Its text tells what failed, where, and for which record or key."""


class Place(typing.NamedTuple):
    """Where a record is from: a file, and the byte at which it begins there (or the number of an item)."""

    path: str
    position: int

    def __str__(self):
        return f"{self.path} at {self.position}"


def count(name, by=1):
    """Adds to a counter of the job, in a mapper, combiner or reducer. Attempts that fail do not count.

    Args:
      name: a str.
      by: an int.

    Raises:
      RuntimeError: if no mapper or reducer is at work in this thread.
    """
    _current("count()").counted[name] += by


def place():
    """The Place of the record that a mapper is given. RuntimeError outside of a mapper."""
    found = _current("place()").place
    if found is None:
        raise RuntimeError("place() is known in a mapper, not in a reducer")
    return Place(*found)


def _current(who):
    attempt = getattr(_here, "attempt", None)
    if attempt is None:
        raise RuntimeError(
            f"mapreduce.{who} is for mappers, combiners and reducers while a job runs"
        )
    return attempt


class Attempt:
    """Used in a `with` block by the thread that makes it.

    Args:
      max_bad: how many records may be put aside.
      aside: where to, a path; the file is made with the first one.

    Attributes:
      counters: {name: int} of what is settled.
      counted: what came since.
      place: of the record at hand, as its input tells it: (path, position).
      num_bad: how many records were put aside.
    """

    def __init__(self, max_bad, aside):
        self._max_bad = max_bad
        self._aside = aside
        self._file = None
        self.counters = collections.Counter()
        self.counted = collections.Counter()
        self.place = None
        self.num_bad = 0

    def __enter__(self):
        _here.attempt = self
        return self

    def __exit__(self, *unused):
        _here.attempt = None
        if self._file is not None:
            self._file.close()

    def settle(self):
        """What was counted counts."""
        self.counters.update(self.counted)
        self.counted.clear()

    def reject(self, found, record, error):
        """Puts a bad record aside.

        Raises:
          MapReduceError: if there are more than `max_bad` now.
        """
        found = Place(*found)
        self.counted.clear()
        self.num_bad += 1
        if self.num_bad > self._max_bad:
            raise MapReduceError(
                f"{said_of(found, record, error)}. {too_many(self.num_bad, self._max_bad)}"
            )
        if self._file is None:
            self._file = open(self._aside, "x", encoding="utf-8")
        line = {"path": found.path, "position": found.position, "error": told(error)}
        self._file.write(json.dumps({**line, "record": shown(record)}) + "\n")
        self._file.flush()


def said_of(found, record, error):
    """What is said of a bad record; the record is None for a file that can't be read."""
    return f"{found}: {told(error)}" + (
        "" if record is None else f"; the record is {shown(record)}"
    )


def too_many(num_bad, max_bad):
    """What a job says that ends for its bad records."""
    have = "1 record is" if num_bad == 1 else f"{num_bad} records are"
    return f"{have} bad, and max_bad={max_bad} allows {max_bad}"


def told(error):
    """An error in one line: its kind, what it says, and where it was raised."""
    text = " ".join(traceback.format_exception_only(error)[-1].split())
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    last = frames[-1]
    return f"{text} ({os.path.basename(last.filename)}, line {last.lineno}, in {last.name})"


def shown(record):
    """A record for people: the beginning of a long one."""
    if record is None:
        return ""
    text = repr(record)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
