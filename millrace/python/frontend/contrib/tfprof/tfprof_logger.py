"""tf.contrib.tfprof.tfprof_logger: what is known of nodes beside their graph, as a file."""

from millrace._profiling.op_log import write_op_log
from millrace._profiling.options import TRAINABLE_VARIABLES
