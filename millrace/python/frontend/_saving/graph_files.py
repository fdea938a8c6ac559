"""Graphs as files: in binary, or in protocol text."""

from millrace._files import paths
from millrace._graph.graph import Graph
from millrace._saving.graph_messages import GraphDefMessage
from millrace._values import message_text


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph into a file.

    Args:
      graph_or_graph_def: a tf.Graph or a tf.GraphDef.
      logdir: the folder; made if it is not there.
      name: the name of the file.
      as_text: True for protocol text, False for the bytes of the GraphDef.

    Returns:
      the path of the file.
    """
    definition = graph_or_graph_def
    if isinstance(definition, Graph):
        definition = definition.as_graph_def()
    data = definition.SerializeToString()
    if as_text:
        data = message_text.to_text(GraphDefMessage.FromString(data)).encode()
    paths.makedirs(logdir or ".")
    path = paths.join(logdir, name)
    paths.write_whole(path, data)
    return path
