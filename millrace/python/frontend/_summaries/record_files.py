"""Files of records, plain or compressed: tf.python_io."""

import gzip
import zlib

from millrace import _millrace
from millrace._files import paths
from millrace._summaries.record_options import TFRecordOptions
from millrace._values import errors

# What stands before and after the data of a record: millrace/io/records.h.
_HEAD, _TAIL = 12, 4


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
    """The records of a file, as bytes, in order.

    Raises:
      errors.NotFoundError: if there is no such file.
      errors.DataLossError: if it is damaged; after the records before it, if the last one is cut off.
        What is too short to be the head of a record is left out.
    """
    compression = TFRecordOptions.get_compression_type_string(options)
    try:
        with paths.open_file(path, "rb") as file:
            data = file.read()
    except errors.OpError:
        raise
    except OSError as error:
        raise errors.NotFoundError(None, None, f"{path}; {error.strerror}") from None
    try:
        if compression == "GZIP":
            data = gzip.decompress(data)
        elif compression == "ZLIB":
            data = zlib.decompress(data)
        records = _millrace.records(data)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise errors.DataLossError(None, None, f"{path}: {error}") from None
    yield from records
    end = sum(_HEAD + len(record) + _TAIL for record in records)
    if len(data) - end >= _HEAD:
        why = "Read less bytes than requested"
        raise errors.DataLossError(
            None, None, f"{path}: truncated record at {end}' failed with {why}"
        )
