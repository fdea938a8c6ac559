"""tensorflow.core.protobuf.meta_graph_pb2: a graph with what belongs to it."""

from millrace._saving.meta_graph import MetaGraphDef
from millrace._saving.model_messages import AssetFileDef, SignatureDef, TensorInfo
