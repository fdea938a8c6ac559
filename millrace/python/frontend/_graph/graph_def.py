"""GraphDef: a graph in TensorFlow's exchange format."""

import struct

from millrace import _millrace
from millrace._values.message_parts import bytes_field, read_varint, varint


class GraphDef:
    """The bytes of a GraphDef message, and what is in them.

    Made from bytes, or by Graph.as_graph_def(). Its nodes may be changed, added and taken out.
    """

    def __init__(self, data=b""):
        self._data = bytes(data)
        self._nodes = None

    def SerializeToString(self):
        """The bytes, with what was changed in `node`."""
        if self._nodes is not None and self._nodes.are_changed():
            self._data = self._nodes.bytes() + self._nodes.rest
            self._nodes.note()
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
        """The nodes: each with name, op, device, input and attr. A list that has `add`."""
        if self._nodes is None:
            self._nodes = _Nodes(self._data)
        return self._nodes

    def CopyFrom(self, other):
        """Takes over another one."""
        self.ParseFromString(other.SerializeToString())

    def ByteSize(self):
        return len(self.SerializeToString())

    def __eq__(self, other):
        return isinstance(other, GraphDef) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None

    def __repr__(self):
        return f"<GraphDef of {len(self.node)} nodes, {self.ByteSize()} bytes>"


_NODE, _NAME, _OP, _INPUT, _DEVICE, _ATTR = 1, 1, 2, 3, 4, 5


class _Nodes(list):
    """The nodes of a GraphDef; `rest` has the bytes of its other fields."""

    def __init__(self, data):
        found = list(_fields(data))
        raw = [body for number, body, _ in found if number == _NODE]
        self.rest = b"".join(whole for number, _, whole in found if number != _NODE)
        plain = _millrace.graph_def_nodes(data)
        super().__init__(_Node(*parts, raw=body) for parts, body in zip(plain, raw))
        self.note()

    def note(self):
        """From here on, what differs from now is changed."""
        self._were = list(self)

    def are_changed(self):
        is_same = len(self) == len(self._were) and all(a is b for a, b in zip(self, self._were))
        return not is_same or any(node.is_changed() for node in self)

    def bytes(self):
        return b"".join(bytes_field(_NODE, node.SerializeToString()) for node in self)

    def add(self, name="", op="", device="", input=()):
        """Puts a new node at the end and returns it."""
        self.append(_Node(name, op, device, list(input), {}))
        return self[-1]

    def extend(self, nodes):
        """Puts copies of nodes at the end."""
        for node in nodes:
            self.add().CopyFrom(node)


class _Node:
    """One node as plain values: name, op, device, input, and attr, whose values are (kind, value)."""

    def __init__(self, name, op, device, inputs, attrs, raw=b""):
        self.name = name
        self.op = op
        self.device = device
        self.input = inputs
        self.attr = attrs
        self._note(raw)

    def _note(self, raw):
        self._raw = raw
        self._was = (self.name, self.op, self.device, list(self.input), dict(self.attr))

    def is_changed(self):
        """Whether it differs from its bytes."""
        name, op, device, inputs, attrs = self._was
        if (self.name, self.op, self.device, list(self.input)) != (name, op, device, inputs):
            return True
        return self.attr.keys() != attrs.keys() or any(
            self.attr[key] is not attrs[key] for key in attrs
        )

    def CopyFrom(self, other):
        """Becomes like another node of a GraphDef."""
        self.__init__(
            other.name, other.op, other.device, list(other.input), dict(other.attr), other._raw
        )
        self._was = tuple(type(part)(part) for part in other._was)

    MergeFrom = CopyFrom

    def SerializeToString(self):
        """The bytes of the node. NotImplementedError for new attributes of kinds that are not plain."""
        if self._raw and not self.is_changed():
            return self._raw
        data = b"".join(
            bytes_field(number, text.encode())
            for number, text in ((_NAME, self.name), (_OP, self.op))
            if text
        )
        data += b"".join(bytes_field(_INPUT, each.encode()) for each in self.input)
        if self.device:
            data += bytes_field(_DEVICE, self.device.encode())
        kept = {_key(body): whole for number, body, whole in _fields(self._raw) if number == _ATTR}
        for key, value in self.attr.items():
            if key in kept and value is self._was[4].get(key):
                data += kept[key]
            else:
                data += bytes_field(
                    _ATTR, bytes_field(1, key.encode()) + bytes_field(2, _attr_value(key, value))
                )
        return data

    def __repr__(self):
        return f"<node '{self.name}' {self.op}({', '.join(self.input)})>"


def _key(entry):
    return next(body for number, body, _ in _fields(entry) if number == 1).decode()


def _attr_value(key, value):
    """The bytes of an AttrValue of (kind, value)."""
    kind, held = value
    if kind == "string":
        return bytes_field(2, held.encode() if isinstance(held, str) else held)
    if kind == "float":
        return b"\x25" + struct.pack("<f", held)
    numbers = {"int": 3, "bool": 5, "type": 6}
    if kind in numbers:
        return varint(numbers[kind] << 3) + varint(int(held))
    raise NotImplementedError(
        f"attribute '{key}': a new value of kind {kind} can't be written into a GraphDef"
    )


def _fields(data):
    """(number, what it holds, all of its bytes) of the fields of a message that is known to be one."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = read_varint(data, at)
        size = {1: 8, 5: 4}.get(tag & 7, 0)
        if tag & 7 == 0:
            _, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
        yield tag >> 3, data[at : at + size], data[begin : at + size]
        at += size
