"""tensorflow.core.framework.tensor_shape_pb2: shapes as messages."""

from millrace._saving.graph_messages import TensorShapeProto
