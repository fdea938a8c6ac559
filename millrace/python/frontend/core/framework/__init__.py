"""tensorflow.core.framework: graphs and summaries."""

from millrace.core.framework import graph_pb2, node_def_pb2, summary_pb2
