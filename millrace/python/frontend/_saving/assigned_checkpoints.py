"""Variables that take values of a checkpoint: tf.contrib.framework's assign_from_checkpoint and its kin."""

import logging

import numpy as np

from millrace._flow.control_flow import group
from millrace._ops.arrays import placeholder
from millrace._saving.checkpoint_reader import CheckpointReader
from millrace._saving.saver import Saver
from millrace._state.assignments import assign
from millrace._state.variable_groups import global_variables

_log = logging.getLogger("millrace")


def assign_from_values(var_names_to_values):
    """(an Operation, a feed_dict for it) that give variables values.

    Args:
      var_names_to_values: {name of a variable: array}.

    Raises:
      ValueError: if a name is no variable's, or more than one's.
    """
    feeds, assigned = {}, []
    for name, value in var_names_to_values.items():
        variable = _only_variable(name)
        fed = placeholder(
            variable.dtype.base_dtype, np.shape(value), name=f"assign/{variable.op.name}"
        )
        feeds[fed] = value
        assigned.append(assign(variable, fed).op)
    return group(*assigned), feeds


def assign_from_values_fn(var_names_to_values):
    """A function of a session that does so."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def _only_variable(name):
    found = [v for v in global_variables() if v.op.name == name]
    if len(found) != 1:
        raise ValueError(f"Variable {name} wasn't found" if not found else f"{name} names several")
    return found[0]


def _parts(var_list):
    """[(name in the checkpoint, the Variables, one or all slices)]."""
    if isinstance(var_list, dict):
        return [
            (name, item if isinstance(item, (list, tuple)) else [item])
            for name, item in var_list.items()
        ]
    found = {}
    for variable in var_list:
        info = variable.save_slice_info
        found.setdefault(info.full_name if info else variable.op.name, []).append(variable)
    return list(found.items())


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """(an Operation, a feed_dict for it) that give variables the values of a checkpoint.

    Args:
      model_path: the checkpoint.
      var_list: a list of Variables, or a dictionary of them (or of lists of slices) by their names in the
        checkpoint.
      ignore_missing_vars: True to leave out variables that are not in it.

    Raises:
      ValueError: if one is not in it, or has another shape.
    """
    reader = CheckpointReader(model_path)
    feeds, assigned = {}, []
    for name, variables in _parts(var_list):
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}] (in {model_path})")
            _log.warning("Variable %s missing in checkpoint %s", name, model_path)
            continue
        whole = reader.get_tensor(name)
        for variable in variables:
            value = _part_of(whole, variable)
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(
                    f"Total size of new array must be unchanged for {name} lh_shape: "
                    f"[{np.shape(value)}], rh_shape: [{variable.shape}]"
                )
            fed = placeholder(variable.dtype.base_dtype, np.shape(value), name="checkpoint_value")
            feeds[fed] = value
            assigned.append(assign(variable, fed).op)
    return group(*assigned), feeds


def _part_of(whole, variable):
    info = variable.save_slice_info
    if info is None:
        return whole
    box = tuple(slice(at, at + size) for at, size in zip(info.var_offset, info.var_shape))
    return whole[box]


def assign_from_checkpoint_fn(
    model_path, var_list, ignore_missing_vars=False, reshape_variables=False
):
    """A function of a session that gives variables the values of a checkpoint; None if none is left.

    Args:
      model_path, var_list, ignore_missing_vars: as for assign_from_checkpoint.
      reshape_variables: True to take values of other shapes with as many elements.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    named = dict(_parts(var_list))
    if ignore_missing_vars:
        reader = CheckpointReader(model_path)
        for name in [name for name in named if not reader.has_tensor(name)]:
            _log.warning("Variable %s missing in checkpoint %s", name, model_path)
            del named[name]
    if not named:
        _log.warning("No Variables to restore")
        return None
    wanted = {
        name: parts if parts[0].save_slice_info else parts[0] for name, parts in named.items()
    }
    saver = Saver(wanted, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
