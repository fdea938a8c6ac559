"""Readers: records of files, whose names come from a queue."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._state.queues import QueueBase
from millrace._summaries.record_options import TFRecordOptions
from millrace._values import dtypes


class ReaderBase:
    """Takes the name of a file from a queue and gives its records, one after another.

    A reader whose files are read gives the records of the next file that the queue has. Where the queue is
    closed and empty, reading fails with OutOfRangeError.

    Attributes:
      reader_ref: the Tensor that refers to the reader.
      supports_serialize: whether serialize_state and restore_state work.
    """

    def __init__(self, reader_ref, supports_serialize=False):
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self):
        return self._reader_ref

    @property
    def supports_serialize(self):
        return self._supports_serialize

    def _make(self, op, *inputs, name):
        if self._reader_ref.dtype == dtypes.resource:
            op += "_v2"
        return getattr(gen_ops, op)(self._reader_ref, *inputs, name=name)

    def read(self, queue, name=None):
        """The next record: (key, value), two scalars of strings.

        Args:
          queue: a queue of one component, strings; or a Tensor that refers to one.
          name: a name for the node.
        """
        return self._make("reader_read", _ref_of(queue), name=name)

    def read_up_to(self, queue, num_records, name=None):
        """The next records of one file, at most `num_records`: (keys, values), two vectors of strings.

        Fewer where the file ends, never none unless num_records is 0. Takes what `read` takes.
        """
        count = convert(num_records, dtypes.int64, "num_records")
        return self._make("reader_read_up_to", _ref_of(queue), count, name=name)

    def num_records_produced(self, name=None):
        """How many records were given: an int64 scalar. The same as the number of reads that succeeded."""
        return self._make("reader_num_records_produced", name=name)

    def num_work_units_completed(self, name=None):
        """How many files were read to their end: an int64 scalar."""
        return self._make("reader_num_work_units_completed", name=name)

    def serialize_state(self, name=None):
        """A scalar of bytes that restore_state takes. UnimplementedError unless supports_serialize."""
        return self._make("reader_serialize_state", name=name)

    def restore_state(self, state, name=None):
        """An Operation that puts the reader where it was. UnimplementedError unless supports_serialize.

        Args:
          state: what serialize_state of a reader of this kind gave.
          name: a name for the node.
        """
        return self._make("reader_restore_state", convert(state, dtypes.string, "state"), name=name)

    def reset(self, name=None):
        """An Operation that makes the reader as new: it goes on with the queue's next file."""
        return self._make("reader_reset", name=name)


def _ref_of(queue):
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


class WholeFileReader(ReaderBase):
    """Gives each file whole: its name as the key, its bytes as the value.

    Args:
      name: a name for the node.
    """

    def __init__(self, name=None):
        super().__init__(gen_ops.whole_file_reader_v2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Gives the lines of files, without their ends; the key is "file:line", from 1.

    Args:
      skip_header_lines: how many lines at the beginning of each file are left out.
      name: a name for the node.
    """

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__(
            gen_ops.text_line_reader_v2(skip_header_lines=skip_header_lines or 0, name=name)
        )


class FixedLengthRecordReader(ReaderBase):
    """Gives records of one length; the key is "file:number", from 0.

    Args:
      record_bytes: how long a record is.
      header_bytes, footer_bytes: what is left out at the beginning and at the end of each file.
      hop_bytes: from the beginning of one record to that of the next; 0 for record_bytes.
      name: a name for the node.
      encoding: how the files are compressed: "", "ZLIB" or "GZIP".
    """

    def __init__(
        self,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        hop_bytes=None,
        name=None,
        encoding=None,
    ):
        super().__init__(
            gen_ops.fixed_length_record_reader_v2(
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """Gives the records that tf.python_io.TFRecordWriter writes; the key is "file:offset".

    Args:
      name: a name for the node.
      options: TFRecordOptions that say how the files are compressed; None if they are not.
    """

    def __init__(self, name=None, options=None):
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(gen_ops.tf_record_reader_v2(compression_type=compression, name=name))


class IdentityReader(ReaderBase):
    """Gives what the queue gave, as the key and as the value.

    Args:
      name: a name for the node.
    """

    def __init__(self, name=None):
        super().__init__(gen_ops.identity_reader_v2(name=name), supports_serialize=True)
