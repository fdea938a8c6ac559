"""LockstepOptimizer: workers that train as one, with nothing that a dead one could starve.

Each worker gives its gradients to accumulators beside the variables, notes that it has come, and takes a
lock. Who has the lock and finds the step unfinished waits until enough have come, changes the variables
and counts the step; who finds it finished goes on. There is no thread beside the program's, no token, and
no chief: a lock goes with the step of the session that holds it, so whoever dies lets the next one do it.
"""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.while_context import while_loop
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, control_dependencies, device, name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import identity, zeros_like
from millrace._ops.reductions import reduce_sum
from millrace._state.accumulators import ConditionalAccumulator
from millrace._state.variables import ResourceVariable
from millrace._supervised.shared_numbers import SharedNumbers
from millrace._supervised.wrapped_optimizer import WrappedOptimizer
from millrace._values import dtypes

# A signal counts whatever the step is.
_ANY_STEP = 1 << 62


class LockstepOptimizer(WrappedOptimizer):
    """Makes an optimizer change variables once per step of all workers.

        optimizer = tf.train.LockstepOptimizer(tf.train.AdamOptimizer(), num_replicas=4, replica=index)
        train = optimizer.minimize(loss, global_step)

    Every worker builds the same graph, with variables on ps, and runs `train` in its session; nothing else
    has to be started, by nobody. A step ends for all when `gradients_per_step` workers have come to it.

    Args:
      opt: the Optimizer.
      num_replicas: how many workers there are.
      replica: which of them this one is, from 0.
      gradients_per_step: how many workers make a step; num_replicas if None. With fewer, the others are
        backups: who comes too late has its gradients dropped.
      name: a name for the nodes.

    Attributes, after apply_gradients:
      dropped: a Tensor: how many gradients came too late, of all workers, since the ps began.

    Raises:
      ValueError: if the numbers make no sense.
    """

    def __init__(self, opt, num_replicas, replica, gradients_per_step=None, name="lockstep"):
        super().__init__(opt, False, name)
        wanted = num_replicas if gradients_per_step is None else gradients_per_step
        if not 1 <= wanted <= num_replicas or not 0 <= replica < num_replicas:
            raise ValueError(
                f"replica {replica} of {num_replicas}, {wanted} gradients per step: replicas count from "
                "0, and a step takes one gradient of each at most"
            )
        self._num_replicas = num_replicas
        self._replica = replica
        self._wanted = wanted

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation for each worker to run: gives its gradients, and ends with the step of all.

        Args:
          grads_and_vars: what compute_gradients gave; an IndexedSlices becomes a Tensor of all rows.
          global_step: the Variable that counts steps of all workers; the state is beside it.
          name: a name for the nodes.

        Raises:
          ValueError: without global_step, or without gradients.
        """
        if global_step is None:
            raise ValueError(
                "Global step is required: the state of all workers' steps is beside it"
            )
        pairs = [(gradient, v) for gradient, v in grads_and_vars if gradient is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        with name_scope(name, self._name):
            self._make_state(global_step)
            accumulators = []
            for gradient, variable in pairs:
                with device(variable.device or None):
                    accumulators.append(
                        ConditionalAccumulator(
                            variable.dtype.base_dtype,
                            variable.shape,
                            shared_name=f"{variable.op.name}/{self._name}",
                        )
                    )
            given = []
            for accumulator, (gradient, variable) in zip(accumulators, pairs):
                with colocate_with(variable):
                    given.append(accumulator.apply_grad(convert(gradient), self._own_step))
            with device(global_step.device or None), colocate_with(self._numbers.handle):
                come = self._come_to_step(given)
                with control_dependencies([come]):
                    now = self._step()
                # Who is late needs no lock to know it.
                reached = cond(
                    gen_ops.less(self._seen, now),
                    lambda: identity(now),
                    lambda: self._under_lock(accumulators, pairs, global_step),
                )
            with control_dependencies([reached]):
                return self._own_step.assign(reached).op

    def _under_lock(self, accumulators, pairs, global_step):
        """The step that follows this one, once it is finished by this worker or another."""
        # Two in turn: who has yet to hear of the end of a step must not stand in line behind one who
        # waits for its gradient of the next.
        mutex = cond(
            gen_ops.equal(gen_ops.floor_mod(self._seen, 2), 0),
            lambda: self._mutexes[0],
            lambda: self._mutexes[1],
        )
        lock = gen_ops.mutex_lock(mutex=mutex)
        with control_dependencies([lock]):
            now = self._step()
        reached = cond(
            gen_ops.less_equal(now, self._seen),
            lambda: self._finished(accumulators, pairs, global_step),
            lambda: identity(now),
        )
        with control_dependencies([reached]):
            released = gen_ops.consume_mutex_lock(mutex_lock=lock)
        with control_dependencies([released]):
            return identity(reached)

    def _make_state(self, global_step):
        """What all workers share, beside the global step; and the step that this one is in."""
        with get_default_graph().device(global_step.device or None):
            # Numbers and accumulators begin with the ps and end with it: a chief that restores the
            # variables leaves the count of steps as it is.
            self._numbers = SharedNumbers(f"{self._name}/numbers")
            late = [self._key_of_late(replica) for replica in range(self._num_replicas)]
            self.dropped = reduce_sum(self._numbers.get(late, 0))
            self._mutexes = [
                gen_ops.mutex_v2(shared_name=f"{self._name}/mutex_{turn}") for turn in range(2)
            ]
            self._signals = ConditionalAccumulator(
                dtypes.float32, [], shared_name=f"{self._name}/signals"
            )
        # On the worker itself, whatever places variables. The first step of a worker that came late
        # counts as too late.
        with device(None):
            self._own_step = ResourceVariable(
                0,
                dtype=dtypes.int64,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                name=f"own_step_{self._replica}",
            )

    # The numbers: 0 is the step, from 1 on which step each replica has come to, then how often each
    # was late.
    def _key_of_come(self, replica):
        return 1 + replica

    def _key_of_late(self, replica):
        return 1 + self._num_replicas + replica

    def _step(self):
        return self._numbers.get(0, 0)

    def _come_to_step(self, given):
        """An Operation: the gradients are there, and whoever waits for them is told."""
        with control_dependencies(given):
            self._seen = identity(self._own_step.read_value())
            is_late = cast(gen_ops.less(self._seen, self._step()), dtypes.int64)
            key = self._key_of_late(self._replica)
            late = self._numbers.get(key, 0) + is_late
        with control_dependencies(
            [
                self._numbers.set(key, late),
                self._numbers.set(self._key_of_come(self._replica), self._seen),
            ]
        ):
            return self._signals.apply_grad(1.0, _ANY_STEP)

    def _finished(self, accumulators, pairs, global_step):
        """The next step, once this one is finished; under the lock."""

        def too_few(turn):
            with control_dependencies([turn]):
                replicas = [self._key_of_come(replica) for replica in range(self._num_replicas)]
                come = gen_ops.greater_equal(self._numbers.get(replicas, -1), self._seen)
            return gen_ops.less(reduce_sum(cast(come, dtypes.int32)), self._wanted)

        def wait(turn):
            # A signal that was given before is one turn in vain.
            with control_dependencies([self._signals.take_grad(1)]):
                return turn + 1

        waited = while_loop(too_few, wait, [convert(0)], parallel_iterations=1)
        with control_dependencies([waited]):
            means = []
            for accumulator, (_, variable) in zip(accumulators, pairs):
                with colocate_with(variable):
                    # Nothing is there if one who had the lock took it, and died.
                    means.append(
                        cond(
                            gen_ops.greater(accumulator.num_accumulated(), 0),
                            lambda accumulator=accumulator: accumulator.take_grad(1),
                            lambda variable=variable: zeros_like(variable.read_value()),
                        )
                    )
            update = self._opt.apply_gradients(
                [(mean, variable) for mean, (_, variable) in zip(means, pairs)], global_step
            )
        following = self._seen + 1
        with control_dependencies([update]):
            moved = [accumulator.set_global_step(following) for accumulator in accumulators]
        with control_dependencies(moved), colocate_with(self._numbers.handle):
            with control_dependencies([self._numbers.set(0, following)]):
                return identity(following)
