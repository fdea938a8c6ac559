"""tf.python_io: files of records, read and written by the program itself."""

from millrace._input.record_files import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
