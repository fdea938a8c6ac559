"""Strategy: replicas of a model, their variables, and what they make together."""

import contextlib

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_sum
from millrace._state.replica_contexts import ReduceOp, current_strategy, entered
from millrace._state.variable_creators import variable_creator_scope
from millrace._supervised.distribution import inputs
from millrace._supervised.distribution.per_replica import PerReplica, local_values
from millrace._supervised.distribution.replica_runs import run_each


class Strategy:
    """Replicas of a model, which one program builds and runs.

    Args:
      extended: the StrategyExtended that it is made of.
      idle_because: why this task has no replicas; None if it has.

    Attributes:
      extended: that.
      scales_losses: whether optimizers take a replica's loss for a mean (see loss_scaling).
    """

    def __init__(self, extended, idle_because=None):
        self.extended = extended
        self._idle_because = idle_because
        self.scales_losses = False

    @property
    def num_replicas_in_sync(self):
        """How many replicas, of all tasks, add up their gradients in a step."""
        return self.extended.num_replicas_in_sync

    @contextlib.contextmanager
    def scope(self):
        """A `with` block of the default graph whose variables are this strategy's.

        Raises:
          RuntimeError: in the scope of another strategy, or in a task that has no replicas.
        """
        if self._idle_because:
            raise RuntimeError(self._idle_because)
        current = current_strategy()
        if current is self:
            yield self
            return
        if current is not None:
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: {current!r} is not {self!r}"
            )

        def creator(next_creator, **kwargs):
            return self.extended.note_variable(self.extended.make_variable(next_creator, **kwargs))

        with entered(self), variable_creator_scope(creator):
            yield self

    @contextlib.contextmanager
    def loss_scaling(self):
        """A `with` block in which optimizers divide losses by the number of replicas, unless they are sums."""
        before, self.scales_losses = self.scales_losses, True
        try:
            yield
        finally:
            self.scales_losses = before

    def run(self, fn, args=(), kwargs=None):
        """What a function gives, called for each replica of this task.

        Args:
          fn: builds the nodes of one replica; tf.distribute.get_replica_context() tells which.
          args, kwargs: its arguments; it gets its own part of a PerReplica.

        Returns:
          what it gave, with a PerReplica for each part in which replicas differ.

        Raises:
          RuntimeError: in a replica, or if replicas do not do the same.
        """
        with self.scope():
            return self.extended.call_for_each_replica(fn, args, kwargs)

    experimental_run_v2 = run

    def run_each(self, fn, args=(), kwargs=None):
        """As run, but a list of what each replica of this task gave."""
        with self.scope():
            self.extended.require_above_replicas("run_each")
            return run_each(self, fn, tuple(args), dict(kwargs or {}))

    def experimental_run(self, fn, input_iterator=None):
        """As run, with the next element of an iterator as the only argument, if there is one."""
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.run(fn, args)

    def reduce(self, reduce_op, value, axis=None):
        """One Tensor of what all replicas of all tasks have.

        Args:
          reduce_op: a ReduceOp, or its name.
          value: a PerReplica, or one value that all replicas have.
          axis: an axis along which to reduce each value first; a mean is then over all of their elements.
        """
        reduce_op = ReduceOp.of(reduce_op)
        with self.scope():
            self.extended.require_above_replicas("reduce")
            if axis is None:
                return self.extended.reduce_to(reduce_op, value, None)
            values = [convert(one) for one in self.extended.of_each_replica(value)]
            total = self.extended.reduce_to(
                ReduceOp.SUM, PerReplica([reduce_sum(one, axis) for one in values]), None
            )
            if reduce_op == ReduceOp.SUM:
                return total
            sizes = PerReplica([gen_ops.shape(one)[axis] for one in values])
            return total / cast(self.extended.reduce_to(ReduceOp.SUM, sizes, None), total.dtype)

    def experimental_local_results(self, value):
        """A tuple of what each replica of this task has of a value; of what they share, a tuple of that."""
        return local_values(value, len(self.extended.worker_devices))

    unwrap = experimental_local_results

    def group(self, value, name=None):
        """An Operation that stands for a value in all replicas of this task."""
        return group(*self.experimental_local_results(value), name=name)

    # ---- Input -----------------------------------------------------------------------------------

    def experimental_distribute_dataset(self, dataset):
        """A DistributedDataset that gives each replica its part of each batch."""
        return inputs.DistributedDataset(self, [dataset], is_split=True)

    def experimental_distribute_datasets_from_function(self, dataset_fn):
        """A DistributedDataset of what a function of an InputContext gives; replicas take turns."""
        return inputs.DistributedDataset(self, [dataset_fn(self.input_context())], is_split=False)

    def make_dataset_iterator(self, dataset):
        """An iterator whose get_next() gives each replica its part of the next batch.

        Args:
          dataset: a Dataset of batches for all replicas of all tasks. All tasks must read the same ones, in
            one order.
        """
        return self.experimental_distribute_dataset(dataset).make_initializable_iterator()

    def make_input_fn_iterator(
        self, input_fn, replication_mode=inputs.InputReplicationMode.PER_WORKER
    ):
        """An iterator whose get_next() gives each replica an element of its own.

        Args:
          input_fn: called with an InputContext; gives a Dataset of this task's batches, one for a replica, or a
            function without arguments that gives the next one.
          replication_mode: InputReplicationMode.PER_WORKER.

        Raises:
          ValueError: for another replication_mode.
        """
        if replication_mode != inputs.InputReplicationMode.PER_WORKER:
            raise ValueError(
                f"Input replication mode not supported: {replication_mode}: there is PER_WORKER"
            )
        with self.scope():
            made = input_fn(self.input_context())
            if callable(made) and not hasattr(made, "make_initializable_iterator"):
                return inputs.CalledForEach(self, made)
            return inputs.DistributedDataset(self, [made], False).make_initializable_iterator()

    def input_context(self):
        """The InputContext of this task."""
        extended = self.extended
        return inputs.InputContext(extended.num_workers, extended.worker, self.num_replicas_in_sync)

    def experimental_make_numpy_dataset(self, numpy_input, session=None):
        """A Dataset of the rows of a structure of NumPy arrays."""
        return self.extended.experimental_make_numpy_dataset(numpy_input, session)

    def update_config_proto(self, config_proto):
        """A ConfigProto for sessions of this strategy."""
        return config_proto

    def configure(self, session_config=None, cluster_spec=None, task_type=None, task_id=None):
        """A strategy knows its cluster from its resolver, when it is made.

        Raises:
          RuntimeError: if another cluster is named.
        """
        if cluster_spec:
            raise RuntimeError(
                f"{type(self).__name__}.configure: the cluster is what its cluster_resolver said"
            )
