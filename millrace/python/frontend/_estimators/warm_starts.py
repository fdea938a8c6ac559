"""Variables that begin with the values of another model's checkpoint."""

import collections
import logging

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._saving.checkpoint_reader import init_from_checkpoint
from millrace._state.partitioned_variables import PartitionedVariable
from millrace._state.variables import Variable

_log = logging.getLogger("millrace")


class VocabInfo:
    """Rows that follow a vocabulary: not here, and refused when it is asked for."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "VocabInfo: rows are not moved from one vocabulary to another; keep the vocabulary, or load "
            "the rows with tf.train.load_variable and assign them"
        )


class WarmStartSettings(
    collections.namedtuple(
        "WarmStartSettings",
        "ckpt_to_initialize_from vars_to_warm_start var_name_to_vocab_info var_name_to_prev_var_name",
    )
):
    """What an Estimator begins with.

    Args:
      ckpt_to_initialize_from: a checkpoint, or a folder of them.
      vars_to_warm_start: a pattern of names of trainable variables, a list of patterns of names of any,
        or a list of Variables.
      var_name_to_vocab_info: must be None.
      var_name_to_prev_var_name: {name: name in the checkpoint} where they differ.
    """

    def __new__(
        cls,
        ckpt_to_initialize_from,
        vars_to_warm_start=".*",
        var_name_to_vocab_info=None,
        var_name_to_prev_var_name=None,
    ):
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def warm_start(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """Makes variables begin with values of a checkpoint; arguments as WarmStartSettings.

    Raises:
      ValueError: if one is not in it, or a name of the dictionary was not used.
    """
    if var_name_to_vocab_info:
        VocabInfo()
    previous = dict(var_name_to_prev_var_name or {})
    groups = {}
    for variable in _wanted(vars_to_warm_start):
        info = variable.save_slice_info
        groups.setdefault(info.full_name if info else variable.op.name, []).append(variable)
    assigned = {}
    for name, variables in groups.items():
        assigned[previous.pop(name, name)] = variables if len(variables) > 1 else variables[0]
    if previous:
        raise ValueError(
            f"You provided the following variables in var_name_to_prev_var_name that were not used: "
            f"{sorted(previous)}. Perhaps you misspelled them? Here is the list of viable variable "
            f"names: {sorted(groups)}"
        )
    if assigned:
        init_from_checkpoint(ckpt_to_initialize_from, assigned)
    _log.info("Warm-started %d variables from %s.", len(assigned), ckpt_to_initialize_from)


def _wanted(wanted):
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return get_collection(GraphKeys.TRAINABLE_VARIABLES, wanted)
    found = {}
    for item in wanted:
        if isinstance(item, str):
            items = get_collection(GraphKeys.GLOBAL_VARIABLES, item)
        elif isinstance(item, PartitionedVariable):
            items = list(item)
        elif isinstance(item, Variable):
            items = [item]
        elif isinstance(item, (list, tuple)):
            items = list(item)
        else:
            raise ValueError(
                "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`. It has "
                f"{type(item)}."
            )
        found.update((variable.name, variable) for variable in items)
    return list(found.values())
