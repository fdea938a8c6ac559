"""tensorflow.core.framework.types_pb2: the numbers of types, DT_FLOAT and its kin."""

from millrace._saving.graph_messages import DataType

DT_INVALID = 0
globals().update({name: number for number, name in DataType.names.items()})
