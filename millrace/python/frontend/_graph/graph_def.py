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
