"""ReplicaGroup: replicas of one model in processes of their own, which meet in collectives.

All of them build the same graph, so that the n-th thing that one asks of its group is the n-th of the others.
"""

from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, device
from millrace._graph.graph import get_default_graph
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, identity, reshape, split
from millrace._ops.collectives import all_reduce, broadcast_recv, broadcast_send
from millrace._state.variable_groups import global_variables
from millrace._supervised.hook import SessionRunHook
from millrace._values import dtypes


class ReplicaGroup:
    """What replicas of several tasks do together, one member per task.

    Args:
      size: how many members there are.
      group_key: an int that names the group.
      timeout: seconds that a step waits for another member's; 0: as long as that lives.
      bucket_bytes: gradients go in groups of one type and about this size: few large messages are
        quicker than many small ones.
      communication_hint: "ring", "tree" or "auto", as for `all_reduce` of collective_ops.

    Raises:
      ValueError: if size is not positive.
    """

    def __init__(self, size, group_key, timeout=0, bucket_bytes=4 << 20, communication_hint="auto"):
        if size < 1:
            raise ValueError(f"num_replicas must be positive, but is {size}")
        self.size = size
        self._group_key = group_key
        self._bucket_bytes = bucket_bytes
        self._ways = {"communication_hint": communication_hint, "timeout": timeout}

    def all_reduce(self, tensor, merge_op="Add", final_op="Id"):
        """What all members' tensors make together, the same on each.

        Args:
          tensor: a Tensor of one type and shape in all members.
          merge_op: "Add", "Mul", "Max" or "Min".
          final_op: "Id", or "Div" to divide by the number of members.
        """
        return all_reduce(tensor, *self._next(), merge_op=merge_op, final_op=final_op, **self._ways)

    def all_reduce_gradients(self, gradients, variables, final_op="Id"):
        """The sum over all members of each gradient, or the mean; None where there is none.

        Args:
          gradients: Tensors, IndexedSlices (which become Tensors of all rows) or Nones.
          variables: what each is the gradient of.
          final_op: "Id" for the sum, "Div" for the mean.

        Raises:
          ValueError: for a gradient whose variable's shape is not known.
        """
        found = [None] * len(gradients)
        for bucket in self._buckets(gradients, variables):
            flat = []
            for which in bucket:
                with colocate_with(variables[which]):
                    flat.append(reshape(convert(gradients[which]), [-1]))
            reduced = self.all_reduce(concat(flat, 0), final_op=final_op)
            shapes = [variables[which].shape.as_list() for which in bucket]
            sizes = [_count(shape) for shape in shapes]
            for which, part, shape in zip(bucket, split(reduced, sizes, 0), shapes):
                found[which] = reshape(part, shape)
        return found

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

    def _next(self):
        """(size, group, instance) of the next collective that the default graph gets."""
        last = get_default_graph().own(_Instances).last
        last[self._group_key] = last.get(self._group_key, 0) + 1
        return self.size, self._group_key, last[self._group_key]

    def from_chief(self, value, shape, dtype, is_chief):
        """The chief's value, in all members.

        Args:
          value: a function without arguments that gives a Tensor; called on the chief alone.
          shape, dtype: what it gives.
          is_chief: whether this member is the chief.

        Raises:
          ValueError: if the shape is not known.
        """
        if self.size == 1:
            return value()
        if not shape.is_fully_defined():
            raise ValueError(f"a value of shape {shape} can't be given to other replicas")
        travels = _WIDER.get(dtype, dtype)
        where = self._next()
        if is_chief:
            given = identity(_cast(value(), travels))
            return _cast(broadcast_send(given, shape, travels, *where, **self._ways), dtype)
        return _cast(broadcast_recv(shape, travels, *where, **self._ways), dtype)

    def broadcast_variables(self, is_chief, variables=None):
        """An Operation that gives the chief's values of the variables to all other members.

        Args:
          is_chief: True for the one whose values count.
          variables: all global ones if None; the same in every member.

        Raises:
          ValueError: for a variable without a known shape.
        """
        if self.size == 1:
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
        with device(variable.device or None):
            value = self.from_chief(variable.read_value, shape, dtype, is_chief)
            return value.op if is_chief else variable.assign(value).op


class _Instances:
    """How many collectives of each group a graph has."""

    def __init__(self):
        self.last = {}


class EqualVariablesHook(SessionRunHook):
    """Makes the variables of all members equal to the chief's, in each new session.

    Args:
      replica_group: the ReplicaGroup.
      is_chief: True for the one member whose values, maybe from a checkpoint, count.
    """

    def __init__(self, replica_group, is_chief):
        self._group = replica_group
        self._is_chief = is_chief

    def begin(self):
        self._equal = self._group.broadcast_variables(self._is_chief)

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
