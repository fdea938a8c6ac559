"""Adding the nodes of a GraphDef to a graph."""

from millrace.graph import get_default_graph, name_scope


def import_nodes(graph_def, input_map, return_elements, name):
    """What import_graph_def does; see there."""
    graph = get_default_graph()
    with name_scope("import" if name is None else name or None) as scope:
        made = _Import(graph, graph_def, input_map, scope).run()
    if return_elements is None:
        return None
    return [_element(made, name) for name in return_elements]


def _element(made, name):
    operation, colon, index = name.partition(":")
    if operation not in made:
        raise ValueError(f"Requested return_element '{name}' not found in graph_def.")
    return made[operation].outputs[int(index)] if colon else made[operation]


class _Import:
    def __init__(self, graph, graph_def, input_map, scope):
        self._graph = graph
        self._nodes = {node.name: node for node in graph_def.node}
        self._input_map = input_map
        self._scope = scope
        self._made = {}
        self._late = []  # (operation, slot, input): inputs that come round a loop

    def run(self):
        for node in self._in_order():
            self._add(node)
        for operation, slot, text in self._late:
            source = self._tensor(text)
            self._graph._core.set_input(operation._id, slot, *source._endpoint)
        return self._made

    def _in_order(self):
        """The nodes so that each comes after its inputs, except for those round a loop."""
        order, state = [], {}
        for start in self._nodes:
            stack = [start]
            while stack:
                name = stack[-1]
                if state.get(name) == "done":
                    stack.pop()
                    continue
                if name not in self._nodes:
                    raise ValueError(f"graph_def has no node '{name}', which a node reads")
                node = self._nodes[name]
                waiting = [
                    other
                    for other in map(_node_name, node.input)
                    if state.get(other) is None
                    and not self._may_come_later(node, other)
                    and not self._is_mapped(node, other)
                ]
                if state.get(name) is None:
                    state[name] = "open"
                if waiting:
                    stack.extend(waiting)
                    continue
                state[name] = "done"
                order.append(node)
                stack.pop()
        return order

    def _may_come_later(self, node, other):
        return node.op in ("Merge", "RefMerge") and (
            other in self._nodes and self._nodes[other].op in ("NextIteration", "RefNextIteration")
        )

    def _is_mapped(self, node, other):
        return other not in self._nodes and any(
            _node_name(text) == other for text in self._input_map
        )

    def _add(self, node):
        inputs, before, late = [], [], []
        data = [text for text in node.input if not text.startswith("^")]
        for slot, text in enumerate(data):
            if _node_name(text) in self._made or self._mapped(text) is not None:
                inputs.append(self._tensor(text))
            else:
                late.append((slot, text))
                inputs.append(None)
        first = next((tensor for tensor in inputs if tensor is not None), None)
        inputs = [first if tensor is None else tensor for tensor in inputs]
        for text in node.input:
            if text.startswith("^"):
                before.append(self._made[_node_name(text)])
        graph = self._graph
        full_name = graph.op_name(
            self._scope + node.name + "/" if self._scope else node.name, node.op
        )
        attrs = self._attrs(node)
        with graph.control_dependencies(before), graph.device(node.device or None):
            operation = graph.create_op(node.op, inputs, attrs, full_name)
        self._made[node.name] = operation
        self._late.extend((operation, slot, text) for slot, text in late)

    def _attrs(self, node):
        """The attributes, with colocation pointing into the scope that the nodes go to."""
        attrs = {key: value for key, (_, value) in node.attr.items()}
        if "_class" in attrs and self._scope:
            prefix = b"loc:@"
            attrs["_class"] = [
                prefix + self._scope.encode() + group[len(prefix) :]
                if group.startswith(prefix)
                else group
                for group in attrs["_class"]
            ]
        return attrs

    def _mapped(self, text):
        name, _, index = text.partition(":")
        for key in (f"{name}:{index or 0}", *([name] if index in ("", "0") else [])):
            if key in self._input_map:
                return self._input_map[key]
        return None

    def _tensor(self, text):
        mapped = self._mapped(text)
        if mapped is not None:
            return mapped
        name, _, index = text.partition(":")
        return self._made[name].outputs[int(index or 0)]


def _node_name(text):
    return text.lstrip("^").partition(":")[0]
