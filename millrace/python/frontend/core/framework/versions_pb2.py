"""tensorflow.core.framework.versions_pb2: which versions made a graph and may read it."""

from millrace._saving.graph_messages import VersionDef
