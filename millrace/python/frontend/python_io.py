"""tf.python_io: files of records, read and written by the program itself."""

from millrace._input.record_options import TFRecordCompressionType, TFRecordOptions
from millrace._summaries.record_files import TFRecordWriter, tf_record_iterator
