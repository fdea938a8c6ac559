"""Adding the nodes of a GraphDef to a graph."""

from millrace import _millrace
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.graph_def import GraphDef


def import_graph_def(
    graph_def,
    input_map=None,
    return_elements=None,
    name=None,
    op_dict=None,
    producer_op_list=None,
):
    """Adds the nodes of a GraphDef to the default graph.

    Where it has functions, their bodies take the place of the nodes that call them, conditionals and
    loops among these, as plain nodes; nodes that called them keep their names and outputs.

    Args:
      graph_def: a GraphDef, or its bytes.
      input_map: {"name" or "name:index": Tensor} to be read instead of what the nodes name.
      return_elements: names of nodes ("name") and outputs ("name:index") to return.
      name: a prefix for the names; "import" if None, "" for none.

    Returns:
      the Operations and Tensors of return_elements.

    Raises:
      ValueError: if the nodes make no graph (a server would refuse them in the same words), or a name
        is not in it.
      tf.errors.NotFoundError: if an op is not known here.
    """
    if isinstance(graph_def, bytes):
        graph_def = GraphDef(graph_def)
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError(f"graph_def must be a GraphDef or its bytes, got {graph_def!r}")
    return _import_nodes(
        graph_def.SerializeToString(), dict(input_map or {}), return_elements, name
    )


def _import_nodes(data, input_map, return_elements, name):
    graph = get_default_graph()
    with name_scope("import" if name is None else name or None) as scope:
        input_map = {key: convert(value) for key, value in input_map.items()}
        mapped = [
            (key, tensor.op.name, tensor.dtype.as_datatype_enum)
            for key, tensor in input_map.items()
        ]
        nodes = _millrace.nodes_to_import(_millrace.ops, data, mapped)
        graph.core.add_functions(data)
        made = _Import(graph, input_map, scope).run(nodes)
    if return_elements is None:
        return None
    return [_element(made, name) for name in return_elements]


def _element(made, name):
    node, colon, index = name.partition(":")
    if node not in made:
        raise ValueError(f"Requested return node '{node}' not found in graph def")
    operation = made[node]
    if not colon:
        return operation
    if not index.isdecimal():
        raise ValueError(
            f"Cannot convert '{name}' to a tensor name: what follows the ':' must be an int"
        )
    if int(index) >= len(operation.outputs):
        raise ValueError(
            f"Invalid return output {index} of node '{node}', which has "
            f"{len(operation.outputs)} output(s)"
        )
    return operation.outputs[int(index)]


class _Import:
    def __init__(self, graph, input_map, scope):
        self._graph = graph
        self._input_map = input_map
        self._scope = scope
        self._made = {}
        self._late = []  # (operation, slot, input): inputs that come round a loop

    def run(self, nodes):
        """The Operations by the names that `nodes` have; each node comes after what it reads."""
        for node in nodes:
            self._add(*node)
        for operation, slot, text in self._late:
            source = self._tensor(text)
            self._graph.set_input(operation, slot, source)
        return self._made

    def _add(self, name, op, device, texts, attrs):
        inputs = [self._tensor(text) for text in texts if not text.startswith("^")]
        late = [slot for slot, tensor in enumerate(inputs) if tensor is None]
        if late:
            first = next((tensor for tensor in inputs if tensor is not None), None)
            if first is None:
                raise ValueError(f"Node '{name}': every input comes round a loop, none from before")
            inputs = [first if tensor is None else tensor for tensor in inputs]
        before = [self._operation(text[1:]) for text in texts if text.startswith("^")]
        graph = self._graph
        full_name = graph.op_name(self._scope + name + "/" if self._scope else name, op)
        with graph.control_dependencies(before), graph.device(device or None):
            operation = graph.operation(graph.add_node(op, inputs, self._attrs(attrs), full_name))
        self._made[name] = operation
        self._late.extend((operation, slot, texts[slot]) for slot in late)

    def _attrs(self, attrs):
        """The attributes, with colocation pointing into the scope that the nodes go to."""
        if "_class" not in attrs or not self._scope:
            return attrs
        kind, groups = attrs["_class"].plain()
        if kind != "list(string)":
            return attrs
        prefix = b"loc:@"
        moved = [
            prefix + self._scope.encode() + group[len(prefix) :]
            if group.startswith(prefix)
            else group
            for group in groups
        ]
        return {**attrs, "_class": moved}

    def _operation(self, name):
        """What a node waits for: one of the nodes, or what is read in the place of one."""
        mapped = self._input_map.get(name)
        return self._made[name] if mapped is None else mapped.op

    def _tensor(self, text):
        """What a node reads; None for a node that is still to come."""
        name, _, index = text.partition(":")
        for key in (f"{name}:{index or 0}", *([name] if index in ("", "0") else [])):
            if key in self._input_map:
                return self._input_map[key]
        operation = self._made.get(name)
        return operation.outputs[int(index or 0)] if operation is not None else None
