"""Graphs as GraphDefs cut down: to what some nodes need, with variables as constants, without training."""

import logging

from millrace._graph.graph_def import GraphDef
from millrace._graph.operation import Operation
from millrace._saving.graph_messages import (
    AttrValue,
    GraphDefMessage,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    tensor_message,
)
from millrace._values import dtypes

_log = logging.getLogger("millrace")

_COLOCATED = b"loc:@"
_RESOURCE = dtypes.resource.as_datatype_enum
_REFERENCE_VARIABLES = ("Variable", "VariableV2")
_RESOURCE_VARIABLES = ("VarHandleOp",)
# What hands on a reference, and what hands on a value instead.
_BY_VALUE = {
    "RefEnter": "Enter",
    "RefExit": "Exit",
    "RefIdentity": "Identity",
    "RefMerge": "Merge",
    "RefNextIteration": "NextIteration",
    "RefSwitch": "Switch",
}
# What hands on a handle as it is: by its first input.
_HANDS_ON = ("Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch")


def node_name(text):
    """The node that an input names: "^a", "a" and "a:1" are "a"."""
    return text.removeprefix("^").partition(":")[0]


def _message(graph_def):
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError(f"graph_def must be a GraphDef, but got type {type(graph_def)}.")
    return GraphDefMessage.FromString(graph_def.SerializeToString())


def _definition(message):
    return GraphDef.FromString(message.SerializeToString())


def _colocated(node):
    """The nodes that a node is colocated with."""
    if "_class" not in node.attr:
        return []
    groups = node.attr["_class"].list.s
    return [group[len(_COLOCATED) :].decode() for group in groups if group.startswith(_COLOCATED)]


def _needed(message, names):
    """The nodes that `names` need, in the order of the graph."""
    if isinstance(names, str):
        raise TypeError(f"dest_nodes must be an iterable of strings, but got type {type(names)}.")
    nodes = {node.name: node for node in message.node}
    found, waiting = set(), list(names)
    for name in waiting:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    while waiting:
        name = waiting.pop()
        if name in found or name not in nodes:
            continue
        found.add(name)
        waiting += [node_name(text) for text in nodes[name].input]
        waiting += _colocated(nodes[name])
    return [node for node in message.node if node.name in found]


def extract_sub_graph(graph_def, dest_nodes):
    """The part of a graph that some nodes need.

    Args:
      graph_def: a GraphDef.
      dest_nodes: the names of the nodes.

    Raises:
      TypeError: if it is no GraphDef, or no list; AssertionError: if a node is not in it.
    """
    message = _message(graph_def)
    message.node = _needed(message, dest_nodes)
    return _definition(message)


def convert_variables_to_constants(
    sess,
    input_graph_def,
    output_node_names,
    variable_names_whitelist=None,
    variable_names_blacklist=None,
):
    """The part of a graph that some nodes need, with the variables' values in it as constants.

    Args:
      sess: the tf.Session that has the values.
      input_graph_def: its GraphDef.
      output_node_names: the names of the nodes.
      variable_names_whitelist: the variables to convert; all if None.
      variable_names_blacklist: those that stay variables.

    Returns:
      a GraphDef.

    Raises:
      AssertionError: if a node is not in it; ValueError: if a variable's handle goes where a constant
        can't; tf.errors.FailedPreconditionError: if a variable has no value.
    """
    message = _message(input_graph_def)
    nodes = _needed(message, output_node_names)
    frozen = _Frozen(sess, message.node, nodes)
    frozen.fetch(variable_names_whitelist, variable_names_blacklist or ())
    # Nodes are changed in place: what each one reads is found out first.
    sources = [frozen.sources(node) for node in nodes]
    message.node = [made for pair in zip(nodes, sources) for made in frozen.converted(*pair)]
    _log.info("Converted %d variables to const ops.", len(frozen.values))
    return _definition(message)


class _Frozen:
    """Nodes of a graph as they are once some variables are constants.

    Attributes:
      values: {name of a variable: its value}.
    """

    def __init__(self, session, all_nodes, nodes):
        self._session = session
        self._all = {node.name: node for node in all_nodes}
        self._needed = nodes
        self.values = {}

    def fetch(self, wanted, unwanted):
        """Asks the session for the values."""
        reads = {}
        for node in self._needed:
            if node.op in (*_REFERENCE_VARIABLES, *_RESOURCE_VARIABLES):
                if node.name not in unwanted and (wanted is None or node.name in wanted):
                    reads[node.name] = self._reading(node)
        if reads:
            self.values = self._session.run(reads)

    def _reading(self, variable):
        """The name of a Tensor that is the variable's value."""
        if variable.op in _REFERENCE_VARIABLES:
            return f"{variable.name}:0"
        usual = f"{variable.name}/Read/ReadVariableOp"
        if usual in self._all:
            return f"{usual}:0"
        for node in self._all.values():
            if node.op == "ReadVariableOp" and node.input[0] in (
                variable.name,
                f"{variable.name}:0",
            ):
                return f"{node.name}:0"
        raise ValueError(
            f"nothing in the graph reads the resource variable '{variable.name}': its value can't be told"
        )

    def _variable_of(self, text):
        """The name of the converted variable whose reference or handle an input is, or None."""
        seen = set()
        while True:
            name = node_name(text)
            if name in self.values:
                return name
            node = self._all.get(name)
            if node is None or name in seen or not node.input:
                return None
            if node.op not in (*_HANDS_ON, *_BY_VALUE):
                return None
            seen.add(name)
            text = node.input[0]

    def sources(self, node):
        """For each input the converted variable whose reference or handle it is, or None."""
        return [self._variable_of(text) for text in node.input if not text.startswith("^")]

    def converted(self, node, sources):
        """The node, or those that come in its place."""
        if node.name in self.values:
            return [self._constant(node)]
        if not any(sources):
            return [node]
        if node.op in _BY_VALUE:
            node.op = _BY_VALUE[node.op]
        elif node.op in _HANDS_ON:
            if node.attr["T"].type == _RESOURCE:
                node.attr["T"] = AttrValue(type=self._dtype(sources[0]))
        elif node.op in ("ReadVariableOp", "ResourceGather", "VariableShape", "ResourceGatherNd"):
            return self._value_reader(node, sources[0])
        elif any(source and self._is_handle(source) for source in sources):
            variable = next(filter(None, sources))
            raise ValueError(
                f"'{node.name}' ({node.op}) takes the handle of the variable '{variable}', which has "
                "none as a constant: leave the node out of output_node_names, or name the variable in "
                "variable_names_blacklist"
            )
        return [node]

    def _is_handle(self, variable):
        return self._all[variable].op in _RESOURCE_VARIABLES

    def _dtype(self, variable):
        return self._all[variable].attr["dtype"].type

    def _constant(self, node):
        dtype = node.attr["dtype"].type
        value = tensor_message(self.values[node.name], dtypes.as_dtype(dtype))
        attr = {"dtype": AttrValue(type=dtype), "value": AttrValue(tensor=value)}
        if "_class" in node.attr:
            attr["_class"] = node.attr["_class"]
        return NodeDef(name=node.name, op="Const", device=node.device, attr=attr)

    def _value_reader(self, node, variable):
        """What reads a handle, as what reads a constant."""
        dtype = AttrValue(type=self._dtype(variable))
        if node.op == "ReadVariableOp":
            node.op, node.attr = "Identity", _kept(node, T=dtype)
            return [node]
        if node.op == "VariableShape":
            out = node.attr.get("out_type", AttrValue(type=dtypes.int32.as_datatype_enum))
            node.op, node.attr = "Shape", _kept(node, T=dtype, out_type=out)
            return [node]
        indices = node.attr["Tindices"]
        if node.op == "ResourceGatherNd":
            node.op, node.attr = "GatherNd", _kept(node, Tparams=dtype, Tindices=indices)
            return [node]
        int32 = dtypes.int32.as_datatype_enum
        zero = TensorProto(dtype=int32, tensor_shape=TensorShapeProto(), int_val=[0])
        axis = NodeDef(
            name=f"{node.name}/axis",
            op="Const",
            device=node.device,
            attr={"dtype": AttrValue(type=int32), "value": AttrValue(tensor=zero)},
        )
        more = {"batch_dims": node.attr["batch_dims"]} if "batch_dims" in node.attr else {}
        attr = _kept(node, Tparams=dtype, Tindices=indices, Taxis=AttrValue(type=int32), **more)
        values = [text for text in node.input if not text.startswith("^")]
        before = [text for text in node.input if text.startswith("^")]
        node.op, node.attr = "GatherV2", attr
        node.input = [*values, axis.name, *before]
        return [axis, node]


def _kept(node, **attr):
    """New attributes, and where the node is to be."""
    if "_class" in node.attr:
        attr["_class"] = node.attr["_class"]
    return attr


def remove_training_nodes(input_graph, protected_nodes=None):
    """A graph without nodes that only training needs: checks of numbers, and nodes that hand on a value.

    Args:
      input_graph: a GraphDef.
      protected_nodes: the names of nodes that stay, outputs for example.
    """
    protected = set(protected_nodes or ())
    message = _message(input_graph)
    colocated = {name for node in message.node for name in _colocated(node)}
    waited_for = {text[1:] for node in message.node for text in node.input if text[:1] == "^"}
    instead = {}  # what is read in the place of nodes that go
    for node in message.node:
        if node.name in protected:
            continue
        hands_on = node.op in ("Identity", "StopGradient") and not (
            node.name in colocated
            or node.name in waited_for
            or any(text.startswith("^") for text in node.input)
        )
        if hands_on or node.op == "CheckNumerics":
            instead[node.name] = node.input[0]
    kept = [node for node in message.node if node.name not in instead]
    for node in kept:
        node.input = [_source(text, instead) for text in node.input]
    message.node = kept
    return _definition(message)


def _source(text, instead):
    while node_name(text) in instead:
        found = instead[node_name(text)]
        text = f"^{node_name(found)}" if text.startswith("^") else found
    return text


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    """Whether a node can run on no other device: texts, and whole numbers of shapes.

    Args:
      node: an Operation, or a NodeDef.
      pin_variables_on_cpu: True to say so of what has to do with variables.
    """
    op = node.type if isinstance(node, Operation) else node.op
    if pin_variables_on_cpu and op in _OF_VARIABLES:
        return True
    key = {"Const": "dtype", "DynamicStitch": "T", "ParallelDynamicStitch": "T", "Cast": "SrcT"}
    if op not in key:
        return False
    if isinstance(node, Operation):
        dtype = node.get_attr(key[op])
    else:
        held = node.attr[key[op]]
        dtype = held[1] if isinstance(held, tuple) else held.type
    dtype = dtypes.as_dtype(dtype)
    return dtype == dtypes.int32 or (op == "Const" and dtype == dtypes.string)


_OF_VARIABLES = {
    "Assign",
    "AssignAdd",
    "AssignSub",
    "Queue",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
    "TruncatedNormal",
    "Variable",
    "VariableV2",
}


def tensor_shape_from_node_def_name(graph, input_name):
    """The shape of the Tensor that an input of a node names."""
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).get_shape()


def ops_used_by_graph_def(graph_def):
    """The set of the names of ops that the nodes of a GraphDef have, those of functions that they call among them.

    Raises:
      TypeError: if it is no GraphDef.
    """
    message = _message(graph_def)
    bodies = {each.signature.name: each.node_def for each in message.library.function}
    used, waiting = set(), [message.node]
    while waiting:
        for node in waiting.pop():
            if node.op not in used and node.op in bodies:
                waiting.append(bodies[node.op])
            used.add(node.op)
    return used.difference(bodies)
