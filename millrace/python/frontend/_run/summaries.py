"""What training asks of tf.summary: it is loaded when a program first has summaries, or lacked.

Programs that have no use for summaries run as well in a version without them; those that ask for files
of events are told that there will be none.
"""

import logging
from importlib import import_module

_log = logging.getLogger("millrace")


def _of_summary(name):
    """tf.summary's function or class, or None if this version has none."""
    try:
        return getattr(import_module("millrace.summary"), name, None)
    except ModuleNotFoundError:
        return None


def scalar(name, tensor):
    """tf.summary.scalar; None without it."""
    make = _of_summary("scalar")
    return make(name, tensor) if make is not None else None


def merge_all():
    """tf.summary.merge_all: a Tensor, or None if the graph has no summaries."""
    merge = _of_summary("merge_all")
    return merge() if merge is not None else None


def scalar_value(tag, value):
    """A Summary with one number."""
    summary = _of_summary("Summary")
    return summary(value=[summary.Value(tag=tag, simple_value=value)])


def session_log(status, checkpoint_path=None):
    """A SessionLog for a writer of events.

    Args:
      status: "START", "STOP" or "CHECKPOINT".
      checkpoint_path: where the checkpoint was saved.
    """
    log = _of_summary("SessionLog")
    values = {} if checkpoint_path is None else {"checkpoint_path": checkpoint_path}
    return log(status=getattr(log, status), **values)


def file_writer(folder):
    """A new tf.summary.FileWriter; None, with a warning, if this version has none."""
    writer = _of_summary("FileWriter")
    if writer is None:
        _log.warning("no events are written into '%s': this version has no FileWriter", folder)
        return None
    return writer(folder)


def shared_writer(folder):
    """The one FileWriter of this process for a folder; None as file_writer."""
    cache = _of_summary("FileWriterCache")
    return cache.get(folder) if cache is not None else file_writer(folder)
