"""tensorflow.core.framework.node_def_pb2: nodes as messages."""

from millrace._graph.operation import NodeDef
