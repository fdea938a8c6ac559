"""The Saver that belongs to a graph: the one in its collection, or that of the MetaGraph it came from."""

import logging

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection, get_collection
from millrace._saving import meta_graph
from millrace._saving.saveables import all_saveable_objects
from millrace._saving.saver import Saver

_log = logging.getLogger("millrace")


def default_saver():
    """The only Saver in tf.GraphKeys.SAVERS; a new one for all variables if there is none.

    Raises:
      RuntimeError: if there are several.
    """
    found = get_collection(GraphKeys.SAVERS)
    if len(found) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by "
            "passing it to the constructor."
        )
    if found:
        return found[0]
    made = Saver(sharded=True, allow_empty=True)
    add_to_collection(GraphKeys.SAVERS, made)
    return made


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Adds the graph of a MetaGraphDef to the default graph, and its collections.

    Args:
      meta_graph_or_file: a MetaGraphDef, or the path of a file with one.
      clear_devices: True to forget which devices its nodes asked for.
      import_scope: a name scope to put it under.

    Returns:
      its Saver; None if it has none, and no variables.
    """
    saver_def = meta_graph.import_graph(meta_graph_or_file, clear_devices, import_scope, **kwargs)
    if saver_def is not None:
        return Saver(saver_def=saver_def, name=import_scope)
    if all_saveable_objects():
        return Saver()
    _log.info("Saver not created because there are no variables in the graph to restore")
    return None
