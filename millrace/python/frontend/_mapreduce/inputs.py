"""What a job reads, in splits: pieces of work that are told in a few words, and read where they are mapped."""

import glob
import os
import pickle

from millrace._mapreduce import runs
from millrace._mapreduce.attempt import MapReduceError, Place
from millrace._summaries.record_files import tf_record_iterator
from millrace._values import errors

_BATCH_BYTES = 4 << 20
_BLOCK = 1 << 20  # bytes of text that are looked at together
_WILD = frozenset("*?[")


class Lines:
    """The lines of text files, without their ends. Large files are divided among mappers.

    A line that crosses a border belongs to the side on which it begins.

    Args:
      patterns: a path or a glob, or a list of them. Each file is read once.
      split: how many bytes one mapper gets at a time; by default a 16th of all, but 8 to 64 MiB.
      errors: what is done about bytes that are no UTF-8: "strict" makes the line a bad record; "replace" and
        Python's other ways let it pass.
      longest: how many bytes a line may have; a longer one is a bad record, and never in memory.
    """

    def __init__(self, patterns, split=None, errors="strict", longest=16 << 20):
        self._patterns = _listed(patterns)
        self._split = None if split is None else _positive("split", split)
        self._errors = errors
        self._longest = _positive("longest", longest)

    def splits(self, folder, reject):
        """{"path", "begin", "end", "weight"} of each. Files that can't be looked at are given to `reject`."""
        files = list(_files(self._patterns, reject))
        most = self._split or _usual_split(sum(size for _, size in files))
        for path, size in files:
            for begin in range(0, size, most):
                end = min(begin + most, size)
                yield {"path": path, "begin": begin, "end": end, "weight": end - begin}

    def records(self, split, reject):
        """((path, position), line) of each in a split; what can't be read is given to `reject(place, record, error)`."""
        path, end = split["path"], split["end"]
        position = split["begin"]
        try:
            with open(path, "rb") as file:
                position = _next_line(file, position, end, self._longest)
                while position < end:
                    lines, size, is_ended = _whole_lines(file, end - position, self._longest)
                    if not size:
                        return  # the file has become shorter
                    if type(lines) is str:  # all plain
                        for line in lines.split("\n"):
                            yield (path, position), line
                            position += len(line) + 1
                        continue
                    following, last = position + size, len(lines) - 1
                    for number, line in enumerate(lines):
                        here = (path, position)
                        position += len(line) + 1
                        if len(line) > self._longest:
                            beyond = following if number == last else position
                            reject(
                                here, line[:1000], ValueError(f"a line of {beyond - here[1]} bytes")
                            )
                            continue
                        if line.endswith(b"\r") and (is_ended or number < last):
                            line = line[:-1]
                        try:
                            text = line.decode("utf-8", self._errors)
                        except UnicodeDecodeError as error:
                            end_of_it = b"\n" if is_ended or number < last else b""
                            reject(here, line + end_of_it, error)
                            continue
                        yield here, text
                    position = following
        except OSError as error:
            reject((path, position), None, error)


class Records:
    """The records of TFRecord files, as bytes. A mapper gets a file at a time.

    A file that is damaged or cut off is one bad record; the records before are read.

    Args:
      patterns: a path or a glob, or a list of them.
      options: TFRecordOptions, or a compression; None for none.
    """

    def __init__(self, patterns, options=None):
        self._patterns = _listed(patterns)
        self._options = options

    def splits(self, folder, reject):
        for path, size in _files(self._patterns, reject):
            yield {"path": path, "weight": max(size, 1)}

    def records(self, split, reject):
        """(Place, record): the position is the record's number in its file."""
        path, number = split["path"], 0
        try:
            for number, record in enumerate(tf_record_iterator(path, self._options)):
                yield Place(path, number), record
        except (errors.OpError, OSError) as error:
            reject(Place(path, number), None, error)


class Paths:
    """The paths of files: a mapper opens them itself. Each path is a split.

    Args:
      patterns: a path or a glob, or a list of them.
    """

    def __init__(self, patterns):
        self._patterns = _listed(patterns)

    def splits(self, folder, reject):
        for path, size in _files(self._patterns, reject):
            yield {"path": path, "weight": max(size, 1)}

    def records(self, split, reject):
        yield Place(split["path"], 0), split["path"]


class Items:
    """What a function gives. It is called by the task `files` alone; items must be such as pickle takes.

    Args:
      make: a function without arguments that gives an iterable; it may be a generator, and larger
        than memory and disk: it is not asked for more than mappers can do soon.
      batch: how many items one mapper gets at a time.
    """

    def __init__(self, make, batch=1000):
        if not callable(make):
            raise TypeError(f"Items takes a function that gives an iterable, not {make!r:.100}")
        self._make = make
        self._batch = _positive("batch", batch)

    def splits(self, folder, reject):
        batch, size, first = [], 0, 0
        for item in self._make():
            batch.append(item)
            size += runs.size_of(item)
            if len(batch) >= self._batch or size >= _BATCH_BYTES:
                yield _kept(batch, folder, first)
                first += len(batch)
                batch, size = [], 0
        if batch:
            yield _kept(batch, folder, first)

    def records(self, split, reject):
        with open(split["path"], "rb") as file:
            batch = pickle.load(file)
        for number, item in enumerate(batch, split["first"]):
            yield Place("item", number), item


def as_input(given):
    """An input: paths and globs are those of text files."""
    return given if hasattr(given, "splits") else Lines(given)


def _listed(patterns):
    if isinstance(patterns, (str, os.PathLike)):
        patterns = [patterns]
    if not isinstance(patterns, (list, tuple)) or not patterns:
        raise TypeError(f"input is {patterns!r:.100}; give a path, a glob, or a list of them")
    return [os.fspath(pattern) for pattern in patterns]


def _positive(name, value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be an int, at least 1")
    return value


def _files(patterns, reject):
    """(path, size) of all files that match, each once; sorted within a glob."""
    seen = set()
    for pattern in patterns:
        for path in _matches(pattern):
            if path in seen:
                continue
            seen.add(path)
            try:
                if not os.path.isfile(path) and os.path.exists(path):
                    raise OSError(f"{path} is not a plain file")
                yield path, os.path.getsize(path)
            except OSError as error:
                reject(Place(path, 0), None, error)


def _matches(pattern):
    if not _WILD.intersection(pattern):
        return [os.path.abspath(pattern)]
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise MapReduceError(f"no file matches the input '{pattern}' (seen from {os.getcwd()})")
    return map(os.path.abspath, found)


def _kept(batch, folder, first):
    """A batch as a file of its own; the queue carries its name alone."""
    path = os.path.join(folder, f"items-{first}")
    with open(path, "xb") as file:
        pickle.dump(batch, file, protocol=5)
    return {"path": path, "first": first, "weight": len(batch), "is_own": True}


def _usual_split(total):
    """Bytes for a mapper at a time: enough pieces that all have work to the end, and not so many that they cost more than they are."""
    return min(max(total // 16, 8 << 20), 64 << 20)


def _whole_lines(file, most, longest):
    """The next lines, without newlines, of those that begin within `most` bytes; their bytes in all; whether the last has its end.

    Of a line that is longer than `longest` and the last one there are its first bytes alone. A text instead of a list of bytes,
    to be divided at newlines, is all ASCII without carriage returns and without long lines.
    """
    block = file.read(min(most, _BLOCK))
    beyond = 0
    if block and not block.endswith(b"\n"):
        block += file.readline(longest + 1)
    if not block.endswith(b"\n"):
        beyond = _rest_of_line(file, longest) if len(block) > longest else 0
    elif block.isascii() and b"\r" not in block and len(block) <= longest:
        return block[:-1].decode("ascii"), len(block), True
    lines = block.split(b"\n")
    is_ended = not lines[-1]
    if is_ended:
        lines.pop()
    return lines, len(block) + beyond, is_ended


def _next_line(file, position, end, longest):
    """Where the first line begins that begins at `position` or later; the file stands there.

    `end` or more if none begins before: of a line that goes on for gigabytes each split reads its own part.
    """
    if not position:
        return 0
    position -= 1
    file.seek(position)
    while position < end and (line := file.readline(min(longest, end - position))):
        position += len(line)
        if line.endswith(b"\n"):
            return position
    return end


def _rest_of_line(file, longest):
    """How many bytes are left of the line, its end included."""
    size = 0
    while line := file.readline(longest):
        size += len(line)
        if line.endswith(b"\n"):
            break
    return size
