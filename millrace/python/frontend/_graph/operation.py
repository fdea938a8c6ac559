"""Operation: a node of a graph, and Tensor: one of its outputs. Views: the graph has the nodes."""

import collections
from importlib import import_module

from millrace import _millrace
from millrace._graph.default_session import session_or_default
from millrace._graph.op_specs import specs
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Operation(_millrace.View):
    """A node: made by functions such as tf.matmul, run by a Session.

    Attributes:
      graph: the Graph that it belongs to.
      node_id: its number in the graph.
    """

    __slots__ = ()

    @property
    def name(self):
        """Its full name, unique in the graph."""
        return self.graph.core.name(self.node_id)

    @property
    def type(self):
        """The name of the op ("MatMul")."""
        return self.graph.core.type(self.node_id)

    @property
    def outputs(self):
        """Its Tensors."""
        return self.graph.outputs(self.node_id)

    @property
    def inputs(self):
        """The Tensors that it reads, in order."""
        graph = self.graph
        return tuple(graph.tensor(*endpoint) for endpoint in graph.core.inputs(self.node_id))

    @property
    def control_inputs(self):
        """The Operations that must have run before it."""
        graph = self.graph
        return [graph.operation(node) for node in graph.core.control_inputs(self.node_id)]

    @property
    def defined_at(self):
        """(file, line) of the program that made it, or None."""
        return self.graph.origin_of(self.node_id)

    @property
    def traceback(self):
        """The place in the program that made it, as a list of one frame: (file, line, "", text)."""
        at = self.defined_at
        return [] if at is None else [import_module("traceback").FrameSummary(*at, "")]

    @property
    def op_def(self):
        """What is known of its op: name, input_arg, output_arg, attr, is_stateful."""
        return OpDef(specs[self.type])

    @property
    def control_context(self):
        """The innermost cond or while_loop that it belongs to, or None."""
        return self.graph.context_of(self.node_id)

    @property
    def device(self):
        """The device that was asked for, maybe only in part; empty if none was."""
        return self.graph.core.device(self.node_id)

    @property
    def node_def(self):
        """The node as plain values: name, op, device, input and attr."""
        return NodeDef(self)

    def get_attr(self, name):
        """The value of an attribute: bytes, int, float, bool, DType, TensorShape, array, or a list.

        Raises:
          ValueError: if there is no such attribute.
        """
        held = self.graph.core.attr(self.node_id, name)
        if held is None:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return _from_attr(*held)

    def colocation_groups(self):
        """What it is colocated with: [b"loc:@name", ...]; its own name if nothing was said."""
        return self.graph.core.colocation_groups(self.node_id)

    def values(self):
        return tuple(self.outputs)

    def run(self, feed_dict=None, session=None):
        """Runs it in `session`, or in the default one."""
        session_or_default(session, self.graph, "Operation.run()").run(self, feed_dict)

    @property
    def is_in_loop(self):
        """True if it runs in iterations."""
        context = self.control_context
        while context is not None:
            if context.is_loop:
                return True
            context = context.outer
        return False

    # TensorFlow's names for what the graph does, which programs have found.
    def _set_device(self, device):
        self.graph.set_device(self, device)

    def _add_control_input(self, operation):
        self.graph.add_control_input(self, operation)

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


ArgDef = collections.namedtuple("ArgDef", "name type type_attr type_list_attr number_attr is_ref")
AttrDef = collections.namedtuple("AttrDef", "name type")


class OpDef:
    """An op as plain values: a picture, under the names of TensorFlow's message."""

    def __init__(self, spec):
        self.name = spec.name
        self.input_arg = [_arg_def(arg) for arg in spec.inputs]
        self.output_arg = [_arg_def(arg) for arg in spec.outputs]
        self.attr = [AttrDef(attr.name, attr.kind) for attr in spec.attrs.values()]
        self.is_stateful = spec.is_stateful

    def __repr__(self):
        return f"<OpDef '{self.name}'>"


def _arg_def(arg):
    number = arg.dtype.as_datatype_enum if arg.dtype is not None else 0
    return ArgDef(
        arg.name,
        number,
        arg.type_attr or "",
        arg.type_list_attr or "",
        arg.number_attr or "",
        arg.is_ref,
    )


class NodeDef:
    """A node as plain values. A picture: changing it changes nothing."""

    def __init__(self, operation):
        core = operation.graph.core
        self.name = operation.name
        self.op = operation.type
        self.device = operation.device
        self.input = [_input_name(tensor) for tensor in operation.inputs]
        self.input += ["^" + before.name for before in operation.control_inputs]
        self.attr = {key: _from_attr(*held) for key, held in core.attrs(operation.node_id).items()}

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


class Tensor(_millrace.View):
    """An output of an Operation: a value that exists while a graph runs.

    It has no value itself. Operators build new nodes; `session.run` fetches the value. Two Tensors are
    equal only if they are the same output, so that they can be keys of a dictionary.

    Attributes:
      graph: the Graph that it belongs to.
      dtype: the DType of its elements.
      endpoint: (number of the node, value_index).
    """

    __slots__ = ()

    # NumPy's operators leave expressions with a Tensor on the right to the Tensor.
    __array_priority__ = 100

    @property
    def op(self):
        """The Operation whose output it is."""
        return self.graph.operation(self.node_id)

    @property
    def value_index(self):
        """Which output of `op` it is."""
        return self.endpoint[1]

    @property
    def name(self):
        """The name of `op`, ":" and `value_index`."""
        return f"{self.graph.core.name(self.node_id)}:{self.value_index}"

    @property
    def device(self):
        return self.op.device

    @property
    def shape(self):
        """What is known of the shape, as a TensorShape."""
        return TensorShape.of_plain(self.graph.core.shape(*self.endpoint))

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        """Adds what the program knows of the shape. ValueError if it contradicts what is known."""
        self.graph.core.merge_shape(*self.endpoint, TensorShape(shape).plain)

    def consumers(self):
        """The Operations that read it."""
        graph = self.graph
        return [graph.operation(node) for node in graph.core.consumers(*self.endpoint)]

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
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    def __bool__(self):
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead "
            "of `if t:` to test if a tensor is defined, and use TensorFlow ops such as tf.cond to "
            "execute subgraphs conditioned on the value of a tensor."
        )

    def __len__(self):
        raise TypeError(
            f"len is not well defined for symbolic Tensors ({self.name}). Please call `x.shape` "
            "rather than `len(x)` for shape information."
        )

    def __iter__(self):
        """The parts along the first dimension, if their number is known."""
        dims = self.shape.plain
        if not dims or dims[0] is None:
            raise TypeError(
                f"Tensor objects are only iterable when the first dimension is known; "
                f"{self.name} has shape {self.shape}. Use tf.map_fn or tf.unstack."
            )
        return (self[index] for index in range(dims[0]))

    def __array__(self, *unused):
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: it has no value "
            "until a session runs it."
        )
