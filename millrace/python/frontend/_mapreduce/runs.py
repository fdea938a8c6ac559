"""Sorted runs on disk: what a mapper leaves for reducers, and what does not fit into memory.

    | "MRRUNS1\\n" 8 | block ... |
    block = | bytes u32 | crc32 u32 | a pickle of entries: [(the key's bytes, [values]), ...] |

Little-endian. A segment is a range of whole blocks in which keys do not descend. One key may have several entries
in a row. Pickles are read: only who runs the job may write to its folders.
"""

import heapq
import itertools
import operator
import os
import pickle
import struct
import sys
import typing
import zlib

from millrace._values import errors

MAGIC = b"MRRUNS1\n"
_BLOCK = 128 << 10  # from that many bytes on, a block is written
_GROWTH = 32  # how many times larger than on disk entries are in memory, at most
_FAN_IN = 64  # so many files are open at a time
_HEAD = struct.Struct("<II")
_CONTAINERS = (tuple, list, set, frozenset)


class Segment(typing.NamedTuple):
    """Where a sorted run lies: in a file, from a byte on, so many bytes."""

    path: str
    offset: int
    length: int


def size_of(value):
    """About how many bytes a value takes in memory."""
    size = sys.getsizeof(value, 64)
    kind = type(value)
    if kind in _CONTAINERS:
        size += sum(map(size_of, value))
    elif kind is dict:
        size += sum(map(size_of, value)) + sum(map(size_of, value.values()))
    return size


class RunWriter:
    """Writes segments into a new file. Used in a `with` block; `path` must not exist."""

    def __init__(self, path):
        self._path = os.fspath(path)
        self._file = open(self._path, "xb")
        self._file.write(MAGIC)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._file.close()

    def write(self, entries):
        """Writes (the key's bytes, [values]) in the order of the keys; returns their Segment."""
        begin = self._file.tell()
        block, size = [], 0
        for key, values in entries:
            for piece, its_size in _pieces(values):
                block.append((key, piece))
                size += len(key) + its_size
                if size >= _BLOCK:
                    self._flush(block)
                    block, size = [], 0
        if block:
            self._flush(block)
        return Segment(self._path, begin, self._file.tell() - begin)

    def _flush(self, block):
        data = pickle.dumps(block, protocol=5)
        self._file.write(_HEAD.pack(len(data), zlib.crc32(data)))
        self._file.write(data)


def _pieces(values):
    """Values in lists that are not much larger than a block, each with about its size."""
    if len(values) == 1:
        return ((values, size_of(values[0])),)
    return _divided(values)


def _divided(values):
    piece, size = [], 0
    for value in values:
        piece.append(value)
        size += size_of(value)
        if size >= _BLOCK:
            yield piece, size
            piece, size = [], 0
    if piece:
        yield piece, size


def read(segment):
    """The entries of a segment: (the key's bytes, [values]).

    Raises:
      tf.errors.DataLossError: if the file is not what was written; OSError.
    """
    with open(segment.path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise _loss(segment.path, 0, "it does not begin as a file of runs")
        file.seek(segment.offset)
        end = segment.offset + segment.length
        while (at := file.tell()) < end:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise _loss(segment.path, at, "it ends too early")
            length, crc = _HEAD.unpack(head)
            if at + _HEAD.size + length > end:
                raise _loss(segment.path, at, f"a block of {length} bytes goes beyond {end}")
            data = file.read(length)
            if len(data) < length or zlib.crc32(data) != crc:
                raise _loss(segment.path, at, "its checksum is another one")
            yield from pickle.loads(data)


def _loss(path, at, what):
    return errors.DataLossError(None, None, f"{path}, byte {at}: {what}; it is damaged")


def merged(segments, folder, memory=0, fan_in=_FAN_IN):
    """The entries of several segments in the order of keys; those of equal keys in the order of segments.

    What fits into `memory` bytes is read whole and sorted, which is quicker than to merge it entry by entry. Else, of more
    segments than `fan_in` the first so many are merged into a file in `folder`, and so on.
    """
    if sum(segment.length for segment in segments) * _GROWTH <= memory:
        entries = list(itertools.chain.from_iterable(map(read, segments)))
        entries.sort(key=operator.itemgetter(0))  # keeps the order of equal keys
        return iter(entries)
    rounds = itertools.count()
    while len(segments) > fan_in:
        groups = [segments[i : i + fan_in] for i in range(0, len(segments), fan_in)]
        with RunWriter(_unused_name(folder, next(rounds))) as writer:
            segments = [writer.write(_merged(group)) for group in groups]
    return _merged(segments)


def _unused_name(folder, number):
    for attempt in itertools.count():
        path = os.path.join(folder, f"merged-{number}-{attempt}")
        if not os.path.exists(path):
            return path


def _merged(segments):
    return heapq.merge(*map(read, segments), key=operator.itemgetter(0))


def grouped(entries):
    """(the key's bytes, an iterator of all its values) for entries in the order of keys."""
    for key, group in itertools.groupby(entries, operator.itemgetter(0)):
        yield key, itertools.chain.from_iterable(values for _, values in group)
