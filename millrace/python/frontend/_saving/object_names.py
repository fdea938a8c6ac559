"""Checkpoints of objects (tf.train.Checkpoint, Keras) read by names of variables.

Their tensors are named after attributes of objects ("layer/kernel/.ATTRIBUTES/VARIABLE_VALUE"); a message
beside them tells which variable each one was. Values are loaded from the program, without new nodes.
"""

from millrace._saving.checkpoint_reader import CheckpointReader
from millrace._saving.object_messages import OBJECT_GRAPH, TrackableObjectGraph
from millrace._state.variables import Variable
from millrace._values import errors


def object_names(reader):
    """{name of a variable: name of its tensor}; None if it is no checkpoint of objects."""
    if not reader.has_tensor(OBJECT_GRAPH):
        return None
    graph = TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH))
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in graph.nodes
        for attribute in node.attributes
    }


def load_objects(sess, path, var_list):
    """Loads variables from a checkpoint of objects.

    Args:
      sess: the tf.Session.
      path: the checkpoint.
      var_list: Variables, or a dictionary of them by name.

    Returns:
      False if it is none.

    Raises:
      tf.errors.NotFoundError: if a variable is not in it.
    """
    reader = CheckpointReader(path)
    keys = object_names(reader)
    if keys is None:
        return False
    named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    if not all(isinstance(variable, Variable) for variable in named.values()):
        return False
    missing = sorted(set(named) - set(keys))
    if missing:
        raise errors.NotFoundError(
            None,
            None,
            f"Existing variables not in the checkpoint: {', '.join(missing)}. Variables names when this "
            "checkpoint was written which don't exist now: "
            f"{', '.join(sorted(set(keys) - set(named)))} ({len(set(keys) & set(named))} variable "
            "name(s) did match). It was written with tf.train.Checkpoint; pass Saver a dictionary with "
            "the names of that time as keys",
        )
    for name, variable in named.items():
        variable.load(reader.get_tensor(keys[name]), sess)
    return True
