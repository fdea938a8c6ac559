"""tf.train: clusters, servers, and what programs on them need."""

from millrace.cluster import ClusterDef, ClusterSpec, JobDef, ServerDef
from millrace.coordinator import Coordinator, LooperThread
from millrace.device_setter import replica_device_setter
from millrace.server import Server

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
