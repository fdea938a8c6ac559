"""What optimizers share whose workers train variables of their own, and meet at the ps now and then.

A worker's copies are made by a custom getter: `tf.get_variable` gives the worker's own variable, and makes one
more for all workers (the center), which only the optimizer knows of.
"""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import group, no_op
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies, device
from millrace._state.named_variables import get_variable
from millrace._state.partitioned_variables import PartitionedVariable
from millrace._state.variable_creators import variable_creator_scope
from millrace._supervised.hook import SessionRunHook
from millrace._supervised.wrapped_optimizer import WrappedOptimizer

CENTER = "global_center_variable"


class WorkerCopies:
    """A custom getter: trainable variables become the worker's own; of each there is one center on the ps.

    It is given to tf.variable_scope(custom_getter=) inside a device scope that puts variables on ps, as
    tf.train.replica_device_setter makes one. Variables that are not trained are made as without it.

    Args:
      worker_device: the device of this worker's variables, such as "/job:worker/task:0".

    Attributes:
      worker_device: as given.
    """

    # The name before that of one more variable beside each of the worker's own; None for none.
    beside_name = None

    def __init__(self, worker_device):
        self.worker_device = worker_device
        self._centers = {}  # by the worker's variable
        self._beside = {}

    def __call__(self, getter, name, trainable=True, collections=None, **arguments):
        if not trainable:
            return self._untrained(getter, name, collections, arguments)
        own = self._local(getter, name, True, arguments)
        if arguments.get("reuse") is True or _parts(own)[0] in self._centers:
            return own
        for part, center in zip(_parts(own), _parts(self._center(getter, name, own, arguments))):
            self._centers[part] = center
        if self.beside_name is not None:
            beside = self._local(getter, f"{self.beside_name}/{name}", False, arguments)
            for part, other in zip(_parts(own), _parts(beside)):
                self._beside[part] = other
        return own

    def _untrained(self, getter, name, collections, arguments):
        is_local = GraphKeys.LOCAL_VARIABLES in (collections or ())
        with device(self.worker_device if is_local else None):
            return getter(name, trainable=False, collections=collections, **arguments)

    def _local(self, getter, name, trainable, arguments):
        with device(self.worker_device):
            return getter(
                name,
                trainable=trainable,
                collections=[GraphKeys.LOCAL_VARIABLES],
                **arguments,
            )

    def _center(self, getter, name, own, arguments):
        """The variable of all workers that stands for the worker's own one."""
        return getter(
            f"{CENTER}/{name}",
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
            **arguments,
        )

    def variables(self):
        """The worker's own variables (of a partitioned one its parts), in the order they were made."""
        return list(self._centers)

    def center(self, variable):
        """The center of one of the worker's own variables.

        Raises:
          ValueError: if the variable was not made by this getter.
        """
        if variable not in self._centers:
            raise ValueError(
                f"Variable '{variable.name}' has no center: make it with tf.get_variable in a "
                f"variable_scope whose custom_getter is this {type(self).__name__}"
            )
        return self._centers[variable]

    def center_now(self, variable):
        """A Tensor: what the center is, after the Operations of control dependencies.

        It is read where it is: a reference that goes to another task is read when it leaves, whatever that
        task still waits for.
        """
        center = self.center(variable)
        with colocate_with(center):
            return center.read_value()

    def beside(self, variable):
        """The one more variable beside it, of getters that make one."""
        self.center(variable)
        return self._beside[variable]


def _parts(variable):
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


class PeriodicOptimizer(WrappedOptimizer):
    """Trains the worker's own variables by another optimizer, and meets the others every `period` steps.

    A class that derives from it says in apply_gradients what meeting is. What the wrapped optimizer keeps of
    the worker's variables is the worker's as well.

    Args:
      opt: the Optimizer.
      copies: the WorkerCopies that made the variables.
      period: how many steps of this worker there are from one meeting to the next; at least 1.
      use_locking, name: as for Optimizer.

    Raises:
      ValueError: if the period is below 1.
    """

    def __init__(self, opt, copies, period, use_locking, name):
        super().__init__(opt, use_locking, name)
        if isinstance(period, int) and period < 1:
            raise ValueError(f"{name}: workers meet every {period} steps; it must be at least 1")
        self._copies = copies
        self._period = period
        with device(copies.worker_device):
            self._local_step = get_variable(
                "local_step",
                initializer=0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
            )

    def _trained(self, pairs):
        """An Operation: the worker's own variables have changed by these gradients."""
        # Slots and the like are not in the checkpoint, and each worker initializes its own.
        with variable_creator_scope(_made_local):
            return self._opt.apply_gradients(pairs)

    def _met_every_period(self, trained, meet):
        """An Operation: after `trained` the step is counted, and `meet()` has run if it is one to meet at."""
        with control_dependencies([trained]), device(self._copies.worker_device):
            count = self._local_step.assign_add(1, name="local_step_update")
            period = convert(self._period, self._local_step.dtype.base_dtype)
            is_time = gen_ops.equal(gen_ops.floor_mod(count, period), 0)
        return group(cond(is_time, meet, no_op))

    def _pull(self, variables):
        """Operations: the worker's own variables become what their centers are now."""
        pulled = []
        for variable in variables:
            value = self._copies.center_now(variable)
            pulled.append(variable.assign(value, use_locking=self._use_locking).op)
        return pulled

    def _own_variables(self):
        """The worker's own variables.

        Raises:
          ValueError: if the getter has made none.
        """
        variables = self._copies.variables()
        if not variables:
            raise ValueError(
                f"{self._name}: no variable was made by its {type(self._copies).__name__}; make the model "
                "in a variable_scope with it as custom_getter, before this"
            )
        return variables


def _made_local(next_creator, collections=None, **arguments):
    if not collections:
        collections = [GraphKeys.LOCAL_VARIABLES]
    elif GraphKeys.GLOBAL_VARIABLES in collections:
        others = [key for key in collections if key != GraphKeys.GLOBAL_VARIABLES]
        collections = [*others, GraphKeys.LOCAL_VARIABLES]
    return next_creator(collections=collections, **arguments)


class BeginsHook(SessionRunHook):
    """Runs an Operation when a session is there: the worker's own variables begin as their centers are.

    Args:
      make: a function that gives the Operation; it is called when the hook begins, while nodes can be made.
    """

    def __init__(self, make):
        self._make = make

    def begin(self):
        self._first = self._make()

    def after_create_session(self, session, coord):
        session.run(self._first)
