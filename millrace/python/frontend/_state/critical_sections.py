"""CriticalSection: what one step at a time runs."""

from collections import namedtuple
from contextlib import contextmanager
from threading import local

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group, tuple as together
from millrace._flow.tensor_array import TensorArray
from millrace._graph.default_graph import colocate_with, control_dependencies, name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Operation
from millrace._ops.arrays import identity
from millrace._values import dtypes
from millrace._values.structure import flatten, pack

_EXECUTIONS = "critical_section_executions"
_Execution = namedtuple("_Execution", "op handle resources exclusive_resource_access")


class _Running(local):
    """The sections in which this thread builds something now."""

    def __init__(self):
        self.handles = []


_RUNNING = _Running()


@contextmanager
def _inside(section):
    if section in _RUNNING.handles:
        raise ValueError(
            "Attempting to lock a CriticalSection in which we are already running. This is illegal "
            "and may cause deadlocks."
        )
    _RUNNING.handles.append(section)
    try:
        yield
    finally:
        _RUNNING.handles.pop()


def _passed_on(value):
    if isinstance(value, TensorArray):
        return value.identity()
    return group(value) if isinstance(value, Operation) else identity(value)


class CriticalSection:
    """Runs parts of graphs one after another, whichever steps they are of.

    Args:
      name: a name for the node.
      shared_name: by which several programs find one section on its device; None for its name.

    Attributes:
      name: of its node.
    """

    def __init__(self, name=None, shared_name=None, critical_section_def=None, import_scope=None):
        if critical_section_def:
            raise ValueError("Argument `critical_section_def` is not supported.")
        with name_scope(name, "CriticalSection") as scope:
            if shared_name is None:
                shared_name = scope
            self._handle = gen_ops.mutex_v2(shared_name=shared_name, name=scope)
        get_default_graph().add_to_collections("critical_sections", self)

    @property
    def name(self):
        return self._handle.op.name

    def execute(self, fn, exclusive_resource_access=True, name=None):
        """What `fn` gives, run while no other step is in this section.

        Args:
          fn: a function without arguments that gives Tensors, at least one.
          exclusive_resource_access: False to let other sections use the same variables.
          name: a name for the nodes.

        Returns:
          The same structure as `fn` gives.

        Raises:
          ValueError: if `fn` locks this section, or another one uses the same variables.
        """
        graph = get_default_graph()
        with name_scope(name, "critical_section_execute"):
            with _inside(self):
                lock = gen_ops.mutex_lock(self._handle)
                before = len(graph.get_operations())
                with control_dependencies([lock]):
                    made = fn()
            nodes = graph.get_operations()[before:]
            self._lock_after_arguments(lock.op, nodes)
            self._note(lock, nodes, exclusive_resource_access)
            # What is computed must be there before the lock goes, and seen after that.
            parts = [_passed_on(each) for each in flatten(made)]
            with control_dependencies(parts), colocate_with(self._handle):
                done = gen_ops.consume_mutex_lock(lock)
            with control_dependencies([done]):
                outputs = [_passed_on(each) for each in together(flatten(made))]
            return pack(made, outputs)

    def _lock_after_arguments(self, lock, nodes):
        """Who waits for the lock must need nothing more than it, or two steps wait for each other."""
        inside = {node.name for node in nodes} | {lock.name}
        needed = {}
        for node in nodes:
            for other in [tensor.op for tensor in node.inputs] + list(node.control_inputs):
                if other.name not in inside:
                    needed[other.name] = other
        for other in [tensor.op for tensor in lock.inputs] + list(lock.control_inputs):
            needed.pop(other.name, None)
        if needed:
            get_default_graph().add_control_input(lock, group(*needed.values()))

    def _note(self, lock, nodes, exclusive):
        resources = {
            tensor.name: tensor
            for node in nodes
            for tensor in node.inputs
            if tensor.dtype.base_dtype == dtypes.resource
        }
        if self._handle.name in resources:
            raise ValueError(
                "Attempting to lock a CriticalSection in which we are already running. This is "
                "illegal and may cause deadlocks."
            )
        graph = get_default_graph()
        for other in graph.get_collection(_EXECUTIONS):
            if other.handle.name == self._handle.name:
                continue
            if not (exclusive or other.exclusive_resource_access):
                continue
            shared = sorted(resources.keys() & other.resources)
            if shared:
                raise ValueError(
                    "This execution would access resources: "
                    f"{shared}. Either this lock (CriticalSection: {self._handle.name}) or lock "
                    f"'{other.op.name}' (CriticalSection: {other.handle.name}) requested exclusive "
                    "resource access of this resource. Did you mean to call execute with keyword "
                    "argument exclusive_resource_access=False?"
                )
        noted = _Execution(lock.op, self._handle, frozenset(resources), exclusive)
        graph.add_to_collections(_EXECUTIONS, noted)
