"""StrategyExtended: what a strategy is made of: devices, variables, and what adds up."""

import contextlib

from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with
from millrace._graph.graph import get_default_graph
from millrace._state.replica_contexts import ReduceOp, current_replica, current_strategy
from millrace._state.replicated_variables import (
    ReplicatedVariable,
    above_devices,
    beside,
    whole_of,
)
from millrace._supervised.distribution import inputs
from millrace._supervised.distribution.cross_device import ReductionToOneDevice, divided
from millrace._supervised.distribution.per_replica import PerReplica, part_of, regrouped
from millrace._supervised.distribution.replica_runs import run_each


class StrategyExtended:
    """What a strategy is made of, and what libraries ask of it.

    Args:
      worker_devices: the devices of this task's replicas, one each.
      places: what makes variables (places.py).
      cross_device_ops: a CrossDeviceOps for the replicas of this task.
      replica_group: a ReplicaGroup of all tasks whose replicas work in step; None for this one alone.
      worker: this task's number among all that have replicas.
      num_workers: how many tasks have replicas.

    Attributes:
      The arguments but for places; first_replica: the number of this task's first replica among those that
        work in step.
      experimental_between_graph: whether each task builds a graph of its own.
      experimental_should_init: whether this task initializes variables; should_checkpoint,
        should_save_summary: whether it saves them, and writes summaries.
    """

    def __init__(
        self,
        worker_devices,
        places,
        cross_device_ops=None,
        replica_group=None,
        worker=0,
        num_workers=1,
    ):
        self.worker_devices = tuple(worker_devices)
        self.cross_device_ops = cross_device_ops or ReductionToOneDevice()
        self.replica_group = replica_group
        self.worker, self.num_workers = worker, num_workers
        self._places = places
        self.first_replica = 0 if replica_group is None else worker * len(self.worker_devices)
        self.experimental_between_graph = num_workers > 1
        is_chief = worker == 0
        self.experimental_should_init = is_chief or replica_group is not None
        self.should_checkpoint = self.should_save_summary = is_chief

    @property
    def parameter_devices(self):
        """The devices that variables live on, a tuple."""
        return self._places.devices

    @property
    def num_replicas_in_sync(self):
        tasks = 1 if self.replica_group is None else self.replica_group.size
        return tasks * len(self.worker_devices)

    @property
    def experimental_require_static_shapes(self):
        """Whether all shapes must be known: no."""
        return False

    def make_variable(self, next_creator, **kwargs):
        """What makes variables in the strategy's scope; for tf.variable_creator_scope."""
        return self._places.make(next_creator, kwargs)

    def begun_apart(self):
        """A `with` block for who makes the variables of tasks in step equal at the start of each session.

        In it they are initialized without waiting for the other tasks, of which some may have nothing to initialize:
        they were restored, or kept their values.
        """
        return (
            contextlib.nullcontext() if self.replica_group is None else self._places.begun_apart()
        )

    def variable_created_in_scope(self, v):
        """Whether a variable was made in this strategy's scope, and so is one of its kind."""
        return v in v.graph.own(_Made).by_strategy.get(self, ())

    def note_variable(self, variable):
        """Told of the variables that are made in the strategy's scope; gives them back."""
        variable.graph.own(_Made).by_strategy.setdefault(self, set()).add(variable)
        return variable

    def colocate_vars_with(self, colocate_with_variable):
        """A `with` block in which new variables go where a variable of this strategy is."""
        return colocate_with(colocate_with_variable)

    # ---- Above the replicas ----------------------------------------------------------------------

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        """What a function gives, called for each replica of this task; PerReplicas where it differs."""
        return regrouped(run_each(self._strategy(), fn, tuple(args), dict(kwargs or {})))

    def reduce_to(self, reduce_op, value, destinations):
        """The sum or mean of what all replicas of all tasks have.

        Args:
          reduce_op: a ReduceOp, or its name.
          value: a PerReplica; or one value that each replica of this task has.
          destinations: the variable or device that it is for; None for anywhere.

        Returns:
          a Tensor; of one task's IndexedSlices an IndexedSlices.
        """
        reduce_op = ReduceOp.of(reduce_op)
        value = PerReplica(self.of_each_replica(value))
        with _undivided():
            if self.replica_group is None:
                return self.cross_device_ops.reduce(reduce_op, value, destinations)
            total = convert(self.cross_device_ops.reduce(ReduceOp.SUM, value, destinations))
            total = self.replica_group.all_reduce(total)
            return divided(total, reduce_op, self.num_replicas_in_sync)

    def batch_reduce_to(self, reduce_op, value_destination_pairs):
        """[reduce_to(reduce_op, value, destination)] of pairs, together where that is quicker."""
        pairs = [(value, destination) for value, destination in value_destination_pairs]
        reduce_op = ReduceOp.of(reduce_op)
        if self.replica_group is None:
            return [self.reduce_to(reduce_op, *pair) for pair in pairs]
        with _undivided():
            sums = self.cross_device_ops.batch_reduce(ReduceOp.SUM, pairs)
            destinations = [destination for _, destination in pairs]
            totals = self.replica_group.all_reduce_gradients(sums, destinations)
            return [divided(each, reduce_op, self.num_replicas_in_sync) for each in totals]

    def of_each_replica(self, value):
        """What each replica of this task has of a value: a tuple with a place for each."""
        if isinstance(value, PerReplica):
            return value.values
        count = len(self.worker_devices)
        copies = getattr(value, "copies", ())
        return copies if len(copies) == count else (value,) * count

    def broadcast_to(self, tensor, destinations):
        """A Tensor, as all replicas may read it."""
        return self.cross_device_ops.broadcast(tensor, destinations)

    def of_first_replica(self, value):
        """What the first replica of all tasks has of a value."""
        own = convert(part_of(0, value))
        if self.replica_group is None:
            return own
        return self.replica_group.from_chief(
            lambda: own, own.shape, own.dtype.base_dtype, self.worker == 0
        )

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """Runs a function beside each copy of a variable.

        Args:
          var: the variable.
          fn: called with each copy and its parts of the arguments; gives Operations or Tensors.
          args, kwargs: more arguments.
          group: True for one Operation that stands for all; False for the list of what fn gave.

        Raises:
          RuntimeError: in a replica.
        """
        self.require_above_replicas("update")
        kwargs = dict(kwargs or {})
        made = []
        for number, copy in enumerate(getattr(var, "copies", (var,))):
            where = beside(copy) if isinstance(var, ReplicatedVariable) else colocate_with(copy)
            with where:
                made.append(fn(copy, *part_of(number, tuple(args)), **part_of(number, kwargs)))
        return self._grouped(made) if group else made

    def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
        """Runs a function beside what belongs to no variable alone.

        Args:
          colocate_with: what non_slot_devices gave.
          others: as update, whose function gets no variable.
        """
        self.require_above_replicas("update_non_slot")
        with get_default_graph().colocate_with(colocate_with):
            made = fn(*args, **dict(kwargs or {}))
        return self._grouped([made]) if group else [made]

    def non_slot_devices(self, var_list):
        """Where optimizers keep what belongs to no variable alone: beside the first of these."""
        return min(var_list, key=lambda variable: variable.name)

    def value_container(self, value):
        """The variable that a replica's copy is one of; anything else as it is."""
        return whole_of(value)

    def read_var(self, v):
        """The value of a variable, as replicas together have it."""
        return convert(v)

    def experimental_make_numpy_dataset(self, numpy_input, session=None):
        """A Dataset of the rows of a structure of NumPy arrays."""
        return inputs.dataset_of_arrays(numpy_input)

    def experimental_run_steps_on_iterator(
        self, fn, iterator, iterations=1, initial_loop_values=None
    ):
        raise NotImplementedError(
            "experimental_run_steps_on_iterator is for TPUs: run a step of the iterator's get_next() "
            "as often as is wanted"
        )

    def require_above_replicas(self, name):
        """RuntimeError in a replica, for what `name` does above all of them."""
        if current_replica() is not None:
            raise RuntimeError(f"{name} is called above all replicas: in a merge_call, say")

    @property
    def dataset_device(self):
        """The device of this task that takes its input apart."""
        return self.worker_devices[0]

    @staticmethod
    def _grouped(made):
        return group(*[each for each in made if each is not None])

    def _strategy(self):
        strategy = current_strategy()
        if strategy is None or strategy.extended is not self:
            raise RuntimeError("call_for_each_replica is called in the scope of its strategy")
        self.require_above_replicas("call_for_each_replica")
        return strategy


class _Made:
    """The variables of a graph that strategies made."""

    def __init__(self):
        self.by_strategy = {}


@contextlib.contextmanager
def _undivided():
    """Where sums go beside what they are of, whatever replica's device is around."""
    with above_devices(get_default_graph()):
        yield
