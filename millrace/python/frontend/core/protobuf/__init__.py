"""tensorflow.core.protobuf: what sessions, clusters, savers and models are told."""

from millrace.core.protobuf import (
    cluster_pb2,
    config_pb2,
    meta_graph_pb2,
    rewriter_config_pb2,
    saver_pb2,
    tensorflow_server_pb2,
)
