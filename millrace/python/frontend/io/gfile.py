"""tf.io.gfile: tf.gfile by newer names. What goes wrong is told as there."""

from millrace import gfile as _gfile
from millrace._values.errors import OpError as _OpError
from millrace.gfile import GFile


def copy(src, dst, overwrite=False):
    """Copies a file. AlreadyExistsError unless `overwrite`."""
    _gfile.Copy(src, dst, overwrite)


def exists(path):
    """Whether there is a file or folder of this path."""
    return _gfile.Exists(path)


def glob(pattern):
    """The paths that match a pattern, or one of several, sorted."""
    return _gfile.Glob(pattern)


def isdir(path):
    return _gfile.IsDirectory(path)


def listdir(path):
    """The names in a folder. NotFoundError if there is none."""
    return _gfile.ListDirectory(path)


def makedirs(path):
    """Makes a folder and those around it; nothing if it is there."""
    _gfile.MakeDirs(path)


def mkdir(path):
    """Makes a folder in one that exists. AlreadyExistsError, NotFoundError."""
    _gfile.MkDir(path)


def remove(path):
    """Removes a file. NotFoundError if there is none."""
    _gfile.Remove(path)


def rename(src, dst, overwrite=False):
    """Renames a file. AlreadyExistsError unless `overwrite`."""
    _gfile.Rename(src, dst, overwrite)


def rmtree(path):
    """Removes a folder and all in it. NotFoundError if there is none."""
    _gfile.DeleteRecursively(path)


def stat(path):
    """What is known of a file: its length in bytes, mtime_nsec, is_directory. NotFoundError."""
    return _gfile.Stat(path)


def walk(top, topdown=True, onerror=None):
    """(folder, names of folders in it, names of files in it) of a folder and all below it.

    Args:
      top: the folder.
      topdown: False to give what is inside a folder before the folder.
      onerror: called with the error if `top` can't be listed; without it there is just nothing to give.
    """
    if onerror is not None:
        try:
            _gfile.ListDirectory(top)
        except _OpError as error:
            onerror(error)
            return
    yield from _gfile.Walk(top, topdown)
