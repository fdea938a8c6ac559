"""tf.contrib.slim.prefetch_queue: a queue that is filled ahead."""

from millrace._input.slim_data import prefetch_queue
