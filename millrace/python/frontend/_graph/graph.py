"""Graph: the nodes of a program, and the stack of default graphs."""

import contextlib
import threading

from millrace import _millrace
from millrace._graph.collections import GraphCollections
from millrace._graph.elements import GraphElements
from millrace._graph.graph_def import GraphDef
from millrace._graph.op_specs import specs
from millrace._graph.operation import Tensor
from millrace._graph.origins import caller
from millrace._graph.scopes import GraphScopes


class Graph(GraphElements, GraphScopes, GraphCollections):
    """A computation: Operations, and Tensors between them.

    Functions such as tf.add put nodes into the default graph; `with graph.as_default():` chooses it.
    One thread at a time may add nodes; any number of threads may run sessions on it.

    Attributes:
      core: the C++ half, which has the nodes.
      outer_graph: of the graph of a function, the one around it; else None.
      has_values: whether what is made in it has a value at once, as in a function of tf.py_function.
      more_nodes: how many nodes more TensorFlow would have made (see node_counts.py).
    """

    outer_graph = None
    has_values = False
    more_nodes = 0

    def __init__(self):
        self.core = _millrace.GraphCore(_millrace.ops)
        self._finalized = False
        self._sent = 0  # nodes that some session has sent to its master: they can't change any more
        self._seed = None
        self._container = ""
        self._own = {}
        self._lock = threading.RLock()
        self._init_elements()
        self._init_scopes()
        self._init_collections()

    # ---- Making nodes ----------------------------------------------------------------------------

    def create_op(
        self,
        op_type,
        inputs,
        dtypes=None,
        input_types=None,
        name=None,
        attrs=None,
        op_def=None,
        compute_shapes=True,
        compute_device=True,
    ):
        """Adds a node of any op, by the op's name.

        Args:
          op_type: the name of the op.
          inputs: Tensors of this graph, in slot order.
          name: a name for the node; None for the op's.
          attrs: {attribute: value} as op wrappers take them; those that the inputs decide may be left
            out.
          dtypes, input_types, op_def, compute_shapes, compute_device: accepted; types and shapes are
            what the op makes of its inputs and attributes.

        Returns:
          the Operation.

        Raises:
          TypeError: if an input is no Tensor; ValueError: if there is no such op, or it refuses these
            inputs or attributes; RuntimeError: if the graph is finalized.
        """
        for index, tensor in enumerate(inputs):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input #{index} is not a tensor: {tensor!r}")
        spec = specs[op_type]
        plain = {key: spec.plain_attr(key, value) for key, value in (attrs or {}).items()}
        return self.operation(self.add_node(op_type, inputs, plain, self.op_name(name, op_type)))

    def add_node(self, op_type, inputs, attrs, name):
        """Adds a node for what makes nodes in this package.

        Args:
          op_type: the name of the op.
          inputs: Tensors of this graph, in slot order.
          attrs: attributes as plain values (see attr_conversion.h).
          name: the node's full name, unique in the graph.

        Returns:
          the node's number; `operation` and `tensor` give views on it.

        Raises:
          as create_op.
        """
        with self._lock:
            if self._finalized:
                raise RuntimeError("Graph is finalized and cannot be modified.")
            for tensor in inputs:
                if tensor.graph is not self:
                    raise ValueError(f"{tensor!r} must be from the same graph as '{name}'.")
            node_id = self.core.add(op_type, name, [tensor.endpoint for tensor in inputs], attrs)
            self._origins.put(node_id, caller())
            if self._container and not attrs.get("container") and _is_kept(op_type):
                self.core.set_attr(node_id, "container", self._container)
            if self._gradient_map:
                self._note_gradient(node_id, op_type)
            return node_id

    def op_name(self, name, op_type):
        """The full name for a new node that the program calls `name` (None: the op's own name)."""
        return self.core.op_name(name or op_type)

    # ---- Changing nodes --------------------------------------------------------------------------

    def set_device(self, operation, device):
        """Asks for another device for a node: a DeviceSpec, or None for none.

        Raises:
          RuntimeError: if a session runs the node already.
        """
        self._check_changeable(operation)
        self.core.set_device(operation.node_id, device.to_string() if device else "")

    def add_control_input(self, operation, before):
        """Makes a node wait for another. RuntimeError if a session runs it already."""
        self._check_changeable(operation)
        self.core.add_control_input(operation.node_id, before.node_id)

    def ask_to_last(self, operation):
        """Asks the task of a new node that names a variable or a queue to keep it on its disk."""
        with self._lock:
            self.core.set_attr(operation.node_id, "_durable", True)

    def set_input(self, operation, slot, tensor):
        """Lets a node read another Tensor: the way back of a loop, or what a program puts in its place.

        Shapes stay as they were. RuntimeError if a session runs the node already.
        """
        self._check_changeable(operation)
        self.core.set_input(operation.node_id, slot, *tensor.endpoint)

    def replace_shape(self, tensor, shape):
        """Puts a TensorShape in place of what was inferred: a loop variable whose shape changes."""
        self.core.replace_shape(*tensor.endpoint, shape.plain)

    def constant_value(self, tensor):
        """The value as NumPy has it, if it is known without running anything; else None."""
        return self.core.constant(*tensor.endpoint)

    def takes_from(self, graph):
        """Whether nodes here may read Tensors of another graph: in functions that it has around it."""
        return False

    def mark_sent(self, count):
        """Told by sessions: the first `count` nodes can't change any more."""
        self._sent = max(self._sent, count)

    def _check_changeable(self, operation):
        if operation.node_id < self._sent:
            raise RuntimeError(
                f"Operation '{operation.name}' cannot be changed any more: a session already runs it."
            )

    def finalize(self):
        """Makes the graph read-only."""
        self._finalized = True

    @property
    def finalized(self):
        return self._finalized

    def unfinalize(self):
        """Lets the graph change again: for what has finalized it, once that has ended."""
        self._finalized = False

    _unsafe_unfinalize = unfinalize

    # ---- As a whole ------------------------------------------------------------------------------

    def own(self, kind):
        """The one object of the class `kind` that belongs to this graph, made when first asked for."""
        if kind not in self._own:
            self._own[kind] = kind()
        return self._own[kind]

    @property
    def version(self):
        """Grows with each node."""
        return len(self.core)

    @property
    def seed(self):
        return self._seed

    @seed.setter
    def seed(self, value):
        self._seed = value

    def as_graph_def(self, from_version=None, add_shapes=False):
        """The graph in TensorFlow's exchange format.

        Args:
          from_version: only nodes made after the graph had this `version`.
          add_shapes: accepted; shapes are inferred again by whoever reads it.

        Returns:
          a GraphDef: `SerializeToString()` gives the bytes, `node` the nodes.
        """
        return GraphDef(self.core.graph_def(from_version or 0))

    @contextlib.contextmanager
    def container(self, container_name):
        """What lives on tasks and is made inside (variables, queues) belongs to this container.

        Session.reset with the container's name forgets it.
        """
        before, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = before

    @contextlib.contextmanager
    def as_default(self):
        """Makes this the default graph of the thread inside the block."""
        stack = _defaults.stack
        stack.append(self)
        try:
            yield self
        finally:
            if stack[-1] is not self:
                raise AssertionError("Nesting violated for default stack of Graph objects")
            stack.pop()

    def prevent_feeding(self, tensor):
        """Accepted; a session refuses to feed what cannot be fed."""

    def prevent_fetching(self, op):
        """Accepted; a session refuses to fetch what lives inside a loop."""

    def is_feedable(self, tensor):
        return not tensor.op.is_in_loop

    def is_fetchable(self, tensor_or_op):
        return not getattr(tensor_or_op, "op", tensor_or_op).is_in_loop


def _is_kept(op_type):
    """Whether nodes of an op stand for something that lives on a task, in a container."""
    spec = specs[op_type]
    return spec.is_stateful and "container" in spec.attrs


class _Defaults(threading.local):
    """The default graphs of a thread, innermost last."""

    def __init__(self):
        self.stack = []


class _Root:
    """The graph that is the default where no other is."""

    graph = None


_defaults = _Defaults()


def get_default_graph():
    """The graph that new nodes go to."""
    if _defaults.stack:
        return _defaults.stack[-1]
    if _Root.graph is None:
        _Root.graph = Graph()
    return _Root.graph


def reset_default_graph():
    """Starts the default graph anew. AssertionError inside a `with graph.as_default()` block."""
    if _defaults.stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    _Root.graph = Graph()


def has_default_graph():
    return bool(_defaults.stack) or _Root.graph is not None
