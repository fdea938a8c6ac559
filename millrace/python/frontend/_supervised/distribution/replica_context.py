"""ReplicaContext: what a replica's function finds around it."""

from millrace._flow.control_flow import no_op
from millrace._graph.conversion import constant
from millrace._graph.graph import get_default_graph
from millrace._state.custom_gradient import custom_gradient
from millrace._state.replica_contexts import ReduceOp
from millrace._values import dtypes
from millrace._values.structure import flatten, pack


class ReplicaContext:
    """One replica at work.

    Args:
      strategy: the strategy that runs it.
      local_replica: its number on this task.
      meet: called with (function, args, kwargs, barrier); gives this replica's part of what the function gives
        above all replicas.

    Attributes:
      strategy, local_replica: the arguments.
    """

    def __init__(self, strategy, local_replica, meet):
        self.strategy = strategy
        self.local_replica = local_replica
        self._meet = meet

    @property
    def num_replicas_in_sync(self):
        """How many replicas there are, in all tasks."""
        return self.strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self):
        """This replica's number among all: a scalar of int32."""
        number = self.strategy.extended.first_replica + self.local_replica
        return constant(number, dtypes.int32, name="replica_id")

    @property
    def devices(self):
        """A tuple with the one device that this replica computes on."""
        return (self.strategy.extended.worker_devices[self.local_replica],)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """What a function gives above all replicas, which all must come here.

        Args:
          merge_fn: called once, with the strategy and, for each argument, what all replicas passed.
          args, kwargs: this replica's arguments.

        Returns:
          what it gave; this replica's part of a PerReplica.

        Raises:
          RuntimeError: if another replica ended without coming here.
        """
        # What this replica's nodes wait for, the function's must wait for too.
        barrier = no_op() if get_default_graph().has_control_dependencies else None
        return self._meet(merge_fn, tuple(args), dict(kwargs or {}), barrier)

    def all_reduce(self, reduce_op, value):
        """The sum or mean of what all replicas have, in each of them; its gradient goes back to all.

        Args:
          reduce_op: a ReduceOp, or its name.
          value: a Tensor, or a structure of them, of one shape in all replicas.
        """
        reduce_op = ReduceOp.of(reduce_op)

        def reduced(strategy, *values):
            return [strategy.extended.reduce_to(reduce_op, each, None) for each in values]

        @custom_gradient
        def joined(*own):
            # What arrives in one replica is of its own loss alone: an input counts for all losses.
            return tuple(self.merge_call(reduced, own)), (
                lambda *arriving: tuple(self.merge_call(reduced, arriving))
            )

        made = joined(*flatten(value))
        return pack(value, made if isinstance(made, (list, tuple)) else [made])
