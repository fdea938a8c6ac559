"""Variables found by name, scope or suffix: what tf.contrib.framework adds to tf's own groups."""

import re

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._state.named_variables import VariableScope
from millrace._state.variables import Variable


def get_variables(scope=None, suffix=None, collection=GraphKeys.GLOBAL_VARIABLES):
    """The variables of a collection whose name begins with `scope` and ends with `suffix`.

    Args:
      scope: a regex or a VariableScope; None for all.
      suffix: the end of the name, with or without its ":0"; None for any.
      collection: the collection.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix if ':' in suffix else suffix + ':'}"
    return get_collection(collection, scope)


def get_trainable_variables(scope=None, suffix=None):
    """get_variables of those that optimizers change."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_model_variables(scope=None, suffix=None):
    """get_variables of those that models are made of."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    """get_variables of those of this process."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    """The variables whose last name is `given_name`."""
    suffix = f"/{given_name}:|^{given_name}:"
    return get_variables(scope, suffix)


def get_variables_by_suffix(suffix, scope=None):
    """The variables whose name ends with `suffix`."""
    return get_variables(scope, suffix)


def get_unique_variable(var_op_name):
    """The variable of this full name. ValueError if there is none."""
    candidates = get_variables(scope=var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variables_to_restore(include=None, exclude=None):
    """The global variables in some scopes and not in others.

    Args:
      include: a list of scopes; None for all variables.
      exclude: a list of scopes.

    Raises:
      TypeError: if one is no list.
    """
    for name, given in (("include", include), ("exclude", exclude)):
        if given is not None and not isinstance(given, (list, tuple)):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
    chosen = [v for scope in include for v in get_variables(scope)] if include else get_variables()
    left_out = {v for scope in exclude or [] for v in get_variables(scope)}
    return [v for v in dict.fromkeys(chosen) if v not in left_out]


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """A Variable of this process: not trainable, in LOCAL_VARIABLES."""
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    """The Variables whose names fit any of the first patterns and none of the second.

    Args:
      var_list: Variables.
      include_patterns: regexes; None for all.
      exclude_patterns: regexes; None for none.
      reg_search: False for patterns that must fit from a name's beginning.
    """
    fits = re.search if reg_search else re.match

    def is_wanted(variable):
        name = variable.op.name
        is_included = not include_patterns or any(fits(each, name) for each in include_patterns)
        return is_included and not any(fits(each, name) for each in exclude_patterns or ())

    return [variable for variable in var_list if is_wanted(variable)]


def get_variable_full_name(var):
    """The name by which a variable is in checkpoints: for a part of one that is divided, the whole one's."""
    info = getattr(var, "save_slice_info", None)
    return info.full_name if info is not None else var.op.name
