"""Where a strategy's variables live: what makes them in place of tf.Variable."""

import contextlib

from millrace._graph.collections import GraphKeys
from millrace._graph.graph import get_default_graph
from millrace._state.replicated_variables import (
    PerReplicaVariable,
    ReplicatedVariable,
    above_devices,
)
from millrace._state.variable_sharing import VariableSynchronization, is_trained


class OnDevices:
    """A copy of each variable on each of these devices; all replicas share the one copy of a single device.

    Args:
      devices: names of devices.
      first_value: a function of (value, shape, dtype), which makes the first value what it is in all tasks, with
        `value` a function that gives this task's; None where there is one task.
    """

    def __init__(self, devices, first_value=None):
        self.devices = tuple(devices)
        self._first_value = first_value

    def make(self, next_creator, kwargs):
        """The variable that tf.Variable(**kwargs) would make, replicated."""
        kwargs = {**kwargs, "use_resource": True}
        aggregation = kwargs.get("aggregation")
        synchronization = kwargs.get("synchronization")
        trainable = is_trained(kwargs.pop("trainable", None), synchronization)
        collections = kwargs.pop("collections", None)
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        graph = get_default_graph()
        copies = []
        for number, device in enumerate(self.devices):
            if number:
                kwargs["name"] = f"{copies[0].op.name}/replica_{number}"
                kwargs["initial_value"] = copies[0].initial_value
            root = graph.name_scope(None) if number else contextlib.nullcontext()
            with above_devices(graph), graph.device(device), root:
                made = next_creator(**kwargs, trainable=False, collections=[])
                if not number and self._first_value is not None:
                    made.set_initial_value(self._as_all_have_it(made))
            copies.append(made)
        kind = (
            PerReplicaVariable
            if synchronization == VariableSynchronization.ON_READ
            else ReplicatedVariable
        )
        variable = kind(copies, aggregation, trainable)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(collections, variable)
        return variable

    @contextlib.contextmanager
    def begun_apart(self):
        """A `with` block whose variables begin in each task as its own initializers say."""
        before, self._first_value = self._first_value, None
        try:
            yield
        finally:
            self._first_value = before

    def _as_all_have_it(self, variable):
        value = variable.initial_value
        return self._first_value(lambda: value, value.shape, value.dtype.base_dtype)


class OnParameterServers:
    """Each variable once, on a device that is chosen for it.

    Args:
      devices: names of devices, which a program may ask for.
      choose: a device, or a function of an Operation that gives one.
    """

    def __init__(self, devices, choose):
        self.devices = tuple(devices)
        self._choose = choose

    def make(self, next_creator, kwargs):
        """The variable of tf.Variable(**kwargs); one that belongs beside another goes there."""
        kwargs = {**kwargs, "use_resource": True}
        graph = get_default_graph()
        if graph.is_colocating:
            return next_creator(**kwargs)
        with above_devices(graph), graph.device(self._choose):
            return next_creator(**kwargs)
