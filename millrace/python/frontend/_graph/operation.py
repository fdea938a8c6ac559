"""Operation: a node of a graph, and Tensor: one of its outputs."""

import sys

from millrace._graph.default_session import session_or_default
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

_PACKAGE = __name__.partition(".")[0]


def caller():
    """(file, line) of the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != _PACKAGE and not module.startswith(_PACKAGE + "."):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


class Operation:
    """A node: made by functions such as tf.matmul, run by a Session.

    Attributes:
      graph: the Graph that it belongs to.
      name: its full name, unique in the graph.
      type: the name of the op ("MatMul").
      outputs: its Tensors.
      defined_at: (file, line) of the program that made it, or None.
    """

    __slots__ = ("graph", "name", "type", "outputs", "defined_at", "_id", "_context", "__weakref__")

    def __init__(self, graph, node_id, op_type, name, output_types, context, defined_at):
        self.graph = graph
        self._id = node_id
        self.type = op_type
        self.name = name
        self.defined_at = defined_at
        self._context = context
        self.outputs = [
            Tensor(self, index, dtypes._BY_NUMBER[number])
            for index, number in enumerate(output_types)
        ]

    @property
    def inputs(self):
        """The Tensors that it reads, in order."""
        operations = self.graph._operations
        return tuple(
            operations[node].outputs[output] for node, output in self.graph._core.inputs(self._id)
        )

    @property
    def control_inputs(self):
        """The Operations that must have run before it."""
        operations = self.graph._operations
        return [operations[node] for node in self.graph._core.control_inputs(self._id)]

    @property
    def device(self):
        """The device that was asked for, maybe only in part; empty if none was."""
        return self.graph._core.device(self._id)

    @property
    def node_def(self):
        """The node as plain values: name, op, device, input and attr."""
        return NodeDef(self)

    def get_attr(self, name):
        """The value of an attribute: bytes, int, float, bool, DType, TensorShape, array, or a list.

        Raises:
          ValueError: if there is no such attribute.
        """
        held = self.graph._core.attr(self._id, name)
        if held is None:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return _from_attr(*held)

    def colocation_groups(self):
        """What it is colocated with: [b"loc:@name", ...]; its own name if nothing was said."""
        held = self.graph._core.attr(self._id, "_class")
        groups = [group for group in held[1] if group.startswith(b"loc:@")] if held else []
        return groups or [b"loc:@" + self.name.encode()]

    def values(self):
        return tuple(self.outputs)

    def run(self, feed_dict=None, session=None):
        """Runs it in `session`, or in the default one."""
        session_or_default(session, self.graph, "Operation.run()").run(self, feed_dict)

    def _set_device(self, device):
        self.graph._check_changeable(self)
        self.graph._core.set_device(self._id, device.to_string() if device else "")

    def _add_control_input(self, operation):
        self.graph._check_changeable(self)
        self.graph._core.add_control_input(self._id, operation._id)

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


class NodeDef:
    """A node as plain values. A picture: changing it changes nothing."""

    def __init__(self, operation):
        core = operation.graph._core
        self.name = operation.name
        self.op = operation.type
        self.device = operation.device
        self.input = [_input_name(tensor) for tensor in operation.inputs]
        self.input += ["^" + before.name for before in operation.control_inputs]
        self.attr = {key: _from_attr(*held) for key, held in core.attrs(operation._id).items()}

    def __repr__(self):
        return f"NodeDef(name={self.name!r}, op={self.op!r}, device={self.device!r}, " + (
            f"input={self.input!r}, attr={self.attr!r})"
        )


def _input_name(tensor):
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _from_attr(kind, value):
    if value is None:
        return TensorShape(None) if kind == "shape" else None
    if kind.startswith("list("):
        return [_from_attr(kind[5:-1], item) for item in value]
    if kind == "type":
        return dtypes.as_dtype(value)
    if kind == "shape":
        return TensorShape(value)
    if kind == "tensor":
        return value.numpy()
    return value


class Tensor:
    """An output of an Operation: a value that exists while a graph runs.

    It has no value itself. Operators build new nodes; `session.run` fetches the value. Two Tensors are
    equal only if they are the same output, so that they can be keys of a dictionary.
    """

    __slots__ = ("op", "value_index", "dtype", "_endpoint", "_name", "__weakref__")

    # NumPy's operators leave expressions with a Tensor on the right to the Tensor.
    __array_priority__ = 100

    def __init__(self, op, index, dtype):
        self.op = op
        self.value_index = index
        self.dtype = dtype
        self._endpoint = (op._id, index)
        self._name = f"{op.name}:{index}"

    @property
    def graph(self):
        return self.op.graph

    @property
    def name(self):
        return self._name

    @property
    def device(self):
        return self.op.device

    @property
    def shape(self):
        """What is known of the shape, as a TensorShape."""
        return TensorShape._of(self.op.graph._core.shape(*self._endpoint))

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        """Adds what the program knows of the shape. ValueError if it contradicts what is known."""
        self.op.graph._core.merge_shape(*self._endpoint, TensorShape(shape)._dims)

    def consumers(self):
        """The Operations that read it."""
        return [
            op for op in self.graph._operations if self._endpoint in op.graph._core.inputs(op._id)
        ]

    def eval(self, feed_dict=None, session=None):
        """The value, from `session` or the default one."""
        return session_or_default(session, self.graph, "Tensor.eval()").run(self, feed_dict)

    def _as_tensor(self, dtype=None, name=None, as_ref=False):
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{self.dtype.name}: {self!r}"
            )
        return self

    def _as_graph_element(self):
        return self

    def __repr__(self):
        return f"<tf.Tensor '{self._name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        return f'Tensor("{self._name}", shape={self.shape}, dtype={self.dtype.name})'

    def __bool__(self):
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead "
            "of `if t:` to test if a tensor is defined, and use TensorFlow ops such as tf.cond to "
            "execute subgraphs conditioned on the value of a tensor."
        )

    def __len__(self):
        raise TypeError(
            f"len is not well defined for symbolic Tensors ({self._name}). Please call `x.shape` "
            "rather than `len(x)` for shape information."
        )

    def __iter__(self):
        """The parts along the first dimension, if their number is known."""
        dims = self.shape._dims
        if not dims or dims[0] is None:
            raise TypeError(
                f"Tensor objects are only iterable when the first dimension is known; "
                f"{self._name} has shape {self.shape}. Use tf.map_fn or tf.unstack."
            )
        return (self[index] for index in range(dims[0]))

    def __array__(self, *unused):
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self._name}) to a numpy array: it has no value "
            "until a session runs it."
        )
