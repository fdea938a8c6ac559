"""GraphDef: a graph in TensorFlow's exchange format."""

from millrace import _millrace


class GraphDef:
    """The bytes of a GraphDef message, and what is in them.

    Made from bytes, or by Graph.as_graph_def().
    """

    def __init__(self, data=b""):
        self._data = bytes(data)
        self._nodes = None

    def SerializeToString(self):
        """The bytes."""
        return self._data

    @classmethod
    def FromString(cls, data):
        """From bytes. ValueError if they are no GraphDef."""
        made = cls()
        made.ParseFromString(data)
        return made

    def ParseFromString(self, data):
        """Takes over bytes. ValueError if they are no GraphDef."""
        _millrace.check_graph_def(data)
        self._data, self._nodes = bytes(data), None

    @property
    def node(self):
        """The nodes: each with name, op, device, input and attr."""
        if self._nodes is None:
            self._nodes = [_Node(*node) for node in _millrace.graph_def_nodes(self._data)]
        return self._nodes

    def ByteSize(self):
        return len(self._data)

    def __eq__(self, other):
        return isinstance(other, GraphDef) and self._data == other._data

    __hash__ = None

    def __repr__(self):
        return f"<GraphDef of {len(self.node)} nodes, {len(self._data)} bytes>"


class _Node:
    """One node as plain values."""

    def __init__(self, name, op, device, inputs, attrs):
        self.name = name
        self.op = op
        self.device = device
        self.input = inputs
        self.attr = attrs

    def __repr__(self):
        return f"<node '{self.name}' {self.op}({', '.join(self.input)})>"


def import_graph_def(
    graph_def,
    input_map=None,
    return_elements=None,
    name=None,
    op_dict=None,
    producer_op_list=None,
):
    """Adds the nodes of a GraphDef to the default graph.

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
    from millrace.graph_import import import_nodes

    if isinstance(graph_def, bytes):
        graph_def = GraphDef(graph_def)
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError(f"graph_def must be a GraphDef or its bytes, got {graph_def!r}")
    return import_nodes(graph_def.SerializeToString(), dict(input_map or {}), return_elements, name)
