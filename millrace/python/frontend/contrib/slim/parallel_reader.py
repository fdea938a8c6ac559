"""tf.contrib.slim.parallel_reader: several files read at a time."""

from millrace._input.slim_data import (
    ParallelReader,
    get_data_files,
    parallel_read,
    single_pass_read,
)
