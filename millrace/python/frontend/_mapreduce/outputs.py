"""What a job writes: one file per partition, in a folder that appears when all of them are complete."""

import contextlib
import glob
import json
import os
import shutil

from millrace import _millrace
from millrace._mapreduce.attempt import MapReduceError

_PUBLISHING = "publishing"  # a file of a workshop


class TextFiles:
    """Lines of text in UTF-8, one per pair that the reducers give.

    Args:
      folder: a path that all tasks see. It must not exist, or be empty.
      line: a function of a key and a value that gives a line, str or bytes, without its end.
    """

    suffix = ".txt"

    def __init__(self, folder, line=None):
        self.folder = os.path.abspath(os.fspath(folder))
        self._line = line or _tabbed

    def record(self, key, value):
        """The bytes of a pair."""
        line = self._line(key, value)
        data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        if not isinstance(data, bytes):
            raise TypeError(f"`line` gives {line!r:.100}; it must give a str or bytes")
        return data + b"\n"


def _tabbed(key, value):
    return f"{key}\t{value}"


class RecordFiles:
    """Files of records (TFRecord), one record per pair that the reducers give.

    Args:
      folder: as for TextFiles.
      record: a function of a key and a value that gives bytes, such as a serialized tf.train.Example; by
        default the value is taken as it is.
    """

    suffix = ".tfrecord"

    def __init__(self, folder, record=None):
        self.folder = os.path.abspath(os.fspath(folder))
        self._record = record or _value

    def record(self, key, value):
        """The bytes of a pair, with the record's head and tail."""
        data = self._record(key, value)
        if not isinstance(data, bytes):
            raise TypeError(f"`record` gives {data!r:.100}; it must give bytes")
        return _millrace.record(data)


def _value(key, value):
    return value


def as_output(given):
    """An output: a path is the folder of text files."""
    return given if hasattr(given, "record") else TextFiles(given)


class Workshop:
    """The folder in which a job does its work, beside the one that it makes.

    Whatever an attempt writes has a name of its own; the reports that count say which files do.

    Args:
      folder: of the output.
      token: tells this job from all others.
    """

    def __init__(self, folder, token):
        self._folder = folder
        self.path = f"{folder}.unfinished-{token}"

    def make(self):
        """Makes the folder. MapReduceError if the output is there, or can't be written."""
        try:
            if os.path.lexists(self._folder) and (
                not os.path.isdir(self._folder) or os.listdir(self._folder)
            ):
                raise MapReduceError(
                    f"the output '{self._folder}' is there already: remove it, or name another"
                )
            os.makedirs(os.path.join(self.path, "out"))
        except OSError as error:
            raise MapReduceError(
                f"the output '{self._folder}' can't be written: {error}"
            ) from error
        return self

    def others(self):
        """Folders that jobs for the same output have left, or have in use."""
        found = glob.glob(f"{glob.escape(self._folder)}.unfinished-*")
        return sorted(path for path in found if path != self.path)

    def write_plan(self, reports):
        """Has the mappers' reports in a file, for reducers; returns its path."""
        path = os.path.join(self.path, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(reports, file)
        return path

    def keep_rejected(self, lines):
        """Writes what could not even be divided, as lines of JSON; returns [the path], or []."""
        if not lines:
            return []
        path = os.path.join(self.path, "files.rejected")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({**line, "record": ""}) + "\n" for line in lines)
        return [path]

    def forget(self, split):
        """Removes a file that was made for a split alone; the split is mapped."""
        if split.get("is_own"):
            with contextlib.suppress(OSError):
                os.remove(split["path"])

    def gather(self, parts, suffix, counters, aside):
        """Makes the output ready to appear; returns the paths that its files will have.

        Args:
          parts: per partition the path of its file.
          suffix: of their names.
          counters: {name: int}, for _counters.json.
          aside: paths of files with bad records, which become _rejected.jsonl.
        """
        out = os.path.join(self.path, "out")
        names = [f"part-{i:05}-of-{len(parts):05}{suffix}" for i in range(len(parts))]
        try:
            for part, name in zip(parts, names):
                os.rename(part, os.path.join(out, name))
            with open(os.path.join(out, "_counters.json"), "w", encoding="utf-8") as file:
                json.dump(counters, file, indent=1, sort_keys=True)
            if aside:
                with open(os.path.join(out, "_rejected.jsonl"), "wb") as file:
                    for path in aside:
                        with open(path, "rb") as lines:
                            shutil.copyfileobj(lines, file)
        except OSError as error:
            raise self._not_made(error) from error
        return [os.path.join(self._folder, name) for name in names]

    def note_publishing(self):
        """Results are put into a queue from now on: whoever finds the folder must not do so again."""
        try:
            with open(os.path.join(self.path, _PUBLISHING), "xb"):
                pass
        except OSError as error:
            raise self._not_made(error) from error

    def check_nothing_was_put(self):
        """MapReduceError if a job for the same output has died, or is at work, putting results into a queue."""
        for path in self.others():
            if os.path.exists(os.path.join(path, _PUBLISHING)):
                raise MapReduceError(
                    f"a job that was killed, or still runs, has put some of the results into the queue: {path} "
                    "is its folder; make the queue anew and remove that"
                )

    def publish(self):
        """Makes the output appear, all at once."""
        try:
            os.rename(os.path.join(self.path, "out"), self._folder)
        except OSError as error:
            raise self._not_made(error) from error

    def _not_made(self, error):
        return MapReduceError(f"the output '{self._folder}' can't be made: {error}")

    def remove(self):
        """Removes what is left of the work. A straggler is not waited for: it does not find the folder."""
        over = f"{self.path}-over"
        with contextlib.suppress(OSError):
            os.rename(self.path, over)
        shutil.rmtree(over, ignore_errors=True)
