"""tf.contrib.framework: argument scopes, variables by name, the global step, nested structures."""

from millrace._flow.expectations import (
    assert_scalar,
    assert_scalar_int,
    get_graph_from_inputs,
    get_name_scope,
    get_placeholders,
    prepend_name_scope,
    reduce_sum_n,
    smart_case,
    strip_name_scope,
    with_same_shape,
    with_shape,
)
from millrace._flow.number_checks import assert_same_float_dtype
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import constant_value as smart_constant_value
from millrace._graph.sparse_tensor import is_tensor
from millrace._graph.sparse_tensor import to_tensor_or_sparse as convert_to_tensor_or_sparse_tensor
from millrace._layers.arg_scopes import (
    add_arg_scope,
    arg_scope,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
from millrace._layers.model_variables import (
    add_model_variable,
    global_variable,
    model_variable,
    variable,
)
from millrace._layers.variable_devices import VariableDeviceChooser
from millrace._measures.ranks import remove_squeezable_dimensions
from millrace._ops.sorting import argsort, sort
from millrace._saving.assigned_checkpoints import (
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
)
from millrace._input.record_input import RecordInput
from millrace._saving.checkpoint_reader import (
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from millrace._state.found_variables import (
    filter_variables,
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variable_full_name,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    local_variable,
)
from millrace._train.global_steps import (
    assert_global_step,
    assert_or_get_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from millrace._values.deprecations import deprecated, deprecated_arg_values, deprecated_args
from millrace._values.tensor_spec import BoundedTensorSpec, TensorSpec
from millrace.contrib.framework import nest
