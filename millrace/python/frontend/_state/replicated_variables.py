"""Variables of a model that has replicas: one for the program, with a copy on each replica's device.

In a replica the variable is that replica's copy. Above the replicas it is the first copy for who reads it, and
all of them for who changes it. Checkpoints hold it once, under the name of the first.
"""

import contextlib

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import init_scope, name_scope
from millrace._state.replica_contexts import ReduceOp, current_replica
from millrace._state.variable_sharing import VariableAggregation
from millrace._state.variables import ResourceVariable


class ReplicatedVariable(ResourceVariable):
    """A variable of which each replica has a copy; all copies are equal after each step.

    A replica that assigns to it is joined by the others, and all copies become what `aggregation` makes of
    their values.

    Args:
      copies: ResourceVariables, by replica; or a single one, which all replicas share.
      aggregation: of tf.VariableAggregation; NONE: replicas may not assign to it.
      trainable: whether optimizers change it.
    """

    def __init__(self, copies, aggregation=None, trainable=False):
        first = copies[0]
        self.copies = tuple(copies)
        self.aggregation = aggregation or VariableAggregation.NONE
        self.graph = first.graph
        self.constraint = first.constraint
        self._trainable = trainable
        self._shape, self._dtype = first.shape, first.dtype
        self._caching_device = None
        self._durable = first.durable
        self._initial_value = first.initial_value
        for index, copy in enumerate(copies):
            copy.replica_of = self, index
        self._note_initializer()

    @property
    def name(self):
        return self.copies[0].name

    def copy_of(self, replica):
        """The Variable that a replica has, by its number on this task."""
        return self.copies[min(replica, len(self.copies) - 1)]

    def _current(self):
        context = current_replica()
        return self.copy_of(0 if context is None else context.local_replica)

    # What ResourceVariable has once, this has once per copy.

    @property
    def _handle(self):
        return self._current().handle

    @property
    def _snapshot(self):
        return self._current()._as_graph_element()

    def _note_initializer(self):
        self._initializer = self.copies[0].initializer
        if len(self.copies) > 1:
            with init_scope(), above_devices(self.graph), name_scope("replicas"):
                self._initializer = group(*[copy.initializer for copy in self.copies])

    def load(self, value, session=None):
        """Sets the value of all copies from the program."""
        for copy in self.copies:
            copy.load(value, session)

    def set_initial_value(self, value):
        """Makes a Tensor the initial value of all copies."""
        for copy in self.copies:
            copy.set_initial_value(value)
        self._initial_value = value
        self._note_initializer()

    def set_shape(self, shape):
        for copy in self.copies:
            copy.set_shape(shape)
        self._shape = self.copies[0].shape

    # ---- Changes ---------------------------------------------------------------------------------

    def on_each_copy(self, change):
        """[change(copy)] with each node beside its copy, whatever the devices around."""
        made = []
        for copy in self.copies:
            with beside(copy):
                made.append(change(copy))
        return made

    def _write(self, op, value, name, read_value):
        context = current_replica()
        if context is not None:
            return self._write_from_replica(context, op, value, name, read_value)
        value = convert(value, self._dtype, "value")
        kind = _METHODS[op]
        with name_scope(name, kind):
            made = self.on_each_copy(lambda copy: getattr(copy, kind)(value, read_value=False))
            done = group(*made)
        if not read_value:
            return done
        with self.graph.control_dependencies([done]):
            return self.read_value()

    def _write_from_replica(self, context, op, value, name, read_value):
        if self.aggregation == VariableAggregation.NONE:
            raise ValueError(
                "You must specify an aggregation method to update a MirroredVariable in Replica "
                f"Context: {self.name} has none, so what becomes of the replicas' values is not known. "
                "Give it aggregation=tf.VariableAggregation.SUM, MEAN or ONLY_FIRST_REPLICA."
            )

        def together(strategy, value):
            joined = aggregated(strategy, self.aggregation, value, self)
            return self._write(op, joined, name, False)

        done = context.merge_call(together, args=(convert(value, self._dtype, "value"),))
        if not read_value:
            return done
        with self.graph.control_dependencies([done]):
            return self.read_value()

    def change_slices(self, kind, indices, updates, use_locking, name):
        """A node that changes slices of all copies.

        Raises:
          ValueError: in a replica, where slices of several replicas would have to become one.
        """
        if current_replica() is not None and len(self.copies) > 1:
            raise ValueError(
                f"{self.name}: a replica can't change slices of a variable that all replicas have; "
                "do so in a merge_call"
            )
        changed = self.on_each_copy(
            lambda copy: copy.change_slices(kind, indices, updates, use_locking, name)
        )
        with self.graph.control_dependencies(changed):
            return self.read_value()

    def count_up_to(self, limit):
        """As Variable's, of the copy at work. ValueError where there are several."""
        if len(self.copies) > 1:
            raise ValueError(f"{self.name}: several copies can't be counted up as one")
        return super().count_up_to(limit)


class PerReplicaVariable(ReplicatedVariable):
    """A variable that replicas change alone, and that is brought together when it is read above them.

    A checkpoint holds what reading it gives; what it restores of a SUM is the first copy's, and 0 the others'.

    Args:
      as ReplicatedVariable; `aggregation` says what reading gives: the SUM or MEAN of all copies, or the first.
    """

    def _write(self, op, value, name, read_value):
        if current_replica() is not None:
            return super(ReplicatedVariable, self)._write(op, value, name, read_value)
        if op != "assign_variable_op":
            raise ValueError(
                f"{self.name} is ON_READ: above replicas it may be assigned to, and no more"
            )
        value = convert(value, self._dtype, "value")
        made = self.on_each_copy(
            lambda copy: copy.assign(self.share_of(copy, value), read_value=False)
        )
        done = group(*made, name=name)
        if not read_value:
            return done
        with self.graph.control_dependencies([done]):
            return self.read_value()

    def share_of(self, copy, value):
        """What a copy gets of a value for all."""
        is_sum = self.aggregation == VariableAggregation.SUM
        return gen_ops.zeros_like(value) if is_sum and copy.replica_of[1] else value

    def change_slices(self, kind, indices, updates, use_locking, name):
        return self._current().change_slices(kind, indices, updates, use_locking, name)

    def value(self):
        if current_replica() is not None:
            return super().value()
        return self._together()

    def read_value(self):
        return self.value() if current_replica() is None else super().read_value()

    def _as_graph_element(self):
        return super()._as_graph_element() if current_replica() is not None else self._together()

    def _together(self):
        if self.aggregation not in (VariableAggregation.SUM, VariableAggregation.MEAN):
            return self.copies[0].value()
        total = gen_ops.add_n([copy.value() for copy in self.copies])
        if self.aggregation == VariableAggregation.SUM:
            return total
        return total / gen_ops.cast(len(self.copies), DstT=self._dtype)


def is_of_all_replicas(variable):
    """Whether a variable is one that replicas have together, with equal copies or a single one."""
    return isinstance(variable, ReplicatedVariable) and not isinstance(variable, PerReplicaVariable)


def whole_of(variable):
    """The variable of the program that a replica's copy is one of; any other as it is."""
    whole = getattr(variable, "replica_of", None)
    return variable if whole is None else whole[0]


_METHODS = {
    "assign_variable_op": "assign",
    "assign_add_variable_op": "assign_add",
    "assign_sub_variable_op": "assign_sub",
}


def aggregated(strategy, aggregation, value, destinations):
    """What an aggregation makes of the replicas' values, above the replicas.

    Args:
      strategy: the strategy, whose `extended` brings values together.
      aggregation: a VariableAggregation, but for NONE.
      value: what all replicas have of it.
      destinations: the variable that it is for.
    """
    if aggregation in (VariableAggregation.SUM, VariableAggregation.MEAN):
        return strategy.extended.reduce_to(ReduceOp.of(aggregation.name), value, destinations)
    return strategy.extended.of_first_replica(value)


@contextlib.contextmanager
def above_devices(graph):
    """Where neither device nor colocation scopes outside count."""
    with graph.colocate_with(None, ignore_existing=True), graph.device(None):
        yield


@contextlib.contextmanager
def beside(variable):
    """Where nodes go to the device of a variable, whatever the scopes outside."""
    graph = variable.graph
    with above_devices(graph), graph.device(variable.device or None):
        yield
