"""tf.contrib.graph_editor: parts of graphs picked, copied with other inputs, and connected to others."""

from millrace._flow.graph_copies import (
    SubGraphView,
    TransformerInfo,
    add_control_inputs,
    copy,
    copy_with_input_replacements,
    graph_replace,
    make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor,
    make_view,
    make_view_from_scope,
    placeholder_name,
    reroute_ts,
    swap_ts,
)
from millrace._flow.graph_walks import (
    ControlOutputs,
    can_be_regex,
    compute_boundary_ts,
    filter_ops,
    filter_ops_from_regex,
    filter_ts,
    filter_ts_from_regex,
    get_backward_walk_ops,
    get_consuming_ops,
    get_forward_walk_ops,
    get_generating_ops,
    get_name_scope_ops,
    get_ops_ios,
    get_tensors,
    get_walks_intersection_ops,
    get_walks_union_ops,
    get_within_boundary_ops,
    make_list_of_op,
    make_list_of_t,
    make_regex,
    select_ops,
    select_ops_and_ts,
    select_ts,
)

ph = make_placeholder_from_dtype_and_shape
sgv = make_view
sgv_scope = make_view_from_scope
