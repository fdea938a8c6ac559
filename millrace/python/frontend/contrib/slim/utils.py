"""tf.contrib.slim.utils: layers' outputs by the names of the layers."""

from millrace._flow.smart_cond import smart_cond
from millrace._layers.aliases import (
    append_tensor_alias,
    collect_named_outputs,
    convert_collection_to_dict,
    gather_tensors_aliases,
    get_tensor_aliases,
)
