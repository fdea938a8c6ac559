"""AGNOptimizer: workers train copies of their own, and bring the mean of their gradients to the centers
(arXiv 1710.02368)."""

from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies, device
from millrace._ops.arrays import zeros_like
from millrace._supervised.worker_copies import BeginsHook, PeriodicOptimizer, WorkerCopies


class AGNCustomGetter(WorkerCopies):
    """The custom getter of AGNOptimizer; beside each of the worker's variables it keeps a sum of gradients, as
    "grad_variable/<name>" on the worker.

    Args: as for WorkerCopies.
    """

    beside_name = "grad_variable"


class AGNOptimizer(PeriodicOptimizer):
    """Trains each worker's copies; every so many steps the centers are trained by the mean of the gradients
    since then, and the worker goes on from the centers.

    Both are trained by `optimizer`, which keeps slots of both. Every worker builds the same graph, with the
    getter as ElasticAverageOptimizer's is used, and adds make_session_run_hook to its session.

    Args:
      optimizer: the Optimizer.
      num_worker: how many workers there are; each goes its own way, however many.
      custom_getter: the AGNCustomGetter that has made the variables.
      communication_period: how many of its own steps a worker makes from one meeting to the next.
      use_locking: as for Optimizer.
      name: a name for the nodes.

    Raises:
      ValueError: if communication_period is below 1.
    """

    def __init__(
        self,
        optimizer,
        num_worker,
        custom_getter,
        communication_period=10,
        use_locking=True,
        name="AGNOptimizer",
    ):
        super().__init__(optimizer, custom_getter, communication_period, use_locking, name)
        self._num_worker = num_worker

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation: the worker's variables change, and every communication_period steps the centers do.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: a Variable that counts how often a worker has met the centers.
          name: a name for the nodes.
        """
        pairs = list(grads_and_vars)
        summed = []
        for gradient, variable in pairs:
            if gradient is not None:
                total = self._copies.beside(variable)
                summed.append(total.assign_add(convert(gradient), use_locking=self._use_locking).op)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        return self._met_every_period(
            group(self._trained(pairs), *summed), lambda: self._meet(variables, global_step)
        )

    def _meet(self, variables, global_step):
        means = [self._copies.beside(each).read_value() / self._period for each in variables]
        centers = [self._copies.center(each) for each in variables]
        with control_dependencies(means):
            changed = self._opt.apply_gradients(list(zip(means, centers)))
        with control_dependencies([changed]):
            done = [*self._pull(variables), *self._forgotten(variables)]
            if global_step is not None:
                with colocate_with(global_step):
                    done.append(global_step.assign_add(1, use_locking=self._use_locking).op)
        return group(*done)

    def _forgotten(self, variables):
        """Operations: the sums of gradients are 0."""
        forgotten = []
        for variable in variables:
            total = self._copies.beside(variable)
            with device(total.device or None):
                forgotten.append(total.assign(zeros_like(total.read_value())).op)
        return forgotten

    def get_init_op(self, task_index):
        """An Operation: the worker's variables begin as the centers are; the hook runs it.

        Args:
          task_index: which of the workers this is; all begin alike.

        Raises:
          ValueError: if the getter has made no variable.
        """
        variables = self._own_variables()
        return group(*self._pull(variables), *self._forgotten(variables))

    def make_session_run_hook(self, is_chief, task_index):
        """The SessionRunHook that each worker's monitored session needs.

        Args:
          is_chief: True for the chief; all begin alike.
          task_index: which of the workers this is, from 0.
        """
        return BeginsHook(lambda: self.get_init_op(task_index))
