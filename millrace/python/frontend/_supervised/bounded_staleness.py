"""BoundedStalenessOptimizer: each worker trains on its own, but none runs far ahead of the slowest.

Beside the global step stands how many steps each worker has made. A worker changes the variables when it
has its gradients, as without this; then it counts its step, and waits while it is too far ahead. Whoever
is the slowest no longer tells those who may be waiting. What is counted stays with the ps: a worker that
dies and comes back goes on with its own count.
"""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies, device, name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops.arrays import identity
from millrace._ops.reductions import reduce_min
from millrace._state.accumulators import ConditionalAccumulator
from millrace._supervised.hook import SessionRunHook
from millrace._supervised.shared_numbers import SharedNumbers
from millrace._supervised.wrapped_optimizer import WrappedOptimizer
from millrace._values import dtypes

# A signal counts whatever the step is, and nobody waits for one who has left.
_ANY_STEP = 1 << 62
_LEFT = 1 << 62


class BoundedStalenessOptimizer(WrappedOptimizer):
    """Makes workers that train on their own wait for the slowest, when they are too far ahead.

        optimizer = tf.train.BoundedStalenessOptimizer(tf.train.AdamOptimizer(), 4, index, staleness=3)
        train = optimizer.minimize(loss, global_step)
        with tf.train.MonitoredTrainingSession(..., hooks=[optimizer.make_session_run_hook()]) as session:

    Every worker builds the same graph, with variables on ps. A step that computes its gradients after n own
    ones finds in the variables the first n - staleness of every other worker, at least. Workers that have
    not come yet count as those that have made no step; those that have ended without the hook, or died, as
    where they were, until they are back. A ps that begins anew knows of nobody: who had left before has to
    come again, or the others wait for it.

    Args:
      opt: the Optimizer.
      num_replicas: how many workers there are.
      replica: which of them this one is, from 0.
      staleness: how many steps more than the slowest a worker may have made; 0: none begins a step before
        all have ended the one before.
      name: a name for the nodes.

    Attributes, after apply_gradients:
      lead: an int64 Tensor: how many steps this worker has made more than the slowest.

    Raises:
      ValueError: if the numbers make no sense.
    """

    def __init__(self, opt, num_replicas, replica, staleness, name="bounded_staleness"):
        super().__init__(opt, False, name)
        if not 0 <= replica < num_replicas or staleness < 0:
            raise ValueError(
                f"replica {replica} of {num_replicas}, staleness {staleness}: replicas count from 0, and "
                "a staleness is a number of steps, 0 or more"
            )
        self._num_replicas = num_replicas
        self._replica = replica
        self._staleness = staleness
        self._numbers = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation: changes the variables, and ends when this worker may go on.

        Args:
          grads_and_vars: what compute_gradients gave.
          global_step: the Variable that counts the steps of all workers; the state is beside it.
          name: a name for the nodes.

        Raises:
          ValueError: without global_step.
        """
        if global_step is None:
            raise ValueError(
                "Global step is required: how far each worker has come stands beside it"
            )
        update = self._opt.apply_gradients(grads_and_vars, global_step)
        with name_scope(name, self._name):
            self._make_state(global_step)
            with device(global_step.device or None), colocate_with(self._numbers.handle):
                self.lead = self._own() - self._slowest()
                with control_dependencies([update]):
                    counted = self._move_to(self._own() + 1)
                self._enter = self._wait(self._move_to(self._place_to_begin()))
                self._leave = self._move_to(convert(_LEFT, dtypes.int64)).op
                return self._wait(counted)

    def make_session_run_hook(self):
        """A SessionRunHook for each worker's monitored session, after apply_gradients.

        A session begins where the worker was, or with the slowest if it had left, and waits until it may
        go on; at its good end the worker leaves, and nobody waits for it.

        Raises:
          ValueError: before apply_gradients.
        """
        if self._numbers is None:
            raise ValueError("make_session_run_hook is called after apply_gradients")
        return _TakesPartHook(self._enter, self._leave)

    def _make_state(self, global_step):
        with get_default_graph().device(global_step.device or None):
            self._numbers = SharedNumbers(f"{self._name}/steps")
            # One for each who may wait: who takes the signals takes all there are.
            self._signals = [
                ConditionalAccumulator(
                    dtypes.float32, [], shared_name=f"{self._name}/signals_{replica}"
                )
                for replica in range(self._num_replicas)
            ]

    def _own(self):
        return self._numbers.get(self._replica, 0)

    def _slowest(self):
        return reduce_min(self._numbers.get(list(range(self._num_replicas)), 0))

    def _place_to_begin(self):
        own, slowest, left = self._own(), self._slowest(), convert(_LEFT, dtypes.int64)
        # If all have left, they begin anew.
        return cond(
            gen_ops.less(own, left),
            lambda: identity(own),
            lambda: gen_ops.floor_mod(slowest, left),
        )

    def _move_to(self, place):
        """The place, once this worker is there, and those who waited for that are told."""
        before = self._slowest()
        with control_dependencies([before]):
            moved = self._numbers.set(self._replica, place)
        with control_dependencies([moved]):
            after = self._slowest()

        def tell():
            signals = [signal.apply_grad(1.0, _ANY_STEP) for signal in self._signals]
            with control_dependencies(signals):
                return identity(after)

        # Whoever moves last of the slowest sees it. All are told again if one has left.
        return cond(gen_ops.greater(after, before), tell, lambda: identity(after))

    def _wait(self, counted):
        """An Operation: this worker is not too far ahead."""

        def too_far(turn):
            with control_dependencies([turn]):
                lead = self._own() - self._slowest()
            return gen_ops.greater(lead, convert(self._staleness, dtypes.int64))

        def wait(turn):
            # A signal that was given before is one turn in vain.
            with control_dependencies([self._signals[self._replica].take_grad(1)]):
                return turn + 1

        with control_dependencies([counted]):
            begin = identity(convert(0))
        return while_loop(too_far, wait, [begin], parallel_iterations=1).op


class _TakesPartHook(SessionRunHook):
    """Enters with each session and leaves with the last one."""

    def __init__(self, enter, leave):
        self._enter, self._leave = enter, leave

    def after_create_session(self, session, coord):
        session.run(self._enter)

    def end(self, session):
        session.run(self._leave)
