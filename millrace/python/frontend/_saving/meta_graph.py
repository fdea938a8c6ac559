"""MetaGraphs: a graph with its collections and its Saver, in one file that other programs read.

Items of collections are written by their messages (variables, queue runners, savers), by name (Tensors and
Operations) or as values (numbers and strings). What is none of these is left out, with a warning.
"""

import logging

import numpy as np

from millrace import _millrace
from millrace._graph.collection_protos import collection_form
from millrace._graph.collections import GraphKeys
from millrace._graph.graph import get_default_graph
from millrace._graph.graph_def import GraphDef
from millrace._graph.graph_import import import_graph_def
from millrace._saving.checkpoint_state import write_file
from millrace._saving.graph_messages import GraphDefMessage
from millrace._saving.saver_def import SaverDef
from millrace._values import message_text
from millrace._values.messages import Message, by_name, many

_log = logging.getLogger("millrace")


class NodeList(Message):
    _fields = {"value": (1, many(str))}


class BytesList(Message):
    _fields = {"value": (1, many(bytes))}


class Int64List(Message):
    _fields = {"value": (1, many(int))}


class FloatList(Message):
    _fields = {"value": (1, many(float))}


class CollectionDef(Message):
    """The items of a collection: of one of these kinds."""

    _fields = {
        "node_list": (1, NodeList),
        "bytes_list": (2, BytesList),
        "int64_list": (3, Int64List),
        "float_list": (4, FloatList),
    }


class MetaInfoDef(Message):
    _fields = {
        "meta_graph_version": (1, str),
        "tags": (4, many(str)),
        "tensorflow_version": (5, str),
        "tensorflow_git_version": (6, str),
        "stripped_default_attrs": (7, bool),
    }


class MetaGraphDef(Message):
    """A graph, what is told of it, its collections and its Saver.

    `graph_def` is the bytes of a GraphDef; `graph()` reads them.
    """

    MetaInfoDef = MetaInfoDef
    _fields = {
        "meta_info_def": (1, MetaInfoDef),
        "graph_def": (2, bytes),
        "saver_def": (3, SaverDef),
        "collection_def": (4, by_name(CollectionDef)),
    }

    def graph(self):
        """The GraphDef."""
        return GraphDef(self.graph_def)


class _ReadableMetaGraph(Message):
    """The same with the graph taken apart: for writing it as text."""

    _fields = {**MetaGraphDef._fields, "graph_def": (2, GraphDefMessage)}


def _collection_def(name, items):
    """The CollectionDef of a collection; None, with a warning, if it can't be written."""
    form = collection_form(name)
    made = CollectionDef()
    try:
        if form is not None:
            messages = (item.to_proto() for item in items)
            made.bytes_list.value = [m.SerializeToString() for m in messages if m is not None]
        elif all(isinstance(item, (str, bytes)) for item in items):
            made.bytes_list.value = [i.encode() if isinstance(i, str) else i for i in items]
        elif all(isinstance(item, (int, np.integer)) for item in items):
            made.int64_list.value = [int(item) for item in items]
        elif all(isinstance(item, (float, np.floating)) for item in items):
            made.float_list.value = [float(item) for item in items]
        else:
            made.node_list.value = [_node_name(item) for item in items]
    except (AttributeError, TypeError) as error:
        _log.warning("the collection '%s' is left out of the MetaGraph: %s", name, error)
        return None
    return made


def _node_name(item):
    return get_default_graph().as_graph_element(item).name


def export_meta_graph(
    filename=None,
    meta_info_def=None,
    graph_def=None,
    saver_def=None,
    collection_list=None,
    as_text=False,
    graph=None,
    export_scope=None,
    clear_devices=False,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
    save_debug_info=False,
):
    """A MetaGraphDef of a graph, also written into a file.

    Args:
      filename: the file; None for none.
      meta_info_def: a MetaInfoDef with tags, for instance.
      graph_def: a GraphDef; that of `graph` if None.
      saver_def: a SaverDef.
      collection_list: the names of collections; all if None.
      as_text: True to write protocol text.
      graph: the Graph; the default one if None.
      export_scope: must be None: graphs are exported whole.
      clear_devices: True to forget which devices nodes ask for.
      clear_extraneous_savers: True to leave out other Savers.
      strip_default_attrs, save_debug_info: accepted.
    """
    if export_scope:
        raise NotImplementedError("export_meta_graph: export_scope= must be None")
    graph = graph or get_default_graph()
    data = (graph_def or graph.as_graph_def()).SerializeToString()
    if clear_devices:
        data = _without_devices(data)
    made = MetaGraphDef(graph_def=data)
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    made.meta_info_def.tensorflow_version = (
        made.meta_info_def.tensorflow_version or _millrace.version
    )
    if saver_def is not None:
        made.saver_def = saver_def
    names = graph.get_all_collection_keys() if collection_list is None else collection_list
    with graph.as_default():
        for name in names:
            items = graph.get_collection(name)
            if clear_extraneous_savers and name == GraphKeys.SAVERS:
                continue
            definition = _collection_def(name, items) if items else None
            if definition is not None:
                made.collection_def[name] = definition
    if filename:
        data = made.SerializeToString()
        if as_text:
            data = message_text.to_text(_ReadableMetaGraph.FromString(data)).encode()
        write_file(filename, data)
    return made


def graph_and_saver(graph, saver_def):
    """A MetaGraphDef without collections, for files of events."""
    return export_meta_graph(graph=graph, saver_def=saver_def, collection_list=[])


def _without_devices(data):
    graph = GraphDefMessage.FromString(data)
    for node in graph.node:
        node.ClearField("device")
    return graph.SerializeToString()


def read_meta_graph(meta_graph_or_file):
    """The MetaGraphDef of a file, or what is one already.

    Raises:
      OSError: if the file is not there; ValueError: if it is none.
    """
    if isinstance(meta_graph_or_file, MetaGraphDef):
        return meta_graph_or_file
    if hasattr(meta_graph_or_file, "SerializeToString"):
        return MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    try:
        with open(meta_graph_or_file, "rb") as file:
            return MetaGraphDef.FromString(file.read())
    except FileNotFoundError:
        raise OSError(f"File {meta_graph_or_file} does not exist.") from None
    except ValueError as error:
        raise ValueError(f"'{meta_graph_or_file}': {error}") from None


def import_graph(meta_graph_or_file, clear_devices=False, import_scope=None, input_map=None):
    """Adds a MetaGraph's nodes and collections to the default graph; returns its SaverDef, or None."""
    given = read_meta_graph(meta_graph_or_file)
    data = _without_devices(given.graph_def) if clear_devices else given.graph_def
    import_graph_def(data, input_map=input_map, name=import_scope or "")
    graph = get_default_graph()
    variables = {}  # one object for each, whichever collections it is in
    for name in sorted(given.collection_def):
        definition = given.collection_def[name]
        form = collection_form(name)
        if form is not None and definition.HasField("bytes_list"):
            for data in definition.bytes_list.value:
                key = (form.message, data)
                if key not in variables:
                    message = form.message.FromString(data)
                    variables[key] = form.from_message(message, import_scope)
                graph.add_to_collection(name, variables[key])
            continue
        for item in _plain_items(definition, import_scope, graph):
            graph.add_to_collection(name, item)
    return given.saver_def if given.HasField("saver_def") else None


def _plain_items(definition, import_scope, graph):
    prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
    if definition.HasField("node_list"):
        return [graph.as_graph_element(prefix + name) for name in definition.node_list.value]
    for kind in ("bytes_list", "int64_list", "float_list"):
        if definition.HasField(kind):
            return list(getattr(definition, kind).value)
    return []
