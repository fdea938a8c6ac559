"""The pieces of work: a split mapped, a partition reduced. Each writes files of its own and gives a report.

A report is a dictionary that JSON takes: it travels over a queue.
"""

import json
import os
import shutil
import tempfile
import time
import types

from millrace._mapreduce import inputs, keys, outputs, runs
from millrace._mapreduce.attempt import Attempt, MapReduceError, shown, told
from millrace._mapreduce.functions import add, tally
from millrace._mapreduce.gathering import Gathering
from millrace._mapreduce.totals import Totals


_WORTH_TOTALS = 1 << 20  # bytes: less holds hardly a table


class Words:
    """What a job's author says: the functions, the input, the output, and the limits."""

    def __init__(
        self, input, map, output, reduce, combine, partition, partitions, max_bad, memory, spill
    ):
        if not callable(map):
            raise TypeError(f"map is {map!r:.100}; it must be a function")
        for name, function in (("reduce", reduce), ("combine", combine), ("partition", partition)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} is {function!r:.100}; it must be a function or None")
        if reduce is tally and combine not in (None, add, tally):
            raise ValueError(
                "reduce=tally adds up by itself what mappers give: leave `combine` out"
            )
        for name, value, least in (("max_bad", max_bad, 0), ("memory", memory, 1 << 10)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} is {value!r}; it must be an int, at least {least}")
        if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
            raise ValueError(
                f"partitions is {partitions!r}; it must be an int, at least 1, or None"
            )
        self.input = inputs.as_input(input)
        self.map = map
        self.output = outputs.as_output(output)
        self.reduce = reduce
        self.combine = add if reduce is tally else combine
        self.partition = partition
        self.partitions = partitions
        self.max_bad = max_bad
        self.memory = memory
        self.spill = spill


def attempted(make, words, item, token):
    """The report of a piece; why it failed if it did, in words for the author of the job."""
    kind = "partition" if "partition" in item else "split"
    began = time.monotonic()
    try:
        made = make(words, item, token)
        return {**made, kind: item[kind], "seconds": time.monotonic() - began}
    except MapReduceError as error:
        why = str(error)
    except MemoryError as error:
        why = f"{name_of(item)}: out of memory ({told(error)}): make `memory` smaller"
    except OSError as error:
        where = f"it writes to {item['work']} and {words.spill or tempfile.gettempdir()}"
        why = f"{name_of(item)}: {told(error)}; {where}"
    except Exception as error:
        why = f"{name_of(item)}: {told(error)}"
    return {kind: item[kind], "failed": why}


def put_partition(item, put):
    """The report of a partition whose results `put` has put into a queue: {"publish", "path"}.

    What else `put` raises than MapReduceError and OSError is of the lease, and for the caller.
    """
    number = {"publish": item["publish"]}
    began = time.monotonic()
    try:
        put(item["path"])
    except MapReduceError as error:
        return {**number, "failed": f"{name_of(item)}: {error}"}
    except OSError as error:
        return {**number, "failed": f"{name_of(item)}: {told(error)}"}
    return {**number, "counters": {}, "bad": 0, "seconds": time.monotonic() - began}


def name_of(item):
    """A piece, for people."""
    if "publish" in item:
        return f"putting partition {item['publish']} into the queue"
    if "partition" in item:
        return f"reducing partition {item['partition']}"
    return f"mapping {item['path']} from {item.get('begin', item.get('first', 0))}"


def map_split(words, item, token):
    """Maps a split: {"split", "path", ..., "work", "partitions"}. `token` is of this attempt alone."""
    stem = os.path.join(item["work"], f"map-{item['split']}-{token}")
    attempt = Attempt(words.max_bad, f"{stem}.rejected")
    scratch = tempfile.mkdtemp(prefix="mapreduce-", dir=words.spill)
    try:
        with attempt:
            gathered = _gathering(words, item["partitions"], scratch)
            _map_records(words, attempt, gathered, words.input.records(item, attempt.reject))
            segments = gathered.write(f"{stem}.runs")
            attempt.counters["spills"] += gathered.num_spills
            attempt.settle()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {
        "file": f"{stem}.runs",
        "segments": [(segment.offset, segment.length) for segment in segments],
        "counters": attempt.counters,
        "bad": attempt.num_bad,
        "aside": f"{stem}.rejected" if attempt.num_bad else None,
    }


def _gathering(words, partitions, scratch):
    """What takes the pairs of a split."""
    if words.combine is not add:
        return Gathering(partitions, words.partition, words.combine, words.memory, scratch)
    first = words.memory // 4 if words.memory >= _WORTH_TOTALS else 0
    gathering = Gathering(partitions, words.partition, add, words.memory - first, scratch)
    return Totals(gathering, first, gives_keys=words.reduce is tally)


def _map_records(words, attempt, gathered, records):
    """Each record whole, or nothing of it."""
    num_records = num_pairs = 0
    for place, record in records:
        attempt.place = place
        try:
            given = words.map(record)
            if type(given) is not list:
                given = _listed(given, gathered.wanted)
        except Exception as error:
            attempt.reject(place, record, error)
            continue
        taken = gathered.taken_at_once(given)
        if taken < 0:
            try:
                checked = gathered.checked(given)
            except Exception as error:
                attempt.reject(place, record, error)
                continue
            taken = gathered.take(checked)
        num_records += 1
        num_pairs += taken
        if attempt.counted:
            attempt.settle()
    attempt.place = None
    attempt.counters["records read"] += num_records
    attempt.counters["pairs mapped"] += num_pairs


def _listed(given, wanted):
    if isinstance(given, (str, bytes)):
        raise TypeError(
            f"map gives {given!r:.100}; it must give {wanted}, as a list or a generator"
        )
    return list(given or ())


def reduce_partition(words, item, token):
    """Reduces a partition: {"partition", "plan", "work"}."""
    number = item["partition"]
    path = os.path.join(item["work"], f"reduce-{number}-{token}")
    with open(item["plan"], encoding="utf-8") as file:
        plan = json.load(file)
    segments = [
        runs.Segment(path, *segments[number]) for path, segments in plan if segments[number][1]
    ]
    attempt = Attempt(0, f"{path}.rejected")
    scratch = tempfile.mkdtemp(prefix="mapreduce-", dir=words.spill)
    try:
        with attempt, open(path, "xb") as file:
            for key, values in runs.grouped(runs.merged(segments, scratch, words.memory)):
                _reduce_key(words, attempt, file, keys.decode(key), values)
            file.flush()
            os.fsync(file.fileno())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {"file": path, "counters": attempt.counters, "bad": 0}


def _reduce_key(words, attempt, file, key, values):
    try:
        results = values if words.reduce is None else words.reduce(key, values)
        if words.reduce is not None and not isinstance(results, types.GeneratorType):
            results = () if results is None else (results,)
        written = 0
        for value in results:
            file.write(words.output.record(key, value))
            written += 1
    except OSError:
        raise
    except Exception as error:
        raise MapReduceError(f"reducing the key {shown(key)}: {told(error)}") from error
    attempt.counted["keys reduced"] += 1
    attempt.counted["records written"] += written
    attempt.settle()
