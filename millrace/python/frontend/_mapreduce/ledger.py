"""What is done of a job and what is to do: pure. Reports go in; what follows from them can be asked."""

import collections

from millrace._mapreduce.attempt import too_many

_MINUTE = 60


class Ledger:
    """The book of one job. Each piece of work has one report: the first that comes counts.

    Args:
      max_bad: how many bad records the job bears.

    Attributes:
      counters: {name: int} of all reports.
      failure: why the job can't be done; None as long as it can.
      num_bad: how many records were put aside.
      num_parts: how many partitions there are, once `reduce_begins` was called.
      publishes: whether what is reduced is being put into a queue.
    """

    def __init__(self, max_bad):
        self._max_bad = max_bad
        self._weights = []  # of each split
        self._all_found = False
        self._mapped = {}  # split -> report
        self._weight_mapped = 0
        self._reduced = {}  # partition -> report
        self._published = {}  # partition -> report
        self.num_parts = None
        self.publishes = False
        self.counters = collections.Counter()
        self.failure = None
        self.num_bad = 0

    def add_split(self, weight):
        """Another split is to be mapped; returns its number."""
        self._weights.append(weight)
        return len(self._weights) - 1

    def all_are_found(self):
        """There will be no more splits."""
        self._all_found = True

    def reduce_begins(self, num_parts):
        self.num_parts = num_parts

    def publish_begins(self):
        self.publishes = True

    def add_report(self, report):
        """Takes the report of a piece. False if one of that piece is there."""
        kind, book = self._book_of(report)
        if report[kind] in book:
            return False
        if "failed" in report:
            self.fail(report["failed"])
            return True
        book[report[kind]] = report
        if kind == "split":
            self._weight_mapped += self._weights[report["split"]]
        self.counters.update(report["counters"])
        self.add_bad(report["bad"])
        return True

    def is_done(self, item):
        """Whether a piece of work is reported."""
        kind, book = self._book_of(item)
        return item[kind] in book

    def _book_of(self, piece):
        """(the name of its number, the reports of its kind)."""
        if "publish" in piece:
            return "publish", self._published
        return ("partition", self._reduced) if "partition" in piece else ("split", self._mapped)

    def add_bad(self, count, first=None):
        """So many more records were bad; `first` tells of one."""
        self.num_bad += count
        if self.num_bad > self._max_bad:
            said = too_many(self.num_bad, self._max_bad)
            self.fail(f"{first}. {said}" if first else said)

    def fail(self, why):
        """The first reason stays."""
        self.failure = self.failure or why

    @property
    def all_found(self):
        return self._all_found

    @property
    def is_mapped(self):
        return self._all_found and len(self._mapped) == len(self._weights)

    @property
    def is_reduced(self):
        return self.num_parts is not None and len(self._reduced) == self.num_parts

    @property
    def is_published(self):
        return self.publishes and len(self._published) == self.num_parts

    @property
    def plan(self):
        """[(file, segments)] of all splits, in their order."""
        return [(report["file"], report["segments"]) for _, report in sorted(self._mapped.items())]

    @property
    def aside(self):
        """The files with bad records, in the order of splits."""
        found = [report["aside"] for _, report in sorted(self._mapped.items())]
        return [path for path in found if path]

    @property
    def parts(self):
        """The files of all partitions, in their order."""
        return [report["file"] for _, report in sorted(self._reduced.items())]

    def progress(self, seconds):
        """A line that tells how far the job is, `seconds` after the phase that it is in began."""
        if self.publishes:
            done, of, what = len(self._published), self.num_parts, "partitions put into the queue"
            part = done / of
        elif self.num_parts is not None:
            done, of, what = len(self._reduced), self.num_parts, "partitions reduced"
            part = done / of
        else:
            done, of, what = len(self._mapped), len(self._weights), "splits mapped"
            part = self._weight_mapped / max(sum(self._weights), 1)
        line = f"{done} of {of}{'' if self._all_found else ' or more'} {what}"
        line += f", {self.counters['records read']} records"
        if self.num_bad:
            line += f", {self.num_bad} bad"
        if part and part < 1 and self._all_found:
            line += f"; {duration(seconds * (1 - part) / part)} left"
        return line


def duration(seconds):
    """A time for people: 7 s, 3 min, 2 h 5 min."""
    if seconds < 1.5 * _MINUTE:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / _MINUTE)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
