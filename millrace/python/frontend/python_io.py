"""tf.python_io: files of records, read and written by the program itself."""

from millrace._summaries.record_files import TFRecordWriter, tf_record_iterator
from millrace._summaries.record_options import TFRecordCompressionType, TFRecordOptions
