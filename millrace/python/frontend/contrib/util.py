"""tf.contrib.util: values as messages, values of Tensors that are known, the ops of a graph."""

from millrace._graph.conversion import constant_value
from millrace._saving.parts_of_graphs import ops_used_by_graph_def
from millrace._saving.tensor_protos import make_ndarray, make_tensor_proto
