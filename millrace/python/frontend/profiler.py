"""tf.profiler: what the nodes of a graph cost, in parameters, operations and time, as tables."""

from millrace._profiling.messages import (
    AdviceProto,
    GraphNodeProto,
    MultiGraphNodeProto,
    OpLogProto,
)
from millrace._profiling.op_log import write_op_log
from millrace._profiling.options import ProfileOptionBuilder
from millrace._profiling.profiler import Profiler, advise, profile
