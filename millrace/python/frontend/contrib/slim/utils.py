"""tf.contrib.slim.utils: layers' outputs by the names of the layers, sizes of shapes."""

from millrace._flow.smart_cond import smart_cond
from millrace._layers.aliases import (
    append_tensor_alias,
    collect_named_outputs,
    convert_collection_to_dict,
    gather_tensors_aliases,
    get_tensor_aliases,
)
from millrace._layers.sizes import (
    channel_dimension,
    first_dimension,
    last_dimension,
    n_positive_integers,
    two_element_tuple,
)
