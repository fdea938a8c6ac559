"""tf.version: which version of this package, and of the format of graphs that it reads and writes."""

from millrace import _millrace

VERSION = _millrace.version
GIT_VERSION = VERSION
GRAPH_DEF_VERSION = _millrace.graph_def_version
# Graphs of all versions are read, and those written here ask for no newer reader.
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
