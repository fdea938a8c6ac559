"""tensorflow.core.framework.tensor_pb2: tensors as messages."""

from millrace._saving.graph_messages import TensorProto
