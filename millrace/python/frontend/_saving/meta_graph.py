"""MetaGraphs: a graph with its collections and its Saver, in one file that other programs read.

Items of collections are written by their messages (variables, queue runners, savers), by name (Tensors and
Operations) or as values (numbers and strings). What is none of these is left out, with a warning.
"""

import logging
import re

import numpy as np

from millrace import _millrace
from millrace._files import paths
from millrace._flow import context_collections  # noqa: F401: says how loops are written
from millrace._graph.collection_protos import collection_form
from millrace._graph.collections import GraphKeys
from millrace._graph.graph import get_default_graph
from millrace._graph.graph_def import GraphDef
from millrace._graph.graph_import import import_graph_def
from millrace._graph.op_specs import specs
from millrace._saving.graph_messages import GraphDefMessage, OpList
from millrace._saving.model_messages import AnyList, AnyMessage, AssetFileDef, SignatureDef
from millrace._saving.saver_def import SaverDef
from millrace._values import message_text
from millrace._values.text_messages import from_text
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
        "any_list": (5, AnyList),
    }


class MetaInfoDef(Message):
    _fields = {
        "meta_graph_version": (1, str),
        "stripped_op_list": (2, OpList),
        "any_info": (3, AnyMessage),
        "tags": (4, many(str)),
        "tensorflow_version": (5, str),
        "tensorflow_git_version": (6, str),
        "stripped_default_attrs": (7, bool),
        "function_aliases": (8, by_name(str)),
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
        "signature_def": (5, by_name(SignatureDef)),
        "asset_file_def": (6, many(AssetFileDef)),
    }

    def graph(self):
        """The GraphDef."""
        return GraphDef(self.graph_def)


class ReadableMetaGraph(Message):
    """The same with the graph taken apart: for text."""

    _fields = {**MetaGraphDef._fields, "graph_def": (2, GraphDefMessage)}


def _collection_def(name, items, export_scope):
    """The CollectionDef of a collection; None if nothing is left, or, with a warning, if it can't be written."""
    form = collection_form(name)
    made = CollectionDef()
    try:
        if form is not None:
            messages = (item.to_proto(export_scope=export_scope) for item in items)
            made.bytes_list.value = [m.SerializeToString() for m in messages if m is not None]
        elif all(isinstance(item, AnyMessage) for item in items):
            made.any_list.value = list(items)
        elif all(isinstance(item, (str, bytes)) for item in items):
            made.bytes_list.value = [i.encode() if isinstance(i, str) else i for i in items]
        elif all(isinstance(item, (int, np.integer)) for item in items):
            made.int64_list.value = [int(item) for item in items]
        elif all(isinstance(item, (float, np.floating)) for item in items):
            made.float_list.value = [float(item) for item in items]
        else:
            made.node_list.value = list(_node_names(items, export_scope))
    except (AttributeError, TypeError) as error:
        _log.warning("the collection '%s' is left out of the MetaGraph: %s", name, error)
        return None
    return made if made.fields() else None


def _node_names(items, export_scope):
    """The names of Tensors and Operations, in the name scope that is exported."""
    prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
    for item in items:
        name = get_default_graph().as_graph_element(item).name
        if name.startswith(prefix):
            yield name.removeprefix(prefix)


_UNBOUND = "unbound_inputs"
_UNBOUND_PREFIX = "$unbound_inputs_"


def _in_scope(data, scope):
    """(the GraphDef of the nodes in a name scope, the names of what they read from outside)."""
    prefix = f"{scope.rstrip('/')}/"
    message = GraphDefMessage.FromString(data)
    message.node = [node for node in message.node if node.name.startswith(prefix)]
    unbound = {}

    def inside(text):
        waits, name = text.startswith("^"), text.removeprefix("^")
        if not name.startswith(prefix):
            name = _UNBOUND_PREFIX + name
            unbound[("^" if waits else "") + name] = True
        return ("^" if waits else "") + name.removeprefix(prefix)

    for node in message.node:
        node.name = node.name.removeprefix(prefix)
        node.input = [inside(text) for text in node.input]
        if "_class" in node.attr:
            groups = node.attr["_class"].list
            marked = f"loc:@{prefix}".encode()
            inner = [b"loc:@" + g[len(marked) :] for g in groups.s if g.startswith(marked)]
            if inner:
                groups.s = inner
            else:
                del node.attr["_class"]
    return message.SerializeToString(), sorted(unbound)


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
      export_scope: a name scope, to export what is in it alone, under names without the scope. Inputs
        from outside are named "$unbound_inputs_..." and listed in the collection "unbound_inputs": who
        imports the graph gives them in input_map.
      clear_devices: True to forget which devices nodes ask for.
      clear_extraneous_savers: True to leave out other Savers.
      strip_default_attrs: True to leave out attributes with the values that their ops give them anyway, so
        that older readers, which don't know the newest ones, read the graph.
      save_debug_info: accepted.
    """
    if export_scope and graph_def is not None:
        raise ValueError("export_meta_graph: graph_def= and export_scope= can't both be given")
    graph = graph or get_default_graph()
    data = (graph_def or graph.as_graph_def()).SerializeToString()
    if clear_devices:
        data = _without_devices(data)
    unbound = []
    if export_scope:
        data, unbound = _in_scope(data, export_scope)
    if strip_default_attrs:
        data = _without_defaults(data)
    made = MetaGraphDef(graph_def=data)
    if unbound:
        made.collection_def[_UNBOUND] = CollectionDef(bytes_list=BytesList(value=unbound))
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    made.meta_info_def.tensorflow_version = (
        made.meta_info_def.tensorflow_version or _millrace.version
    )
    if strip_default_attrs:
        made.meta_info_def.stripped_default_attrs = True
    if saver_def is not None:
        made.saver_def = saver_def
    names = graph.get_all_collection_keys() if collection_list is None else collection_list
    with graph.as_default():
        for name in names:
            items = graph.get_collection(name)
            if clear_extraneous_savers and name == GraphKeys.SAVERS:
                continue
            definition = _collection_def(name, items, export_scope) if items else None
            if definition is not None:
                made.collection_def[name] = definition
    if filename:
        data = made.SerializeToString()
        if as_text:
            data = message_text.to_text(ReadableMetaGraph.FromString(data)).encode()
        paths.write_whole(filename, data)
    return made


def graph_and_saver(graph, saver_def):
    """A MetaGraphDef without collections, for files of events."""
    return export_meta_graph(graph=graph, saver_def=saver_def, collection_list=[])


def _without_defaults(data):
    graph = GraphDef(data)
    for node in graph.node:
        known = specs[node.op].attrs if _millrace.ops.describe(node.op) is not None else {}
        for key, value in list(node.attr.items()):
            default = known[key].default if key in known else None
            if default is not None and value[0] != "tensor" and value == default:
                del node.attr[key]
    return graph.SerializeToString()


def _without_devices(data):
    graph = GraphDefMessage.FromString(data)
    for node in graph.node:
        node.ClearField("device")
    return graph.SerializeToString()


# How a MetaGraphDef in protocol text begins, and none in binary.
_TEXT = re.compile(rb"(?:\s+|#[^\n]*)*\w+\s*[:{<]")


def read_meta_graph(meta_graph_or_file):
    """The MetaGraphDef of a file, or what is one already.

    Raises:
      OSError: if the file is not there; ValueError: if it is none, in binary or as text.
    """
    if isinstance(meta_graph_or_file, MetaGraphDef):
        return meta_graph_or_file
    if hasattr(meta_graph_or_file, "SerializeToString"):
        return MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    try:
        with paths.open_file(meta_graph_or_file, "rb") as file:
            data = file.read()
        if _TEXT.match(data):
            data = from_text(ReadableMetaGraph, data.decode()).SerializeToString()
        return MetaGraphDef.FromString(data)
    except FileNotFoundError:
        raise OSError(f"File {meta_graph_or_file} does not exist.") from None
    except ValueError as error:
        raise ValueError(f"'{meta_graph_or_file}': {error}") from None


def import_graph(meta_graph_or_file, clear_devices=False, import_scope=None, input_map=None):
    """Adds a MetaGraph's nodes and collections to the default graph; returns its SaverDef, or None."""
    given = read_meta_graph(meta_graph_or_file)
    _check_inputs(given, input_map)
    data = _without_devices(given.graph_def) if clear_devices else given.graph_def
    import_graph_def(data, input_map=input_map, name=import_scope or "")
    graph = get_default_graph()
    variables = {}  # one object for each, whichever collections it is in
    for name in sorted(given.collection_def):
        definition = given.collection_def[name]
        if name == _UNBOUND:
            continue
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


def _check_inputs(given, input_map):
    """Raises ValueError if an input that comes from outside of the graph is not given."""
    if _UNBOUND not in given.collection_def:
        return
    wanted = [item.decode() for item in given.collection_def[_UNBOUND].bytes_list.value]
    known = {name for key in input_map or {} for name in (key, key.removesuffix(":0"))}
    missing = [name for name in wanted if name.removesuffix(":0") not in known]
    if missing:
        raise ValueError(
            f"Graph contains unbound inputs: {', '.join(missing)}. Must provide these inputs through "
            "input_map."
        )


def _plain_items(definition, import_scope, graph):
    prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
    if definition.HasField("node_list"):
        return [graph.as_graph_element(prefix + name) for name in definition.node_list.value]
    for kind in ("bytes_list", "int64_list", "float_list", "any_list"):
        if definition.HasField(kind):
            return list(getattr(definition, kind).value)
    return []
