"""The Operations and Tensors of a graph: views on its nodes, made when somebody looks."""

from millrace._graph.operation import Operation, Tensor
from millrace._graph.origins import Origins
from millrace._values import dtypes

_NODE = -1  # for an output: the node itself


class GraphElements:
    """Finding what is in a graph.

    The nodes are in `core`, however they came there. An Operation or a Tensor is made when it is
    asked for and lives as long as the program holds it; meanwhile the same node gives the same object.

    Attributes:
      tensor_class: what outputs of nodes are: Tensor, or a class of it.
    """

    tensor_class = Tensor

    def _init_elements(self):
        self._contexts = {}  # node -> the innermost cond or while_loop around it, if there is one
        self._origins = Origins()

    def operation(self, node_id):
        """The Operation with this number, which must be one."""
        view = self.core.view(node_id, _NODE)
        return self._viewed(Operation, node_id, _NODE) if view is None else view

    def tensor(self, node_id, index):
        """The Tensor that is this output of a node, which must have it."""
        view = self.core.view(node_id, index)
        if view is None:
            dtype = dtypes.of_number(self.core.output_type(node_id, index))
            view = self._viewed(self.tensor_class, node_id, index, dtype)
        return view

    def outputs(self, node_id):
        """All Tensors of a node."""
        return [self.tensor(node_id, index) for index in range(self.core.num_outputs(node_id))]

    def _viewed(self, kind, node_id, index, *more):
        # Sessions look things up in threads of their own: two must not make two.
        with self._lock:
            view = self.core.view(node_id, index)
            return kind(self, self.core, node_id, index, *more) if view is None else view

    def context_of(self, node_id):
        """The innermost cond or while_loop that a node belongs to, or None."""
        return self._contexts.get(node_id)

    def _put_context(self, node_id, context):
        self._contexts[node_id] = context
        context.nodes.append(node_id)

    def move_into_context(self, operation, context):
        """Lets a node that is there already belong to a cond or while_loop."""
        self._put_context(operation.node_id, context)

    def origin_of(self, node_id):
        """(file, line) of the program that made a node, or None."""
        return self._origins.get(node_id)

    def find_operation(self, name):
        """The Operation of this name, or None."""
        node_id = self.core.find(name)
        return None if node_id is None else self.operation(node_id)

    def get_operations(self):
        """All Operations, in the order in which they were made."""
        return [self.operation(node_id) for node_id in range(len(self.core))]

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
            return self._output_named(name, op_name, int(index))
        if not colon and allow_operation:
            operation = self.find_operation(name)
            if operation is None:
                raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
            return operation
        if colon:
            raise ValueError(f"The name '{name}' appears to refer to a Tensor, not a Operation.")
        raise ValueError(
            f"The name '{name}' looks like an (invalid) Operation name, not a Tensor. Tensor names "
            'must be of the form "<op_name>:<output_index>".'
        )

    def _output_named(self, name, op_name, index):
        node_id = self.core.find(op_name)
        if node_id is None:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{op_name}', does not exist in the graph."
            )
        count = self.core.num_outputs(node_id)
        if index >= count:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{op_name}', exists but only has {count} outputs."
            )
        return self.tensor(node_id, index)
