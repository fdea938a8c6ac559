"""SyncReplicasOptimizer: workers that train as one, with as many backup workers as one likes.

Each worker adds its gradients to accumulators beside the variables. Once `replicas_to_aggregate` of them
have come the chief takes their mean, changes the variables and the global step, and puts tokens with the
new step into a queue; each worker takes one before its next step. Gradients that began at an older step
are dropped, so that who is slow holds nobody up.
"""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group, no_op
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import colocate_with, control_dependencies, device, name_scope
from millrace._graph.operation import Tensor
from millrace._input.queue_runner import QueueRunner
from millrace._ops.gradients import IndexedSlices
from millrace._state.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from millrace._state.assignments import assign
from millrace._state.queues import FIFOQueue
from millrace._state.variable_groups import global_variables, report_uninitialized_variables
from millrace._state.variables import Variable
from millrace._supervised.hook import SessionRunHook
from millrace._supervised.session_manager import what_is_missing
from millrace._supervised.wrapped_optimizer import WrappedOptimizer


class SyncReplicasOptimizer(WrappedOptimizer):
    """Makes an optimizer change variables once per step of all workers.

    Args:
      opt: the Optimizer.
      replicas_to_aggregate: how many gradients make a step.
      total_num_replicas: how many workers there are; replicas_to_aggregate if None. More of them are
        backups: the slowest ones' gradients are dropped.
      variable_averages: an ExponentialMovingAverage, of
      variables_to_average: these variables.
      use_locking: accepted.
      name: a name for the nodes.
      replica_id: accepted, as programs from before TensorFlow 1.0 give it.

    Attributes, after apply_gradients:
      chief_init_op, local_step_init_op: what the chief, and another worker, runs first.
      ready_for_local_init_op: what must have values before.
    """

    def __init__(
        self,
        opt,
        replicas_to_aggregate,
        total_num_replicas=None,
        variable_averages=None,
        variables_to_average=None,
        use_locking=False,
        name="sync_replicas",
        replica_id=None,
    ):
        super().__init__(opt, use_locking, name)
        self._wanted = replicas_to_aggregate
        self._total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._averages = variable_averages
        self._averaged = variables_to_average
        self._chief_queue_runner = None  # until apply_gradients

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """A Tensor for each worker to run: gives its gradients away and waits for the next step.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: the Variable that counts steps of all workers.
          name: a name for the nodes.

        Raises:
          ValueError: without variables or global_step, or for a gradient that is neither Tensor nor
            IndexedSlices.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        # On the worker itself, whatever places variables.
        with colocate_with(no_op()):
            self._local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(name, self._name):
            given, taken, accumulators = self._exchanged(pairs)
            with self._beside_the_step():
                update = self._opt.apply_gradients(taken, global_step)
                self._token_queue = FIFOQueue(
                    -1,
                    global_step.dtype.base_dtype,
                    shapes=[[]],
                    shared_name="sync_token_q",
                    name="sync_token_q",
                )
                with control_dependencies(given):
                    token = self._token_queue.dequeue()
                trained = assign(self._local_step, token)
                with control_dependencies([update]):
                    done = self._put_tokens(max(self._total, self._wanted))
                if self._averages is not None:
                    with control_dependencies([done]):
                        done = self._averages.apply(self._averaged)
            self._chief_queue_runner = QueueRunner(self._token_queue, [done])
            first = [self.local_step_init_op]
            for accumulator, place in accumulators:
                with device(place):
                    first.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*first)
        return trained

    def _exchanged(self, pairs):
        """(Operations that give gradients, (mean, variable) pairs, (accumulator, device) pairs)."""
        given, taken, accumulators = [], [], []
        for gradient, variable in pairs:
            if gradient is None:
                taken.append((None, variable))
                continue
            shared = f"{variable.name}/grad_accum"
            with device(variable.device or None):
                if isinstance(gradient, Tensor):
                    accumulator = ConditionalAccumulator(
                        gradient.dtype, variable.shape, shared_name=shared
                    )
                    given.append(accumulator.apply_grad(gradient, self._local_step))
                    mean = accumulator.take_grad(self._wanted)
                elif isinstance(gradient, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(
                        gradient.dtype, variable.shape, shared_name=shared
                    )
                    given.append(accumulator.apply_indexed_slices_grad(gradient, self._local_step))
                    mean = accumulator.take_indexed_slices_grad(self._wanted)
                else:
                    raise ValueError(f"Unknown grad type! {type(gradient).__name__}")
            taken.append((mean, variable))
            accumulators.append((accumulator, variable.device or None))
        return given, taken, accumulators

    def _beside_the_step(self):
        return _Beside(self._global_step)

    def _put_tokens(self, count):
        # Read here: what the variable read when it was made may be the step before.
        tokens = gen_ops.fill([count], self._global_step.read_value())
        return self._token_queue.enqueue_many((tokens,))

    def get_chief_queue_runner(self):
        """The QueueRunner that takes gradients and changes variables; the chief alone starts it.

        Raises:
          ValueError: before apply_gradients.
        """
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens=-1):
        """An Operation that puts the first tokens into the queue; the chief runs it once.

        Args:
          num_tokens: how many; replicas_to_aggregate if -1.

        Raises:
          ValueError: before apply_gradients, or if the first step would wait for ever.
        """
        if self._chief_queue_runner is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._wanted - self._total
        if num_tokens == -1:
            num_tokens = self._wanted
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with self._beside_the_step():
            return self._put_tokens(num_tokens)

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        """The hook that a MonitoredSession of each worker needs.

        Args:
          is_chief: True for the chief.
          num_tokens: as for get_init_tokens_op.
        """
        return SyncReplicasHook(self, is_chief, num_tokens)


class _Beside:
    """Nodes go to the device of the global step, and have names of their own at the root."""

    def __init__(self, global_step):
        graph = global_step.graph
        self._scopes = [graph.device(global_step.device or None), graph.name_scope("")]

    def __enter__(self):
        for scope in self._scopes:
            scope.__enter__()

    def __exit__(self, *error):
        for scope in reversed(self._scopes):
            scope.__exit__(*error)


class SyncReplicasHook(SessionRunHook):
    """Begins the steps of a SyncReplicasOptimizer, in each new session."""

    def __init__(self, optimizer, is_chief, num_tokens):
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self):
        optimizer = self._optimizer
        runner = optimizer.get_chief_queue_runner()  # ValueError before apply_gradients
        self._first, self._runner, self._tokens = optimizer.local_step_init_op, None, None
        if self._is_chief:
            self._first, self._runner = optimizer.chief_init_op, runner
            self._tokens = optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session, coord):
        missing = what_is_missing(self._optimizer.ready_for_local_init_op, session)
        if missing is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init "
                f"op: {self._first.name}, error: {missing}"
            )
        session.run(self._first)
        if self._tokens is not None:
            session.run(self._tokens)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)
