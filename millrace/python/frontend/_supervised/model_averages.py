"""ModelAverageOptimizer: workers train copies of their own, and all go on from the mean of them now and then."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies, device
from millrace._state.accumulators import ConditionalAccumulator
from millrace._state.queues import FIFOQueue
from millrace._state.variables import Variable
from millrace._supervised.worker_copies import CENTER, BeginsHook, PeriodicOptimizer, WorkerCopies
from millrace._values import dtypes


class ModelAverageCustomGetter(WorkerCopies):
    """The custom getter of ModelAverageOptimizer; a center begins as the chief's variable does.

    Args: as for WorkerCopies.
    """

    def _center(self, getter, name, own, arguments):
        if arguments.get("partitioner") is not None:
            raise ValueError(
                f"Variable '{name}': ModelAverageCustomGetter makes no variables in parts; make it without "
                "partitioner"
            )
        return Variable(
            own.initialized_value(),
            name=f"{CENTER}/{name}",
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )


class ModelAverageOptimizer(PeriodicOptimizer):
    """Trains each worker's copies; every interval_steps all workers wait for each other and take the mean.

    Every worker builds the same graph, with the getter as ElasticAverageOptimizer's is used, and adds
    make_session_run_hook() to its session. All workers have to make as many steps: who meets the others
    waits until all are there, however long that is, or until its session or step ends.

    Args:
      opt: the Optimizer of each worker.
      num_worker: how many workers there are.
      is_chief: True on the one worker that changes the centers and counts the meetings.
      ma_custom_getter: the ModelAverageCustomGetter that has made the variables.
      interval_steps: how many of its own steps a worker makes from one meeting to the next.
      use_locking: as for Optimizer.
      name: a name for the nodes.

    Raises:
      ValueError: if interval_steps is below 1.
    """

    def __init__(
        self,
        opt,
        num_worker,
        is_chief,
        ma_custom_getter,
        interval_steps=100,
        use_locking=True,
        name="ModelAverageOptimizer",
    ):
        super().__init__(opt, ma_custom_getter, interval_steps, use_locking, name)
        self._num_worker = num_worker
        self._is_chief = is_chief
        self._chief_first = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation: the worker's variables change, and every interval_steps become the mean of all workers'.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: the Variable that counts the meetings.
          name: a name for the nodes.

        Raises:
          ValueError: without global_step, or without a variable.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError(
                "Global step is required: by it copies of an older meeting are dropped"
            )
        variables = [variable for gradient, variable in pairs if gradient is not None]
        sums = [self._accumulator(each) for each in variables]
        trained = self._met_every_period(
            self._trained(pairs), lambda: self._meet(variables, sums, global_step)
        )
        begun = []
        for each, total in zip(variables, sums):
            with device(self._copies.center(each).device or None):
                begun.append(total.set_global_step(global_step, name="SetGlobalStep"))
        self._chief_first = group(*begun)
        return trained

    def _accumulator(self, variable):
        center = self._copies.center(variable)
        with device(center.device or None):
            return ConditionalAccumulator(
                variable.dtype.base_dtype,
                variable.shape,
                shared_name=f"{center.name}/var_accum",
            )

    def _meet(self, variables, sums, global_step):
        step, given = global_step.read_value(), []
        for variable, total in zip(variables, sums):
            with device(self._copies.center(variable).device or None):
                given.append(total.apply_grad(variable.read_value(), local_step=step))
        with device(global_step.device or None):
            self._new, self._taken, self._free = (
                FIFOQueue(-1, dtypes.bool, shapes=[[]], shared_name=f"{self._name}_{what}")
                for what in ("sync_queue", "taken_queue", "free_queue")
            )
        if self._is_chief:
            return self._lead(variables, sums, given, global_step)
        with control_dependencies(given):
            changed = self._new.dequeue().op
        with control_dependencies([changed]):
            pulled = self._pull(variables)
        # Without the second wait a quick worker, next time, could take the word that was meant for another.
        with control_dependencies(pulled):
            told = self._taken.enqueue(convert(True))
        with control_dependencies([told]):
            return self._free.dequeue().op

    def _lead(self, variables, sums, given, global_step):
        """The chief's part of a meeting: an Operation."""
        changed, others = [], self._num_worker - 1
        with control_dependencies(given):
            for variable, total in zip(variables, sums):
                center = self._copies.center(variable)
                with device(center.device or None):
                    mean = total.take_grad(self._num_worker)
                    changed.append(center.assign(mean, use_locking=self._use_locking).op)
        with control_dependencies(changed), colocate_with(global_step):
            counted = global_step.assign_add(1, use_locking=self._use_locking).op
        with control_dependencies([counted]):
            words = gen_ops.fill([others], convert(True))
            told = self._new.enqueue_many((words,))
            pulled = self._pull(variables)
        with control_dependencies([told, *pulled]):
            taken = self._taken.dequeue_many(others)
        with control_dependencies([taken.op]):
            return self._free.enqueue_many((words,))

    def get_init_op(self):
        """An Operation: the worker's variables begin as the centers are; the hook runs it.

        Raises:
          ValueError: if the getter has made no variable.
        """
        return group(*self._pull(self._own_variables()))

    def make_session_run_hook(self):
        """The SessionRunHook that each worker's monitored session needs, after apply_gradients."""
        return BeginsHook(self._begin)

    def _begin(self):
        """An Operation.

        Raises:
          ValueError: before apply_gradients.
        """
        if self._chief_first is None:
            raise ValueError("ModelAverageOptimizer: a session begins before apply_gradients")
        # What was given in an earlier session is stale now.
        first = [self._chief_first] if self._is_chief else []
        return group(self.get_init_op(), *first)
