"""FileWriter: events into a file that TensorBoard reads, and files of records in general."""

import contextlib
import errno
import logging
import math
import os
import socket
import threading
import time

from millrace import _millrace
from millrace._files import paths
from millrace._graph.graph import Graph
from millrace._graph.graph_def import GraphDef
from millrace._summaries.messages import Event, SessionLog, Summary, TaggedRunMetadata
from millrace._summaries.record_files import tf_record_iterator
from millrace._values import errors

_log = logging.getLogger("millrace")


class EventsFile:
    """A file of events that grows; one thread at a time.

    Args:
      folder: where it is made, with what is missing of the path.
      suffix: what its name ends with.

    Raises:
      errors.OpError: if the folder can't be made, or the file can't be written.
    """

    def __init__(self, folder, suffix):
        host = socket.gethostname()
        self.path = os.path.join(
            folder, f"events.out.tfevents.{int(time.time()):010d}.{host}{suffix}"
        )
        with _as_status(self.path):
            paths.makedirs(folder)
            self._file = paths.open_file(self.path, "ab")
        self.write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    def write(self, event):
        with _as_status(self.path):
            self._file.write(_millrace.record(event.SerializeToString()))

    def flush(self):
        with _as_status(self.path):
            self._file.flush()

    def close(self):
        with _as_status(self.path):
            self._file.close()


@contextlib.contextmanager
def _as_status(path):
    """What the disk says becomes an error of ours that names the file."""
    try:
        yield
    except errors.OpError:
        raise  # a store's, which names the file
    except OSError as error:
        kind = _KINDS.get(error.errno, errors.FailedPreconditionError)
        raise kind(None, None, f"can't write events to '{path}': {error.strerror}") from None


_KINDS = {
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.ENOENT: errors.NotFoundError,
}


class FileWriter:
    """Writes summaries, graphs and what becomes of sessions into a file of events.

    Events are kept until there are `max_queue` of them, `flush_secs` have passed, or flush is called.
    Any thread may write. After close, writing does nothing but warn, until reopen begins a new file.

    Args:
      logdir: the folder; made with what is missing of its path.
      graph: a Graph to write at once.
      max_queue: how many events may wait; for a remote file any number may.
      flush_secs: how many seconds one may wait.
      graph_def: a GraphDef to write at once, in place of `graph`.
      filename_suffix: what the file's name ends with.
      session: accepted; events are written by this process.

    Raises:
      errors.OpError: if the file can't be made or written: ResourceExhaustedError for a full disk.
    """

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue=10,
        flush_secs=120,
        graph_def=None,
        filename_suffix=None,
        session=None,
    ):
        self._logdir = os.fsdecode(logdir)
        self._suffix = filename_suffix or ""
        # A flush of a remote file is a request, to S3 with all that was there before: time alone asks for one.
        self._max_queue = math.inf if paths.is_remote(self._logdir) else max_queue
        self._flush_secs = flush_secs
        self._lock = threading.RLock()
        self._waiting = 0
        self._has_warned = False
        self._tags = set()  # of summaries whose metadata is written
        self._run_tags = set()
        self._file = None
        self.reopen()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self):
        """The folder."""
        return self._logdir

    # ---- What is written -------------------------------------------------------------------------

    def add_event(self, event):
        """Writes an Event. Does nothing but warn when the writer is closed."""
        with self._lock:
            if self._file is None:
                if not self._has_warned:
                    _log.warning(
                        "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                        "FileWriter is explicitly reopened."
                    )
                self._has_warned = True
                return
            self._file.write(event)
            self._waiting += 1
            if self._waiting >= self._max_queue or time.monotonic() >= self._flush_at:
                self.flush()

    def _add(self, event, step):
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_summary(self, summary, global_step=None):
        """Writes a Summary: the message, or its bytes as session.run gives them.

        Metadata of a tag is written the first time only.
        """
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        kept = Summary(value=summary.value)
        for index, value in enumerate(kept.value):
            if not value.HasField("metadata"):
                continue
            if value.tag in self._tags:
                value = type(value).FromString(value.SerializeToString())
                value.ClearField("metadata")
                kept.value[index] = value
            self._tags.add(value.tag)
        self._add(Event(summary=kept), global_step)

    def add_session_log(self, session_log, global_step=None):
        """Writes what became of a session: a SessionLog."""
        if not isinstance(session_log, SessionLog):
            raise TypeError(f"session_log must be a SessionLog, got {session_log!r}")
        self._add(Event(session_log=session_log), global_step)

    def add_graph(self, graph, global_step=None, graph_def=None):
        """Writes a graph: a Graph, or a GraphDef.

        Raises:
          ValueError: if both are given, or neither.
          TypeError: if `graph` is no Graph.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, GraphDef):
            graph, graph_def = None, graph
        if graph is not None:
            if not isinstance(graph, Graph):
                raise TypeError(f"The passed graph must be an instance of `Graph`, got {graph!r}")
            graph_def = graph.as_graph_def(add_shapes=True)
        if graph_def is None:
            raise ValueError(
                "The passed graph must be an instance of `Graph` or `GraphDef`, got None"
            )
        self._add(Event(graph_def=graph_def.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        """Writes a MetaGraphDef: anything that has SerializeToString."""
        if not hasattr(meta_graph_def, "SerializeToString"):
            raise TypeError(f"meta_graph_def must be a MetaGraphDef, got {meta_graph_def!r}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Writes what a run told of itself, under a tag that was not used before.

        Raises:
          ValueError: if it was.
        """
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(Event(tagged_run_metadata=tagged), global_step)

    # ---- The file --------------------------------------------------------------------------------

    def flush(self):
        """Hands all events to the file."""
        with self._lock:
            if self._file is not None:
                self._waiting = 0
                self._flush_at = time.monotonic() + self._flush_secs
                self._file.flush()

    def close(self):
        """Hands all events to the file and closes it."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def reopen(self):
        """Begins a new file after close; nothing if the writer is open."""
        with self._lock:
            if self._file is None:
                self._file = EventsFile(self._logdir, self._suffix)
                self._has_warned = False
                self._waiting = 0
                self._flush_at = time.monotonic() + self._flush_secs

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class FileWriterCache:
    """One FileWriter per folder for the whole process."""

    _lock = threading.RLock()
    _writers = {}

    @classmethod
    def get(cls, logdir):
        """The FileWriter of a folder, made when it is first asked for."""
        with cls._lock:
            if logdir not in cls._writers:
                cls._writers[logdir] = FileWriter(logdir)
            return cls._writers[logdir]

    @classmethod
    def clear(cls):
        """Closes all of them and forgets them."""
        with cls._lock:
            for writer in cls._writers.values():
                writer.close()
            cls._writers.clear()


def summary_iterator(path):
    """The Events of a file, in order.

    Raises:
      errors.NotFoundError: if there is no such file.
      errors.DataLossError: if a record is damaged; after the events before it, if the last one is cut off.
    """
    for record in tf_record_iterator(path):
        yield Event.FromString(record)
