"""tf.config.threading: how many threads sessions of this process have. 0 is for as many as processors."""

from millrace._run.process_options import options as _options


def get_inter_op_parallelism_threads():
    return _options.inter_op_threads


def set_inter_op_parallelism_threads(num_threads):
    """How many threads run ops side by side: kept, as of a ConfigProto."""
    _options.inter_op_threads = int(num_threads)


def get_intra_op_parallelism_threads():
    return _options.intra_op_threads


def set_intra_op_parallelism_threads(num_threads):
    """How many threads share the work of one op."""
    _options.intra_op_threads = int(num_threads)
