"""Which kind of thing a path names: a checkpoint, a graph in one of three forms, or a file of events."""

import os
import re

from millrace import _millrace
from millrace._files import paths
from millrace._inspect.checkpoints import Checkpoint
from millrace._inspect.event_files import Events
from millrace._inspect.graphs import Graph, MetaGraph, SavedModel
from millrace._saved_models.constants import VARIABLES_DIRECTORY, VARIABLES_FILENAME
from millrace._saved_models.loader import contains_saved_model, parse_saved_model
from millrace._saving.checkpoint_state import checkpoint_exists, latest_checkpoint
from millrace._saving.graph_messages import GraphDefMessage
from millrace._saving.meta_graph import MetaGraphDef, ReadableMetaGraph
from millrace._values.text_messages import from_text

_OF_CHECKPOINT = re.compile(r"\.(index|data-\d{5}-of-\d{5})$")
_EVENTS = "tfevents"
_TABLE = bytes.fromhex("57fb808b247547db")  # how a table ends


def opened(path):
    """What a path names, opened.

    Raises:
      OSError: if nothing is there; ValueError: if it is none of these; tf.errors.OpError: if it is damaged.
    """
    prefix = _OF_CHECKPOINT.sub("", path)
    if paths.isdir(path):
        return _in_folder(path)
    if prefix != path or paths.exists(path + ".index"):
        return Checkpoint(prefix)
    if _EVENTS in os.path.basename(path):
        return Events(path)
    with paths.open_file(path, "rb") as file:
        data = file.read()
    if data.endswith(_TABLE):
        return Checkpoint(path)  # of the first format: one table
    return _graph(path, data)


def _in_folder(path):
    if contains_saved_model(path):
        prefix = os.path.join(path, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
        variables = Checkpoint(prefix) if checkpoint_exists(prefix) else None
        return SavedModel(path, parse_saved_model(path), variables)
    newest = latest_checkpoint(path)
    if newest is not None:
        return Checkpoint(newest)
    events = sorted(name for name in paths.listdir(path) if _EVENTS in name)
    if events:
        return Events(os.path.join(path, events[-1]))
    raise ValueError(
        f"'{path}' has no SavedModel, no checkpoint and no file of events; name a file in it"
    )


def _graph(path, data):
    """The Graph or MetaGraph of a file, in binary or as text."""
    text = re.match(rb"(?:\s+|#[^\n]*\n)*(\w+)\s*[:{<]", data)
    if text is not None:
        if text[1] in (b"node", b"library", b"versions", b"version"):
            return Graph(path, from_text(GraphDefMessage, data.decode()).SerializeToString())
        message = from_text(ReadableMetaGraph, data.decode())
        return MetaGraph(path, MetaGraphDef.FromString(message.SerializeToString()))
    try:
        meta = MetaGraphDef.FromString(data)
        if meta.HasField("graph_def") and _is_graph(meta.graph_def):
            return MetaGraph(path, meta)
    except ValueError:
        pass
    if _is_graph(data):
        return Graph(path, data)
    raise ValueError(f"'{path}' is no checkpoint, no graph, no SavedModel and no file of events")


def _is_graph(data):
    try:
        _millrace.check_graph_def(data)
        nodes = GraphDefMessage.FromString(data).node
    except ValueError:
        return False
    return bool(nodes) and all(node.name and node.op for node in nodes)
