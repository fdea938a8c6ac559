"""tensorflow.core.protobuf.cluster_pb2: who is in a cluster."""

from millrace._cluster.cluster_spec import ClusterDef, JobDef
