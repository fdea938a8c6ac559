"""What surrounds the making of a node: name scopes, devices, control dependencies, colocation.

The rules are in the C++ builder, which has all of this at hand for each new node, whoever makes it. Here
are the blocks (`with`) that change it and put it back, functions that choose devices, and the objects of
conditionals and loops.
"""

import contextlib

from millrace import _millrace
from millrace._values.device_spec import DeviceSpec


class GraphScopes:
    """The scopes of a graph, each a context manager; nodes made inside get what the scopes say."""

    def _init_scopes(self):
        self._context = None  # the innermost cond or while_loop
        self._gradient_map = {}  # op type -> what the gradient of new nodes is registered as
        self._gradient_names = {}  # node -> what its gradient is registered as, if not as its op

    def surroundings(self):
        """All that surrounds a node made now, for put_surroundings."""
        core = self.core
        return (
            (core.name_scope, core.devices, core.colocated_with, core.groups),
            (core.flow, core.controls, core.is_plumbing),
            (self._context, self._gradient_map),
        )

    def put_surroundings(self, surroundings):
        """Has nodes made from now on surrounded as they were when `surroundings` was asked for."""
        core = self.core
        (scope, core.devices, core.colocated_with, core.groups), flow, own = surroundings
        self.swap_name_scope(scope)
        core.flow, core.controls, core.is_plumbing = flow
        self._context, self._gradient_map = own

    # ---- Names -----------------------------------------------------------------------------------

    def unique_name(self, name, mark_as_used=True):
        """`name` inside the current name scope, with _1, _2 ... if it is taken.

        Names that differ only in case count as equal, because some file systems think so.
        """
        return self.core.claim_name(name) if mark_as_used else self.core.free_name(name)

    @contextlib.contextmanager
    def name_scope(self, name):
        """Prefixes the names of nodes with `name`/. Yields the scope's name with its slash.

        A name that ends with a slash is that scope itself, entered again; None or "" is the root.
        """
        if name:
            is_valid = _millrace.is_name_part if self.core.name_scope else _millrace.is_program_name
            if not is_valid(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        if not name:
            scope = ""
        elif name.endswith("/"):
            scope = name[:-1]
        else:
            scope = self.unique_name(name)
        before = self.swap_name_scope(scope)
        try:
            yield scope + "/" if scope else ""
        finally:
            self.swap_name_scope(before)

    def swap_name_scope(self, scope):
        """Makes `scope`, a full name without a slash at its end, the current one; returns the last."""
        return self.core.swap_name_scope(scope)

    def get_name_scope(self):
        """The current name scope, without a slash at its end."""
        return self.core.name_scope

    # ---- Devices ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """Nodes made inside ask for this device.

        Args:
          device_name_or_function: a device string, maybe partial (inner scopes win field by field);
            a function from Operation to such a string; None to forget the scopes outside.
        """
        entry = device_name_or_function
        core = self.core
        before = core.devices
        if entry is None:
            core.forget_devices()
        elif callable(entry):
            core.enter_device_function(lambda node_id: _parts(entry(self.operation(node_id)) or ""))
        else:
            core.enter_device(_parts(entry))
        try:
            yield
        finally:
            core.devices = before

    # ---- Colocation ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        """Nodes made inside go where `op` goes, and device scopes outside do not count.

        Args:
          op: an Operation, a Tensor or a Variable of this graph; None to forget the scopes outside.
          ignore_existing: True to forget colocation scopes outside.
        """
        core = self.core
        devices, colocated = core.devices, core.colocated_with
        if op is None:
            core.colocated_with = []
        else:
            op = getattr(op, "op", op)
            if op.graph is not self:
                raise ValueError(f"{op!r} is not an element of this graph.")
            core.clear_devices()
            core.colocated_with = ([] if ignore_existing else colocated) + [op.node_id]
        try:
            yield
        finally:
            core.devices, core.colocated_with = devices, colocated

    @property
    def is_colocating(self):
        """True where new nodes have to be where others are."""
        return bool(self.core.colocated_with)

    @contextlib.contextmanager
    def colocated_with_names(self, groups):
        """Nodes made inside carry these colocation groups, whose nodes may not exist yet.

        Args:
          groups: [b"loc:@name", ...]; None or empty for none.
        """
        before = self.core.groups
        self.core.groups = groups or []
        try:
            yield
        finally:
            self.core.groups = before

    # ---- Gradients -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map):
        """Nodes made inside have the gradient that tf.RegisterGradient has under another name.

        Args:
          op_type_map: a dictionary from ops ("Sign") to such names.

        Raises:
          TypeError: if it is something else.
        """
        if not isinstance(op_type_map, dict) or not all(
            isinstance(part, str) for item in op_type_map.items() for part in item
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        before = self._gradient_map
        self._gradient_map = {**before, **op_type_map}
        try:
            yield
        finally:
            self._gradient_map = before

    def _note_gradient(self, node_id, op_type):
        """Told of a node that was made inside of a gradient_override_map."""
        if op_type in self._gradient_map:
            self._gradient_names[node_id] = self._gradient_map[op_type]

    def gradient_name(self, node_id):
        """What the gradient of a node is registered as in place of its op's, or None."""
        return self._gradient_names.get(node_id)

    @property
    def overrides_gradients(self):
        """True if some node has a gradient in place of its op's."""
        return bool(self._gradient_names)

    # ---- Control flow ----------------------------------------------------------------------------

    @property
    def context(self):
        """The innermost cond or while_loop that new nodes belong to; None outside of them."""
        return self._context

    def _set_context(self, context):
        self._context = context
        if context is None:
            self.core.flow = None
            return

        def admit(endpoints, before):
            tensors = [self.tensor(*endpoint) for endpoint in endpoints]
            tensors, before = context.admit(tensors, before)
            return [tensor.endpoint for tensor in tensors], before

        self.core.enter_flow(admit, lambda node_id: self._put_context(node_id, context))

    def enter_context(self, context):
        """Lets new nodes belong to `context`; returns what leave_context takes.

        What was to be waited for outside was waited for when the context's pivot was made.
        """
        before = (self._context, self.core.flow, self.core.controls)
        self._set_context(context)
        self.core.clear_controls()
        return before

    def leave_context(self, before):
        """Undoes enter_context."""
        self._context, self.core.flow, self.core.controls = before

    @contextlib.contextmanager
    def plumbing(self, context):
        """For control flow itself: nodes belong to `context` and get just the inputs they are given."""
        before = self._context, self.core.flow, self.core.is_plumbing
        self._set_context(context)
        self.core.is_plumbing = True
        try:
            yield
        finally:
            self._context, self.core.flow, self.core.is_plumbing = before

    # ---- Control dependencies --------------------------------------------------------------------

    def control_dependencies(self, control_inputs):
        """A context: nodes made inside run after `control_inputs` have run.

        Args:
          control_inputs: a list of Operations, Tensors and Variables; None to forget the scopes
            outside, control flow included.
        """
        if control_inputs is None:
            return ControlDependencies(self, None)
        if not isinstance(control_inputs, (list, tuple)):
            raise TypeError(f"control_inputs must be a list, got {control_inputs!r}")
        wanted = []
        for item in control_inputs:
            element = getattr(item, "_as_graph_element", lambda item=item: item)()
            element = self.as_graph_element(element)
            wanted.append(getattr(element, "op", element).node_id)
        return ControlDependencies(self, wanted)

    @property
    def has_control_dependencies(self):
        """True where new nodes have to wait for others."""
        return self.core.has_controls()


class ControlDependencies:
    """One control_dependencies scope.

    Args:
      nodes: the numbers of those that are to be waited for; None to forget the scopes outside.
    """

    def __init__(self, graph, nodes):
        self._graph = graph
        self._scope = None if nodes is None else _millrace.ControlScope(nodes)

    def __enter__(self):
        graph = self._graph
        self._before = (graph.context, graph.core.flow, graph.core.controls)
        if self._scope is None:
            graph.enter_context(None)
        else:
            graph.core.enter_controls(self._scope)
        return self

    def __exit__(self, *unused):
        self._graph.leave_context(self._before)


def _parts(device):
    """What a device string says, part by part."""
    spec = DeviceSpec.from_string(str(device))
    return spec.job, spec.replica, spec.task, spec.device_type, spec.device_index
