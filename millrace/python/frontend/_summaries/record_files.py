"""Files of records, plain or compressed: tf.python_io."""

import gzip
import zlib

from millrace import _millrace
from millrace._files import paths
from millrace._summaries.record_options import TFRecordOptions
from millrace._values import errors

# What stands before and after the data of a record: millrace/io/records.h.
_HEAD, _TAIL = 12, 4
_LONGEST = (1 << 31) - 1  # bytes of data that are read, as tf.data reads them
_PIECE = 1 << 20
_WINDOWS = {"GZIP": zlib.MAX_WBITS + 16, "ZLIB": zlib.MAX_WBITS}  # by which zlib tells them apart


class _Packed(gzip.GzipFile):
    """What is written, packed, into a file that closes with it."""

    def __init__(self, file):
        super().__init__(mode="wb", fileobj=file)
        self._into = file

    def close(self):
        super().close()
        self._into.close()


class TFRecordWriter:
    """Writes a file of records anew.

    Args:
      path: the file.
      options: TFRecordOptions, or a compression; None for none.

    Raises:
      errors.OpError: if the file can't be written.
    """

    def __init__(self, path, options=None):
        compression = TFRecordOptions.get_compression_type_string(options)
        self._path, self._zlib = path, None
        try:
            self._file = paths.open_file(path, "wb")
            if compression == "GZIP":
                self._file = _Packed(self._file)
        except errors.OpError:
            raise  # a store's, which names the file
        except OSError as error:
            raise errors.NotFoundError(None, None, f"{path}; {error.strerror}") from None
        if compression == "ZLIB":
            self._zlib = zlib.compressobj()

    def write(self, record):
        """Appends a record: bytes."""
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer is closed.")
        data = _millrace.record(record)
        self._put(data if self._zlib is None else self._zlib.compress(data))

    def _put(self, data):
        try:
            self._file.write(data)
        except errors.OpError:
            raise
        except OSError as error:
            raise errors.ResourceExhaustedError(
                None, None, f"can't write '{self._path}': {error.strerror}"
            ) from None

    def flush(self):
        """Hands what was written to the file; what is compressed waits for close."""
        if self._file is not None and self._zlib is None:
            self._file.flush()

    def close(self):
        """Hands all to the file and closes it."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            if self._zlib is not None:
                file.write(self._zlib.flush())
            file.close()
        except errors.OpError:
            raise
        except OSError as error:
            raise errors.ResourceExhaustedError(
                None, None, f"can't write '{self._path}': {error.strerror}"
            ) from None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def tf_record_iterator(path, options=None):
    """The records of a file, as bytes, in order; a piece of the file is held at a time.

    Raises:
      errors.NotFoundError: if there is no such file.
      errors.DataLossError: if it is damaged or its last record is cut off, after the records before. What
        is too short to be the head of a record is left out.
      errors.InvalidArgumentError: for a record of more than 2147483647 bytes, likewise.
    """
    compression = TFRecordOptions.get_compression_type_string(options)
    try:
        with paths.open_file(path, "rb") as file:
            yield from _records(path, _unpacked(file, compression))
    except errors.OpError:
        raise
    except (EOFError, zlib.error) as error:
        raise errors.DataLossError(None, None, f"{path}: {error}") from None
    except OSError as error:
        raise errors.NotFoundError(None, None, f"{path}; {error.strerror}") from None


def _unpacked(file, compression):
    """The bytes of a file, in pieces. EOFError or zlib.error for one that is cut off or damaged."""
    if not compression:
        while piece := file.read(_PIECE):
            yield piece
        return
    unpacks, packed, is_inside = zlib.decompressobj(_WINDOWS[compression]), b"", False
    while True:
        packed = packed or file.read(_PIECE)
        is_inside = is_inside or bool(packed)
        piece = unpacks.decompress(packed, _PIECE)
        yield piece
        if unpacks.eof:
            if compression == "ZLIB":
                return
            # A GZIP file may have several parts.
            packed, is_inside = unpacks.unused_data, False
            unpacks = zlib.decompressobj(_WINDOWS[compression])
        elif packed or piece:
            packed = unpacks.unconsumed_tail
        elif is_inside:
            raise EOFError("the compressed file ends too early: it was cut off")
        else:
            return


def _records(path, pieces):
    """The records that lie in pieces of a file."""
    held, begin = bytearray(), 0  # what is not given yet, and where it lies in the file
    wanted = _HEAD  # bytes that are worth a look
    for piece in pieces:
        held += piece
        if len(held) < wanted:
            continue
        used = 0
        for record in _whole(path, bytes(held), begin):
            yield record
            used += _HEAD + len(record) + _TAIL
        del held[:used]
        begin += used
        wanted = _HEAD
        if len(held) >= _HEAD:
            size = int.from_bytes(held[:8], "little")
            if size > _LONGEST:
                why = f"{path}: the record at {begin} has {size} bytes; at most {_LONGEST} are read"
                raise errors.InvalidArgumentError(None, None, why)
            wanted += size + _TAIL
    if len(held) >= _HEAD:
        why = "Read less bytes than requested"
        raise errors.DataLossError(
            None, None, f"{path}: truncated record at {begin}' failed with {why}"
        )


def _whole(path, data, begin):
    """The records that are whole in what a file has from `begin` on."""
    try:
        yield from _millrace.records(data)
        return
    except errors.DataLossError:
        at = 0
    while True:  # up to the one that is damaged
        end = at + _HEAD + int.from_bytes(data[at : at + 8], "little") + _TAIL
        try:
            yield from _millrace.records(data[at:end])
        except errors.DataLossError:
            why = f"{path}: corrupted record at {begin + at}"
            raise errors.DataLossError(None, None, why) from None
        at = end
