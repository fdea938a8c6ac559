"""What surrounds the making of a node: name scopes, devices, control dependencies, colocation."""

import contextlib
import re

from millrace._values.device_spec import DeviceSpec, merged_device

_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class GraphScopes:
    """The scopes of a graph, each a context manager; nodes made inside get what the scopes say."""

    def _init_scopes(self):
        self._name_stack = ""
        self._names_in_use = {}
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
        key = name.lower()
        taken = self._names_in_use.get(key, 0)
        if mark_as_used:
            self._names_in_use[key] = taken + 1
        if taken:
            base = key
            while key in self._names_in_use:
                key = f"{base}_{taken}"
                taken += 1
            if mark_as_used:
                self._names_in_use[key] = 1
            name = f"{name}_{taken - 1}"
        return name

    @contextlib.contextmanager
    def name_scope(self, name):
        """Prefixes the names of nodes with `name`/. Yields the scope's name with its slash.

        A name that ends with a slash is that scope itself, entered again; None or "" is the root.
        """
        if name:
            valid = _VALID_SCOPE_NAME if self._name_stack else _VALID_OP_NAME
            if not valid.match(name):
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
                operation._set_device(merged_device(entry, current))
            else:
                chosen = entry(operation)
                operation._set_device(DeviceSpec.from_string(str(chosen or "")))

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

    # ---- Control flow ----------------------------------------------------------------------------

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
            wanted.append(getattr(element, "op", element))
        return ControlDependencies(self, wanted, starts_anew=False)

    def _control_inputs_for(self, inputs):
        """Operations that a node with these inputs must wait for, most outer scope first.

        A scope says nothing about a node that already depends on one made inside that scope.
        """
        wanted = {}
        for scope in self._control_stack:
            if not any(tensor.op in scope.seen for tensor in inputs):
                wanted.update(dict.fromkeys(scope.operations))
        for tensor in inputs:
            wanted.pop(tensor.op, None)
        return list(wanted)

    def _saw(self, operation):
        for scope in self._control_stack:
            scope.seen.add(operation)


class ControlDependencies:
    """One control_dependencies scope."""

    def __init__(self, graph, operations, starts_anew):
        self.operations = operations
        self.seen = set()
        self._graph = graph
        self._starts_anew = starts_anew

    def __enter__(self):
        graph = self._graph
        self._before = (graph._control_stack, graph._context)
        if self._starts_anew:
            graph._control_stack, graph._context = [], None
        else:
            graph._control_stack = graph._control_stack + [self]
        return self

    def __exit__(self, *unused):
        self._graph._control_stack, self._graph._context = self._before
