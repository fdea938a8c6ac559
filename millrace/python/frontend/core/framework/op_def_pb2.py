"""tensorflow.core.framework.op_def_pb2: signatures of ops as messages."""

from millrace._saving.graph_messages import OpDef, OpList
