"""tf.train: clusters, servers, and what programs on them need."""

from millrace._cluster.cluster_spec import ClusterDef, ClusterSpec, JobDef, ServerDef
from millrace._cluster.device_setter import replica_device_setter
from millrace._run.coordinator import Coordinator, LooperThread
from millrace._run.server import Server

__all__ = [
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "JobDef",
    "LooperThread",
    "Server",
    "ServerDef",
    "replica_device_setter",
]
