"""Variables together: the collections of a graph, their initializers, and who is not initialized."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import constant
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops.arrays import boolean_mask
from millrace._state.variables import is_variable_initialized
from millrace._values import dtypes


def global_variables(scope=None):
    """The variables that all tasks share: what tf.Variable makes."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables():
    return global_variables()


def local_variables(scope=None):
    """The variables of this process: made with collections=[GraphKeys.LOCAL_VARIABLES]."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None):
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope=None):
    """The variables that optimizers change."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope=None):
    """The variables that have a moving average."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list, name="init"):
    """An Operation that sets each of these variables to its initial value."""
    return group(*[variable.initializer for variable in var_list], name=name)


initialize_variables = variables_initializer


def global_variables_initializer():
    """An Operation that initializes all global variables."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer():
    """An Operation that initializes all local variables."""
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """A vector with the names of the variables that have no value yet.

    Args:
      var_list: the variables; all global and local ones if None.
      name: a name for the nodes.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    with name_scope(name) as scope:
        if not var_list:
            return constant(np.array([], dtype=object), dtypes.string, name=scope)
        marks = gen_ops.pack([is_variable_initialized(variable) for variable in var_list], axis=0)
        names = constant([variable.op.name for variable in var_list])
        return gen_ops.identity(boolean_mask(names, gen_ops.logical_not(marks)), name=scope)


def assert_variables_initialized(var_list=None):
    """An Operation that fails if a variable has no value; None if there are no variables."""
    var_list = global_variables() + local_variables() if var_list is None else var_list
    if not var_list:
        return None
    return group(*[gen_ops.identity(variable) for variable in var_list])
