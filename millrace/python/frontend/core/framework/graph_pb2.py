"""tensorflow.core.framework.graph_pb2: graphs as messages."""

from millrace._graph.graph_def import GraphDef
