"""tensorflow.core.protobuf: what sessions and clusters are told."""

from millrace.core.protobuf import cluster_pb2, config_pb2, rewriter_config_pb2
