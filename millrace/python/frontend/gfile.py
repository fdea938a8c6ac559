"""tf.gfile: files, by TensorFlow 1's names: of the disk, and of remote stores (docs/remote_files.md).

What goes wrong is an error of tf.errors that is one of Python's too: NotFoundError and FileNotFoundError,
AlreadyExistsError and FileExistsError, PermissionDeniedError and PermissionError; FailedPreconditionError
and OSError for the rest.
"""

import os as _os

from millrace._files import paths as _paths
from millrace._files.refusals import AlreadyExists as _AlreadyExists
from millrace._files.refusals import NotFound as _NotFound
from millrace._files.refusals import as_status as _as_status


class GFile:
    """A file: text as UTF-8, or bytes if "b" is among the letters of `mode`.

    Args:
      name: its path.
      mode: "r", "w", "a", "r+", "w+" or "a+", with or without "b".

    Raises:
      errors.NotFoundError and others: when it is first used, as in TensorFlow; ValueError for modes that
        are none.
    """

    def __init__(self, name, mode="r"):
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise ValueError(f"mode is not one of r, w, a, r+, w+, a+ with or without b: '{mode}'")
        self._name, self._mode = _os.fspath(name), mode
        self._file = None

    @property
    def name(self):
        return self._name

    @property
    def mode(self):
        return self._mode

    def _opened(self):
        if self._file is None:
            with _as_status(self._name):
                encoding = None if "b" in self._mode else "utf-8"
                # Without translation of line ends, as TensorFlow reads and writes.
                newline = None if "b" in self._mode else ""
                self._file = _paths.open_file(self._name, self._mode, encoding, newline)
        return self._file

    def size(self):
        """How many bytes it has."""
        self.flush()
        return Stat(self._name).length

    def read(self, n=-1):
        """The next `n` characters or bytes, or all that is left."""
        return self._opened().read(n)

    def seek(self, offset=None, whence=0, position=None):
        """Goes to a place: `whence` is 0 for the beginning, 1 for here, 2 for the end."""
        self._opened().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._opened().tell()

    def readline(self):
        """The next line with its end; empty at the end of the file."""
        return self._opened().readline()

    def readlines(self):
        return self._opened().readlines()

    def write(self, file_content):
        """Writes text or bytes."""
        if "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        with _as_status(self._name):
            self._opened().write(file_content)

    def flush(self):
        if self._file is not None:
            with _as_status(self._name):
                self._file.flush()

    def close(self):
        """Closes it; what is written is handed to the disk first."""
        file, self._file = self._file, None
        if file is not None:
            with _as_status(self._name):
                file.close()
        elif self._mode[0] in "wa":  # it was opened for writing, and nothing was written
            self._opened().close()
            self._file = None

    def __iter__(self):
        return iter(self._opened())

    def __next__(self):
        return next(self._opened())

    next = __next__

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class FastGFile(GFile):
    """The same."""


Open = GFile


class FileStatistics:
    """What is known of a file: length in bytes, mtime_nsec, is_directory."""

    def __init__(self, length, mtime_nsec, is_directory):
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory

    def __repr__(self):
        return f"<FileStatistics length={self.length} is_directory={self.is_directory}>"


def Exists(filename):
    """Whether there is a file or folder of this path."""
    return _paths.exists(filename)


def IsDirectory(dirname):
    return _paths.isdir(dirname)


def Stat(filename):
    """What is known of a file. NotFoundError if there is none."""
    with _as_status(filename):
        length, is_directory, nanoseconds = _paths.facts(filename)
    return FileStatistics(length, nanoseconds, is_directory)


def ListDirectory(dirname):
    """The names in a folder. NotFoundError if there is none."""
    if not _paths.isdir(dirname):
        raise _NotFound(None, None, "Could not find directory")
    with _as_status(dirname):
        return _paths.listdir(dirname)


def MkDir(dirname):
    """Makes a folder in one that exists. AlreadyExistsError, NotFoundError."""
    with _as_status(dirname):
        _paths.mkdir(dirname)


def MakeDirs(dirname):
    """Makes a folder and those around it; nothing if it is there."""
    with _as_status(dirname):
        _paths.makedirs(dirname)


def Remove(filename):
    """Removes a file. NotFoundError if there is none."""
    with _as_status(filename):
        _paths.remove(filename)


def DeleteRecursively(dirname):
    """Removes a folder and all in it, or a file. NotFoundError if there is none."""
    with _as_status(dirname):
        (_paths.remove_tree if _paths.isdir(dirname) else _paths.remove)(dirname)


def Glob(filename):
    """The paths that match a pattern, or one of several, sorted."""
    patterns = [filename] if isinstance(filename, (str, bytes, _os.PathLike)) else filename
    return [path for pattern in patterns for path in _paths.matching(pattern)]


def Copy(oldpath, newpath, overwrite=False):
    """Copies a file. AlreadyExistsError unless `overwrite`."""
    if not overwrite and _paths.exists(newpath):
        raise _AlreadyExists(None, None, f"file already exists: {newpath}")
    with _as_status(oldpath):
        _paths.copy(oldpath, newpath)


def Rename(oldname, newname, overwrite=False):
    """Renames a file. AlreadyExistsError unless `overwrite`."""
    if not overwrite and _paths.exists(newname):
        raise _AlreadyExists(None, None, f"file already exists: {newname}")
    with _as_status(oldname):
        _paths.replace(oldname, newname)


def Walk(top, in_order=True):
    """(folder, names of folders in it, names of files in it) of a folder and all below it."""
    return _paths.walk(top, topdown=in_order)
