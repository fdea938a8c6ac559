"""ElasticAverageOptimizer: workers train copies of their own, tied to common ones as if by springs (arXiv 1412.6651)."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies, device
from millrace._ops.arithmetic import add_n
from millrace._saving.saver import Saver
from millrace._state.partitioned_variables import PartitionedVariable
from millrace._state.queues import FIFOQueue
from millrace._state.variable_groups import trainable_variables
from millrace._supervised.worker_copies import BeginsHook, PeriodicOptimizer, WorkerCopies
from millrace._train.optimizer import Optimizer
from millrace._values import dtypes, structure

_LOCAL_CENTER = "local_center_variable"


class ElasticAverageCustomGetter(WorkerCopies):
    """The custom getter of ElasticAverageOptimizer; beside each of the worker's variables it keeps what the
    center was when they last met, as "local_center_variable/<name>" on the worker.

    Args: as for WorkerCopies.
    """

    beside_name = _LOCAL_CENTER


class ElasticAverageOptimizer(PeriodicOptimizer):
    """Trains each worker's copies; every so many steps copies and centers move towards each other.

        getter = ElasticAverageCustomGetter(worker_device)
        with tf.device(tf.train.replica_device_setter(...)), tf.variable_scope("", custom_getter=getter):
            loss = ...  # with tf.get_variable
        optimizer = ElasticAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 2, getter)
        train = optimizer.minimize(loss, global_step=step)
        hooks = [optimizer.make_session_run_hook(is_chief, task_index)]

    When they meet, both move by moving_rate times what is between them. In the steps between, the loss has
    rho / 2 times the squared distance added, from where the center was when they last met.

    Args:
      opt: the Optimizer of each worker.
      num_worker: how many workers there are.
      ea_custom_getter: the getter that has made the variables.
      communication_period: how many of its own steps a worker makes from one meeting to the next.
      moving_rate: a number; 0.9 / communication_period / num_worker if None.
      rho: a number; moving_rate / the learning rate of `opt` if None.
      use_locking: as for Optimizer.
      synchronous: True if all workers wait for each other before they train.
      name: a name for the nodes.

    Raises:
      ValueError: if communication_period is below 1, or rho is None and `opt` tells no learning rate.
    """

    BETA = 0.9

    def __init__(
        self,
        opt,
        num_worker,
        ea_custom_getter,
        communication_period=10,
        moving_rate=None,
        rho=None,
        use_locking=True,
        synchronous=False,
        name="ElasticAverageOptimizer",
    ):
        super().__init__(opt, ea_custom_getter, communication_period, use_locking, name)
        self._num_worker = num_worker
        self._synchronous = synchronous
        if moving_rate is None:
            moving_rate = self.BETA / communication_period / num_worker
        self._moving_rate = moving_rate
        self._rho = moving_rate / _learning_rate(opt) if rho is None else rho

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """As the optimizer's own, of the loss with the distance from the centers.

        Raises:
          ValueError: if a variable was not made by the getter.
        """
        variables = structure.flatten(var_list) if var_list else trainable_variables()
        apart = [gen_ops.l2_loss(convert(each) - self._copies.beside(each)) for each in variables]
        loss = convert(loss() if callable(loss) else loss)
        return self._opt.compute_gradients(
            loss + self._rho * add_n(apart),
            variables,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation: the worker's variables change, and every communication_period steps the centers do.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: a Variable that counts how often a worker has met the centers.
          name: a name for the nodes.
        """
        pairs = list(grads_and_vars)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        return self._met_every_period(
            self._trained(pairs), lambda: self._meet(variables, global_step)
        )

    def _meet(self, variables, global_step):
        seen = [self._copies.center_now(each) for each in variables]
        moves = []
        for variable, center in zip(variables, seen):
            with device(variable.device or None):
                moves.append(self._moving_rate * (variable.read_value() - center))
        done = []
        for variable, center, move in zip(variables, seen, moves):
            lock = {"use_locking": self._use_locking}
            done.append(self._copies.beside(variable).assign(center, **lock).op)
            # A copy moves once the center does: both by the same.
            done.append(self._copies.center(variable).assign_add(move, **lock).op)
            done.append(variable.assign_sub(move, **lock).op)
        if global_step is not None:
            with colocate_with(global_step):
                done.append(global_step.assign_add(1, **lock).op)
        return group(*done)

    def get_init_op(self, task_index):
        """An Operation: the worker's variables begin as the centers are; the hook runs it.

        Args:
          task_index: which of the workers this is, from 0.

        Raises:
          ValueError: if the getter has made no variable.
        """
        variables = self._own_variables()
        begun = []
        for variable in variables:
            value = self._copies.center_now(variable)
            begun += [variable.assign(value).op, self._copies.beside(variable).assign(value).op]
        if not self._synchronous:
            return group(*begun)
        with device(self._copies.center(variables[0]).device or None):
            return self._all_here(begun, task_index)

    def _all_here(self, begun, task_index):
        """An Operation that ends when every worker has come so far."""
        queues = [
            FIFOQueue(
                self._num_worker,
                dtypes.bool,
                shapes=[[]],
                shared_name=f"variable_init_sync_queue{index}",
            )
            for index in range(self._num_worker)
        ]
        with control_dependencies(begun):
            told = [
                queue.enqueue(convert(False))
                for index, queue in enumerate(queues)
                if index != task_index
            ]
        heard = queues[task_index].dequeue_many(self._num_worker - 1)
        return group(*told, heard)

    def make_session_run_hook(self, is_chief, task_index):
        """The SessionRunHook that each worker's monitored session needs.

        Args:
          is_chief: True for the chief; all begin alike.
          task_index: which of the workers this is, from 0.
        """
        return BeginsHook(lambda: self.get_init_op(task_index))

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """A Saver that saves centers under the names of the worker's variables.

        A model for evaluation, made without the getter, loads them as its variables.

        Args:
          var_list: a list of Variables, or a dictionary of them by their names; all trainable ones if None.
          name: of the saver.
          **kwargs: as for tf.train.Saver.

        Raises:
          RuntimeError: if the getter has made no variable.
        """
        if not self._copies.variables():
            raise RuntimeError(
                "There is no center variable yet: call swapping_saver after the model was made, with "
                "ElasticAverageCustomGetter as custom_getter of its variables"
            )
        named = trainable_variables() if var_list is None else var_list
        if not isinstance(named, dict):
            named = _by_saved_name(named)
        swapped = {key: self._saved(each) for key, each in named.items()}
        return Saver(swapped, name=name, **kwargs)

    def _saved(self, variable):
        if isinstance(variable, (list, PartitionedVariable)):
            return [self._saved(part) for part in variable]
        has_center = variable in self._copies.variables()
        return self._copies.center(variable) if has_center else variable


def _by_saved_name(variables):
    """{name in the checkpoint: a Variable, or the parts of one}."""
    named = {}
    for variable in variables:
        if isinstance(variable, PartitionedVariable):
            named[variable.name] = list(variable)
            continue
        info = getattr(variable, "save_slice_info", None)
        if info is not None:
            named.setdefault(info.full_name, []).append(variable)
        else:
            named[variable.op.name] = variable
    return named


def _learning_rate(optimizer):
    """The rate of an Optimizer, by the names under which TensorFlow's and those of programs keep it."""
    for name in ("_learning_rate", "_lr"):
        rate = vars(optimizer).get(name)
        if rate is not None:
            return rate() if callable(rate) else rate
    raise ValueError(
        f"ElasticAverageOptimizer: {type(optimizer).__name__} tells no learning rate; give rho= "
        "(moving_rate / learning rate is usual)"
    )
