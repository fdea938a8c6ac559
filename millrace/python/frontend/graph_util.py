"""tf.graph_util: graphs cut down to what some nodes need, and with variables as constants."""

from millrace._graph.graph_import import import_graph_def
from millrace._saving.parts_of_graphs import (
    convert_variables_to_constants,
    extract_sub_graph,
    must_run_on_cpu,
    remove_training_nodes,
    tensor_shape_from_node_def_name,
)
