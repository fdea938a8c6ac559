"""tf.contrib.tfprof.model_analyzer: tables of parameters, operations and times; tf.profiler has newer names."""

from millrace._profiling.options import ProfileOptionBuilder
from millrace._profiling.profiler import Profiler, advise, profile

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = ProfileOptionBuilder.time_and_memory()


def print_model_analysis(
    graph,
    run_meta=None,
    op_log=None,
    tfprof_cmd="scope",
    tfprof_options=TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
):
    """As tf.profiler.profile, under its older names.

    Args:
      graph, run_meta, op_log: as there.
      tfprof_cmd: its `cmd`.
      tfprof_options: its `options`.
    """
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)
