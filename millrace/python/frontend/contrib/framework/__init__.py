"""tf.contrib.framework: argument scopes, variables by name, the global step, nested structures."""

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
from millrace._saving.assigned_checkpoints import (
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
)
from millrace._saving.checkpoint_reader import (
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from millrace._state.found_variables import (
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    local_variable,
)
from millrace._train.global_steps import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from millrace._values.tensor_spec import TensorSpec
from millrace.contrib.framework import nest
