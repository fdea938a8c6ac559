"""tensorflow.core.framework.function_pb2: functions of graphs as messages."""

from millrace._saving.graph_messages import FunctionDef, FunctionDefLibrary, GradientDef
