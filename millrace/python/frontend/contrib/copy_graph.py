"""tf.contrib.copy_graph: Operations and Variables copied into other graphs, with all that they need."""

from millrace._saving.copied_elements import (
    copy_op_to_graph,
    copy_variable_to_graph,
    get_copied_op,
)
