"""Graphs in files: GraphDefs, MetaGraphs and SavedModels, listed and compared."""

import collections

from millrace._inspect.tables import columns, counted, size
from millrace._saving.graph_messages import DataType, GraphDefMessage

_INPUTS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable")


def shape_text(shape):
    """A TensorShapeProto as people read it."""
    if shape.unknown_rank:
        return "any shape"
    return str([dim.size if dim.size >= 0 else "?" for dim in shape.dim]).replace("'", "")


class Graph:
    """A GraphDef that is inspected.

    Args:
      path: of its file, for messages.
      data: the bytes of the message.
    """

    kind = "graph"

    def __init__(self, path, data):
        self.path = path
        self._message = GraphDefMessage.FromString(data)
        self._size = len(data)

    def listed(self):
        """How many nodes of each op it has, what it is fed, and its variables."""
        nodes = self._message.node
        functions = self._message.library.function if self._message.HasField("library") else []
        producer = self._message.versions.producer
        yield (
            f"{counted(len(nodes), 'node')}, {counted(len(functions), 'function')}, "
            f"{size(self._size)}, of version {producer}"
        )
        for what, ops, attr in (
            ("inputs", _INPUTS, "dtype"),
            ("variables", _VARIABLES, "dtype"),
        ):
            found = [node for node in nodes if node.op in ops]
            if found:
                yield f"{what}:"
                rows = [
                    (
                        node.name,
                        _type_of(node, attr),
                        shape_text(node.attr["shape"].shape) if "shape" in node.attr else "",
                    )
                    for node in found
                ]
                yield from columns(rows, "  ")
        counts = collections.Counter(node.op for node in nodes)
        if counts:
            yield "ops:"
            rows = [(op, count) for op, count in counts.most_common()]
            yield from columns(rows, "  ")

    def nodes(self):
        """A line per node: its name, op, inputs and device."""
        rows = [
            (node.name, node.op, ", ".join(node.input), node.device) for node in self._message.node
        ]
        yield from columns(rows)

    def printed(self, names):
        """All of a node. KeyError for a name that is not there."""
        found = {node.name: node for node in self._message.node}
        for name in names:
            if name not in found:
                raise KeyError(f"'{self.path}' has no node '{name}'")
            node = found[name]
            yield f"{name}  {node.op}({', '.join(node.input)})  {node.device}".rstrip()
            for key in sorted(node.attr):
                yield f"  {key}: {_attr_text(node.attr[key])}"

    def compared(self, other, tolerance):
        """A line per node that differs."""
        mine, its = ({node.name: node for node in g._message.node} for g in (self, other))
        for name in sorted({*mine, *its}):
            if name not in its:
                yield f"{name} ({mine[name].op}): only in {self.path}"
            elif name not in mine:
                yield f"{name} ({its[name].op}): only in {other.path}"
            else:
                parts = list(_differing_parts(mine[name], its[name]))
                if parts:
                    yield f"{name}: {'; '.join(parts)}"
        functions = [
            {f.signature.name: f.SerializeToString() for f in g._message.library.function}
            for g in (self, other)
        ]
        for name in sorted({*functions[0], *functions[1]}):
            if functions[0].get(name) != functions[1].get(name):
                yield f"function {name}: differs"


def _type_of(node, attr):
    number = node.attr[attr].type if attr in node.attr else 0
    return DataType.names.get(number, str(number)).removeprefix("DT_").lower()


def _attr_text(value):
    for name, (_, kind) in value.fields():
        held = getattr(value, name)
        if name == "type":
            return DataType.names.get(held, str(held))
        if name == "shape":
            return shape_text(held)
        if name == "tensor":
            form = DataType.names.get(held.dtype, held.dtype)
            return f"{form} {shape_text(held.tensor_shape)}"
        if name in ("list", "func"):
            return repr(held)[:200]
        return repr(held)
    return ""


def _differing_parts(mine, its):
    for part in ("op", "device", "input"):
        if getattr(mine, part) != getattr(its, part):
            yield f"{part} {getattr(mine, part)!r} and {getattr(its, part)!r}"
    for key in sorted({*mine.attr, *its.attr}):
        texts = [
            node.attr[key].SerializeToString() if key in node.attr else None for node in (mine, its)
        ]
        if texts[0] != texts[1]:
            yield f"attribute {key}"


class MetaGraph:
    """A MetaGraphDef that is inspected: its graph, and what is told of it."""

    kind = "MetaGraph"

    def __init__(self, path, message):
        self.path = path
        self._message = message
        self.graph = Graph(path, message.graph_def)

    def listed(self):
        info = self._message.meta_info_def
        if info.tags:
            yield f"tags: {', '.join(info.tags)}"
        if info.tensorflow_version:
            yield f"written by version {info.tensorflow_version}"
        for name in sorted(self._message.signature_def):
            signature = self._message.signature_def[name]
            yield f"signature {name} ({signature.method_name}):"
            rows = [
                (way, key, DataType.names.get(item.dtype, item.dtype), *_place(item))
                for way, infos in (("in", signature.inputs), ("out", signature.outputs))
                for key, item in sorted(infos.items(), key=lambda pair: pair[0])
            ]
            yield from columns(rows, "  ")
        for asset in self._message.asset_file_def:
            yield f"asset {asset.filename} for {asset.tensor_info.name}"
        rows = [
            (name, _count(self._message.collection_def[name]))
            for name in sorted(self._message.collection_def)
        ]
        if rows:
            yield "collections:"
            yield from columns(rows, "  ")
        yield from self.graph.listed()

    def nodes(self):
        return self.graph.nodes()

    def printed(self, names):
        return self.graph.printed(names)

    def compared(self, other, tolerance):
        yield from self.graph.compared(other.graph, tolerance)
        for field in ("collection_def", "signature_def"):
            mine, its = (getattr(each._message, field) for each in (self, other))
            for name in sorted({*mine, *its}):
                if (name in mine) != (name in its) or mine[name] != its[name]:
                    yield f"{field} '{name}': differs"


def _place(info):
    if info.HasField("coo_sparse"):
        return shape_text(info.tensor_shape), f"sparse, {info.coo_sparse.values_tensor_name}"
    return shape_text(info.tensor_shape), info.name


def _count(definition):
    for kind in ("node_list", "bytes_list", "int64_list", "float_list", "any_list"):
        if definition.HasField(kind):
            return len(getattr(definition, kind).value)
    return 0


class SavedModel:
    """A SavedModel that is inspected: each of its graphs."""

    kind = "SavedModel"

    def __init__(self, path, message, variables):
        self.path = path
        self._graphs = [MetaGraph(path, graph) for graph in message.meta_graphs]
        self._variables = variables  # a Checkpoint, or None

    def listed(self):
        for number, graph in enumerate(self._graphs):
            yield f"graph {number + 1} of {len(self._graphs)}"
            yield from graph.listed()
        if self._variables is not None:
            yield "variables:"
            yield from self._variables.listed()

    def nodes(self):
        for graph in self._graphs:
            yield from graph.nodes()

    def printed(self, names):
        if self._variables is None:
            raise KeyError(f"'{self.path}' has no variables")
        return self._variables.printed(names)

    def compared(self, other, tolerance):
        if len(self._graphs) != len(other._graphs):
            yield f"{len(self._graphs)} and {len(other._graphs)} graphs"
        for mine, its in zip(self._graphs, other._graphs):
            yield from mine.compared(its, tolerance)
        if self._variables is not None and other._variables is not None:
            yield from self._variables.compared(other._variables, tolerance)
