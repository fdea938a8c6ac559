"""tensorflow.core.protobuf.tensorflow_server_pb2: what a server is told."""

from millrace._cluster.cluster_spec import ServerDef
