"""What surrounds the making of a node: name scopes, devices, control dependencies, colocation."""

import contextlib

from millrace import _millrace
from millrace._values.device_spec import DeviceSpec, merged_device


class GraphScopes:
    """The scopes of a graph, each a context manager; nodes made inside get what the scopes say."""

    def _init_scopes(self):
        self._name_stack = ""
        self._device_stack = ()  # outermost first; a DeviceSpec, a function, or None for a reset
        self._static_devices = {}  # device stack -> what it says without asking functions
        self._colocation_stack = ()
        self._extra_groups = ()  # colocation with a node that is yet to be made
        self._control_stack = []
        self._context = None  # the innermost cond or while_loop
        self._is_plumbing = False

    # ---- Names -----------------------------------------------------------------------------------

    def unique_name(self, name, mark_as_used=True):
        """`name` inside the current name scope, with _1, _2 ... if it is taken.

        Names that differ only in case count as equal, because some file systems think so.
        """
        if self._name_stack:
            name = f"{self._name_stack}/{name}"
        return self.core.claim_name(name) if mark_as_used else self.core.free_name(name)

    @contextlib.contextmanager
    def name_scope(self, name):
        """Prefixes the names of nodes with `name`/. Yields the scope's name with its slash.

        A name that ends with a slash is that scope itself, entered again; None or "" is the root.
        """
        if name:
            is_valid = _millrace.is_name_part if self._name_stack else _millrace.is_program_name
            if not is_valid(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        before = self._name_stack
        if not name:
            scope = ""
        elif name.endswith("/"):
            scope = name[:-1]
        else:
            scope = self.unique_name(name)
        self._name_stack = scope
        try:
            yield scope + "/" if scope else ""
        finally:
            self._name_stack = before

    def swap_name_scope(self, scope):
        """Makes `scope`, a full name without a slash at its end, the current one; returns the last."""
        before, self._name_stack = self._name_stack, scope
        return before

    def get_name_scope(self):
        """The current name scope, without a slash at its end."""
        return self._name_stack

    # ---- Devices ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """Nodes made inside ask for this device.

        Args:
          device_name_or_function: a device string, maybe partial (inner scopes win field by field);
            a function from Operation to such a string; None to forget the scopes outside.
        """
        entry = device_name_or_function
        if entry is not None and not callable(entry):
            entry = DeviceSpec.from_string(str(entry))
        before = self._device_stack
        self._device_stack = before + (entry,)
        try:
            yield
        finally:
            self._device_stack = before

    def _static_device(self):
        """(device string, True if functions have to be asked for it)."""
        if not self._device_stack:
            return "", False
        known = self._static_devices.get(self._device_stack)
        if known is None:
            known = self._static_devices[self._device_stack] = self._combined_device()
        return known

    def _combined_device(self):
        spec = None
        for entry in reversed(self._device_stack):
            if entry is None:
                break
            if not isinstance(entry, DeviceSpec):
                return "", True
            spec = merged_device(entry, spec)
        return spec.to_string() if spec else "", False

    def _apply_device_functions(self, operation):
        for entry in reversed(self._device_stack):
            if entry is None:
                return
            current = DeviceSpec.from_string(operation.device)
            if isinstance(entry, DeviceSpec):
                self.set_device(operation, merged_device(entry, current))
            else:
                chosen = entry(operation)
                self.set_device(operation, DeviceSpec.from_string(str(chosen or "")))

    # ---- Colocation ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        """Nodes made inside go where `op` goes, and device scopes outside do not count.

        Args:
          op: an Operation, a Tensor or a Variable; None to forget the scopes outside.
          ignore_existing: True to forget colocation scopes outside.
        """
        if op is not None:
            op = getattr(op, "op", op)
        devices, colocation = self._device_stack, self._colocation_stack
        if op is None:
            self._colocation_stack = ()
        else:
            self._device_stack = ()
            self._colocation_stack = (() if ignore_existing else colocation) + (op,)
        try:
            yield
        finally:
            self._device_stack, self._colocation_stack = devices, colocation

    def _colocation(self):
        """(groups for the attribute _class, device of what it is colocated with)."""
        groups, device = set(self._extra_groups), ""
        for op in self._colocation_stack:
            groups.update(op.colocation_groups())
            device = op.device or device
        return sorted(groups), device

    @contextlib.contextmanager
    def colocated_with_names(self, groups):
        """Nodes made inside carry these colocation groups, whose nodes may not exist yet.

        Args:
          groups: [b"loc:@name", ...]; None or empty for none.
        """
        before = self._extra_groups
        self._extra_groups = groups or ()
        try:
            yield
        finally:
            self._extra_groups = before

    # ---- Control flow ----------------------------------------------------------------------------

    @property
    def context(self):
        """The innermost cond or while_loop that new nodes belong to; None outside of them."""
        return self._context

    def enter_context(self, context):
        """Lets new nodes belong to `context`; returns what leave_context takes.

        What was to be waited for outside was waited for when the context's pivot was made.
        """
        before = (self._context, self._control_stack)
        self._context, self._control_stack = context, []
        return before

    def leave_context(self, before):
        """Undoes enter_context."""
        self._context, self._control_stack = before

    @contextlib.contextmanager
    def plumbing(self, context):
        """For control flow itself: nodes belong to `context` and get just the inputs they are given."""
        before = self._context, self._is_plumbing
        self._context, self._is_plumbing = context, True
        try:
            yield
        finally:
            self._context, self._is_plumbing = before

    # ---- Control dependencies --------------------------------------------------------------------

    def control_dependencies(self, control_inputs):
        """A context: nodes made inside run after `control_inputs` have run.

        Args:
          control_inputs: a list of Operations, Tensors and Variables; None to forget the scopes
            outside, control flow included.
        """
        if control_inputs is None:
            return ControlDependencies(self, [], starts_anew=True)
        if not isinstance(control_inputs, (list, tuple)):
            raise TypeError(f"control_inputs must be a list, got {control_inputs!r}")
        wanted = []
        for item in control_inputs:
            element = getattr(item, "_as_graph_element", lambda item=item: item)()
            element = self.as_graph_element(element)
            wanted.append(getattr(element, "op", element).node_id)
        return ControlDependencies(self, wanted, starts_anew=False)

    @property
    def has_control_dependencies(self):
        """True where new nodes have to wait for others."""
        return bool(self._control_stack)

    def _control_inputs_for(self, inputs):
        """The nodes that one with these inputs must wait for, most outer scope first.

        A scope says nothing about a node that already depends on one made inside that scope.
        """
        wanted = {}
        for scope in self._control_stack:
            if not any(tensor.endpoint[0] in scope.seen for tensor in inputs):
                wanted.update(dict.fromkeys(scope.nodes))
        for tensor in inputs:
            wanted.pop(tensor.endpoint[0], None)
        return list(wanted)

    def _saw(self, node_id):
        for scope in self._control_stack:
            scope.seen.add(node_id)


class ControlDependencies:
    """One control_dependencies scope."""

    def __init__(self, graph, nodes, starts_anew):
        self.nodes = nodes  # that are to be waited for
        self.seen = set()  # nodes made inside
        self._graph = graph
        self._starts_anew = starts_anew

    def __enter__(self):
        graph = self._graph
        self._before = (graph._context, graph._control_stack)
        if self._starts_anew:
            graph._context, graph._control_stack = None, []
        else:
            graph._control_stack = graph._control_stack + [self]
        return self

    def __exit__(self, *unused):
        self._graph.leave_context(self._before)
