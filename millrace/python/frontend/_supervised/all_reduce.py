"""AllReduceOptimizer: replicas with variables of their own that stay equal, without parameter servers.

Each replica computes gradients of its own input; the mean of all of them comes to every replica by an
all-reduce, and each changes its own variables by it. A hook makes the variables equal at the start, and
again when a member was lost and has come back.
"""

import zlib

from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, device, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, identity, reshape, split
from millrace._ops.collectives import all_reduce, broadcast_recv, broadcast_send
from millrace._state.variable_groups import global_variables
from millrace._supervised.hook import SessionRunHook
from millrace._supervised.wrapped_optimizer import WrappedOptimizer
from millrace._values import dtypes


class AllReduceOptimizer(WrappedOptimizer):
    """Makes an optimizer use the mean of the gradients of all replicas.

        optimizer = tf.train.AllReduceOptimizer(tf.train.AdamOptimizer(), num_replicas=4)
        train = optimizer.minimize(loss, global_step)
        hook = optimizer.make_session_run_hook(is_chief)

    Every replica builds the same graph, with variables on its own task, and takes as many steps. A step
    waits for all others'; a replica that is lost, or whose step fails, ends the others' step with an error
    that a MonitoredSession takes as a reason to begin again.

    Args:
      opt: the Optimizer.
      num_replicas: how many replicas there are.
      timeout: seconds that a step waits for another replica's; 0: as long as that lives.
      bucket_bytes: gradients go in groups of one type and about this size: few large messages are
        quicker than many small ones.
      group_key: an int that names the group of replicas; from `name` if None.
      name: a name for the nodes.

    Raises:
      ValueError: if num_replicas is not positive.
    """

    def __init__(
        self,
        opt,
        num_replicas,
        timeout=0,
        bucket_bytes=4 << 20,
        group_key=None,
        name="all_reduce",
    ):
        super().__init__(opt, False, name)
        if num_replicas < 1:
            raise ValueError(f"num_replicas must be positive, but is {num_replicas}")
        self._num_replicas = num_replicas
        self._timeout = timeout
        self._bucket_bytes = bucket_bytes
        self._group_key = zlib.crc32(name.encode()) >> 1 if group_key is None else group_key
        self._last_instance = 0

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An Operation that waits for all replicas' gradients and changes variables by their mean.

        Args:
          grads_and_vars: what compute_gradients gave; an IndexedSlices becomes a Tensor of all rows.
          global_step, name: as the optimizer's own.

        Raises:
          ValueError: for a gradient whose variable's shape is not known.
        """
        pairs = list(grads_and_vars)
        with name_scope(name, self._name):
            means = self.means([gradient for gradient, _ in pairs], [v for _, v in pairs])
        return self._opt.apply_gradients(
            [(mean, variable) for mean, (_, variable) in zip(means, pairs)], global_step, name
        )

    def means(self, gradients, variables):
        """The mean over all replicas of each gradient; None where there is none.

        Args:
          gradients: Tensors, IndexedSlices or Nones.
          variables: what each is the gradient of.
        """
        found = [None] * len(gradients)
        for bucket in self._buckets(gradients, variables):
            flat = []
            for which in bucket:
                with colocate_with(variables[which]):
                    flat.append(reshape(convert(gradients[which]), [-1]))
            mean = self.all_reduce(concat(flat, 0), final_op="Div")
            shapes = [variables[which].shape.as_list() for which in bucket]
            sizes = [_count(shape) for shape in shapes]
            for which, part, shape in zip(bucket, split(mean, sizes, 0), shapes):
                found[which] = reshape(part, shape)
        return found

    def all_reduce(self, tensor, merge_op="Add", final_op="Id"):
        """What all replicas' tensors make together, as `all_reduce` of collective_ops.

        For what else replicas must agree on, the end say: in the group of the gradients, so that a replica
        that is lost ends both. Groups of their own for the same replicas could wait for each other.

        Args:
          tensor: a Tensor of one type and shape on all replicas.
          merge_op: "Add", "Mul", "Max" or "Min".
          final_op: "Id", or "Div" to divide by the number of replicas.
        """
        return all_reduce(
            tensor,
            self._num_replicas,
            self._group_key,
            self._next_instance(),
            merge_op=merge_op,
            final_op=final_op,
            timeout=self._timeout,
        )

    def _buckets(self, gradients, variables):
        """Lists of places: gradients of one type that go together, those computed first at the head."""
        open_buckets, buckets = {}, []
        # The last layers' gradients are there first.
        for which in reversed(range(len(gradients))):
            if gradients[which] is None:
                continue
            variable = variables[which]
            if not variable.shape.is_fully_defined():
                raise ValueError(
                    f"{variable.name} has no known shape; all replicas must agree on it"
                )
            dtype = variable.dtype.base_dtype
            size = _count(variable.shape.as_list()) * dtype.size
            bucket, filled = open_buckets.get(dtype, (None, 0))
            if bucket is None or filled + size > self._bucket_bytes:
                bucket, filled = [], 0
                buckets.append(bucket)
            bucket.append(which)
            open_buckets[dtype] = bucket, filled + size
        return buckets

    def _next_instance(self):
        self._last_instance += 1
        return self._last_instance

    def make_session_run_hook(self, is_chief):
        """The hook that makes all replicas' variables equal to the chief's, in each new session.

        Args:
          is_chief: True for the one replica whose values, maybe from a checkpoint, count.
        """
        return _EqualVariablesHook(self, is_chief)

    def broadcast_variables(self, is_chief, variables=None):
        """An Operation that gives the chief's values of the variables to all other replicas.

        Args:
          is_chief: as for make_session_run_hook.
          variables: all global ones if None; the same on every replica.

        Raises:
          ValueError: for a variable without a known shape.
        """
        if self._num_replicas == 1:
            return group()
        updates = []
        for variable in sorted(
            global_variables() if variables is None else variables, key=lambda v: v.name
        ):
            updates.append(self._broadcast(variable, is_chief))
        return group(*updates, name="equal_variables")

    def _broadcast(self, variable, is_chief):
        shape, dtype = variable.shape, variable.dtype.base_dtype
        if not shape.is_fully_defined():
            raise ValueError(f"{variable.name} has no known shape; all replicas must agree on it")
        travels = _WIDER.get(dtype, dtype)
        where = (self._num_replicas, self._group_key, self._next_instance())
        with device(variable.device or None):
            if is_chief:
                value = _cast(identity(variable.read_value()), travels)
                return broadcast_send(value, shape, travels, *where, timeout=self._timeout).op
            value = broadcast_recv(shape, travels, *where, timeout=self._timeout)
            return variable.assign(_cast(value, dtype)).op


class _EqualVariablesHook(SessionRunHook):
    """Runs AllReduceOptimizer.broadcast_variables in each new session."""

    def __init__(self, optimizer, is_chief):
        self._optimizer = optimizer
        self._is_chief = is_chief

    def begin(self):
        self._equal = self._optimizer.broadcast_variables(self._is_chief)

    def after_create_session(self, session, coord):
        session.run(self._equal)


# What a broadcast does not take goes in a type that holds all its values.
_WIDER = {
    dtypes.bfloat16: dtypes.float32,
    dtypes.int8: dtypes.int32,
    dtypes.int16: dtypes.int32,
    dtypes.uint8: dtypes.int32,
    dtypes.uint16: dtypes.int32,
}


def _cast(value, dtype):
    return value if value.dtype.base_dtype == dtype else cast(value, dtype)


def _count(shape):
    count = 1
    for dim in shape:
        count *= dim
    return count
