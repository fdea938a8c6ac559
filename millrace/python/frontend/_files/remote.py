"""Remote files as Python has files: bytes that are read anywhere and written at the end."""

import io
import threading

from millrace import _millrace
from millrace._files.refusals import as_both

_PIECE = 256 << 10


class _Read(io.RawIOBase):
    def __init__(self, path):
        super().__init__()
        with as_both():
            self._file = _millrace.files.open(path)
            self._size = self._file.size()
        self._at = 0
        self.name = path

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"there is nothing before a file: {start + offset}")
        self._at = start + offset
        return self._at

    def tell(self):
        return self._at

    def readinto(self, into):
        with as_both():
            data = self._file.read(self._at, len(into))
        into[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Written(io.RawIOBase):
    def __init__(self, path, anew):
        super().__init__()
        with as_both():
            self._file = (_millrace.files.create if anew else _millrace.files.append_to)(path)
        self._one = (
            threading.Lock()
        )  # its file is for one thread at a time, which `push` may not be
        self.name = path

    def writable(self):
        return True

    def write(self, data):
        with self._one, as_both():
            self._file.append(data)
        return len(data)

    def push(self):
        """Returns when others see what was written."""
        with self._one, as_both():
            self._file.flush()

    def close(self):
        if not self.closed:
            try:
                with self._one, as_both():
                    self._file.close()
            finally:
                super().close()


class _Buffered(io.BufferedWriter):
    def flush(self):
        super().flush()
        self.raw.push()


def opened(path, mode, encoding=None, newline=None):
    """A file object, as `open` gives one. Modes are "r", "w" and "a", with or without "b".

    Raises:
      OSError, that is one of tf.errors: what the store says.
      ValueError: for another mode: what is written there is not read, and the reverse.
    """
    kind = mode.replace("b", "").replace("t", "")
    if kind not in ("r", "w", "a"):
        raise ValueError(f"a remote file is opened by 'r', 'w' or 'a', not by '{mode}': {path}")
    if kind == "r":
        file = io.BufferedReader(_Read(path), _PIECE)
    else:
        file = _Buffered(_Written(path, anew=kind == "w"), _PIECE)
    return file if "b" in mode else io.TextIOWrapper(file, encoding=encoding, newline=newline)
