"""Graph: the nodes of a program, and the stack of default graphs."""

import contextlib
import threading

from millrace import _millrace
from millrace._graph.collections import GraphCollections
from millrace._graph.graph_def import GraphDef
from millrace._graph.op_library import specs
from millrace._graph.operation import Operation, Tensor, caller
from millrace._graph.scopes import _VALID_OP_NAME, GraphScopes


class Graph(GraphScopes, GraphCollections):
    """A computation: Operations, and Tensors between them.

    Functions such as tf.add put nodes into the default graph; `with graph.as_default():` chooses it.
    One thread at a time may add nodes; any number of threads may run sessions on it.
    """

    def __init__(self):
        self._core = _millrace.GraphCore(_millrace.ops)
        self._operations = []  # by number
        self._by_name = {}
        self._finalized = False
        self._sent = 0  # nodes that some session has sent to its master: they can't change any more
        self._seed = None
        self._lock = threading.RLock()
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
        return self._add_node(op_type, inputs, plain, self.op_name(name, op_type))

    def _add_node(self, op_type, inputs, attrs, name):
        """Adds a node for what makes nodes in this package.

        Args:
          op_type: the name of the op.
          inputs: Tensors of this graph, in slot order.
          attrs: attributes as plain values (see attr_conversion.h).
          name: the node's full name, unique in the graph.

        Returns:
          the Operation.

        Raises:
          as create_op.
        """
        with self._lock:
            if self._finalized:
                raise RuntimeError("Graph is finalized and cannot be modified.")
            for tensor in inputs:
                if tensor.graph is not self:
                    raise ValueError(f"{tensor!r} must be from the same graph as '{name}'.")
            context = self._context
            before = []
            if not self._is_plumbing:
                before = self._control_inputs_for(inputs)
                if context is not None:
                    inputs, before = context.admit(inputs, before)
            device, ask_functions = "", False
            if self._colocation_stack or self._extra_groups:
                groups, device = self._colocation()
                attrs = {**attrs, "_class": groups}
            if not self._colocation_stack:
                device, ask_functions = self._static_device()
            node_id, output_types = self._core.add(
                op_type,
                name,
                [tensor._endpoint for tensor in inputs],
                [op._id for op in before],
                attrs,
                device,
            )
            made = Operation(self, node_id, op_type, name, output_types, context, caller())
            self._operations.append(made)
            self._by_name[name] = made
            if ask_functions:
                self._apply_device_functions(made)
            if self._control_stack:
                self._saw(made)
            return made

    def op_name(self, name, op_type):
        """The full name for a new node that the program calls `name` (None: the op's own name)."""
        name = name or op_type
        if name.endswith("/"):  # the name of an open scope stands for itself
            return name[:-1]
        if not self._name_stack and not _VALID_OP_NAME.match(name):
            raise ValueError(f"'{name}' is not a valid node name")
        return self.unique_name(name)

    def _check_changeable(self, operation):
        if operation._id < self._sent:
            raise RuntimeError(
                f"Operation '{operation.name}' cannot be changed any more: a session already runs it."
            )

    def finalize(self):
        """Makes the graph read-only."""
        self._finalized = True

    @property
    def finalized(self):
        return self._finalized

    def _unsafe_unfinalize(self):
        self._finalized = False

    # ---- Finding nodes ---------------------------------------------------------------------------

    def get_operations(self):
        """All Operations, in the order in which they were made."""
        return list(self._operations)

    def get_operation_by_name(self, name):
        """Raises KeyError if there is no such Operation."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name):
        """The Tensor called "node:index". KeyError if there is none, ValueError for another form."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """The Tensor or Operation of this graph that `obj` is or names.

        Raises:
          TypeError: if it is of another type; ValueError: if it is in another graph or a malformed
            name; KeyError: if nothing has that name.
        """
        kinds = " or ".join(
            kind for kind, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok
        )
        if not isinstance(obj, (Tensor, Operation, str)) and hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if (
            isinstance(obj, Tensor)
            and allow_tensor
            or isinstance(obj, Operation)
            and allow_operation
        ):
            if obj.graph is not self:
                raise ValueError(f"{obj!r} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def _named(self, name, allow_tensor, allow_operation):
        op_name, colon, index = name.partition(":")
        if colon and allow_tensor:
            if not op_name or not index.isdecimal():
                raise ValueError(
                    f"The name '{name}' looks like a Tensor name, but is not a valid one. Tensor "
                    'names must be of the form "<op_name>:<output_index>".'
                )
            operation = self._by_name.get(op_name)
            if operation is None:
                raise KeyError(
                    f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                    f"'{op_name}', does not exist in the graph."
                )
            if int(index) >= len(operation.outputs):
                raise KeyError(
                    f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                    f"'{op_name}', exists but only has {len(operation.outputs)} outputs."
                )
            return operation.outputs[int(index)]
        if not colon and allow_operation:
            operation = self._by_name.get(name)
            if operation is None:
                raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
            return operation
        if colon:
            raise ValueError(f"The name '{name}' appears to refer to a Tensor, not a Operation.")
        raise ValueError(
            f"The name '{name}' looks like an (invalid) Operation name, not a Tensor. Tensor names "
            'must be of the form "<op_name>:<output_index>".'
        )

    # ---- As a whole ------------------------------------------------------------------------------

    @property
    def version(self):
        """Grows with each node."""
        return len(self._operations)

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
        return GraphDef(self._core.graph_def(from_version or 0))

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
        return not _inside_loop(tensor.op)

    def is_fetchable(self, tensor_or_op):
        return not _inside_loop(getattr(tensor_or_op, "op", tensor_or_op))


def _inside_loop(operation):
    context = operation._context
    while context is not None:
        if context.is_loop:
            return True
        context = context.outer
    return False


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
