"""How the values of the replicas of one task become one value, and on which device."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import device
from millrace._ops.arrays import concat
from millrace._ops.gradients import IndexedSlices
from millrace._state.replica_contexts import ReduceOp
from millrace._supervised.distribution.per_replica import PerReplica


class CrossDeviceOps:
    """What brings values together; for classes that derive from it.

    A class of one's own defines reduce_implementation(reduce_op, per_replica_value, destinations).
    """

    def reduce(self, reduce_op, per_replica_value, destinations):
        """The sum or mean of the replicas' values.

        Args:
          reduce_op: a ReduceOp, or its name.
          per_replica_value: a PerReplica of Tensors or IndexedSlices, or one value that all replicas have.
          destinations: a variable, Tensor or device that it is for; None for anywhere.

        Returns:
          a Tensor; an IndexedSlices of all rows if all values are.
        """
        if not isinstance(per_replica_value, PerReplica):
            per_replica_value = PerReplica([per_replica_value])
        return self.reduce_implementation(ReduceOp.of(reduce_op), per_replica_value, destinations)

    def batch_reduce(self, reduce_op, value_destination_pairs):
        """[reduce(reduce_op, value, destination)] of pairs."""
        return [self.reduce(reduce_op, *pair) for pair in value_destination_pairs]

    def broadcast(self, tensor, destinations):
        """A Tensor, as all replicas may read it: what another device has travels when it is needed."""
        return convert(tensor)

    def reduce_implementation(self, reduce_op, per_replica_value, destinations):
        raise NotImplementedError(f"{type(self).__name__} has no reduce_implementation")


class ReductionToOneDevice(CrossDeviceOps):
    """Adds up on one device.

    Args:
      reduce_to_device: the device; the first replica's if None.
      accumulation_fn: a function of a list of Tensors that gives their sum; tf.add_n if None.
    """

    def __init__(self, reduce_to_device=None, accumulation_fn=None):
        self._device = reduce_to_device
        self._add = accumulation_fn or gen_ops.add_n

    def reduce_implementation(self, reduce_op, per_replica_value, destinations):
        values = per_replica_value.values
        with device(self._device or _device_of(values[0])):
            return divided(sum_of(values, self._add), reduce_op, len(values))


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Adds up in two levels: halves of the replicas each on a device of theirs, then both sums.

    Args:
      num_packs: accepted; within one task tensors go by pointer, and packing them would only copy.
    """

    def __init__(self, num_packs=1):
        self.num_packs = num_packs

    def reduce_implementation(self, reduce_op, per_replica_value, destinations):
        values = per_replica_value.values
        middle = (len(values) + 1) // 2
        sums = []
        for half in (values[:middle], values[middle:]):
            if half:
                with device(_device_of(half[0])):
                    sums.append(sum_of(half))
        with device(_device_of(values[0])):
            return divided(sum_of(sums), reduce_op, len(values))


class NcclAllReduce(CrossDeviceOps):
    """NCCL joins GPUs, of which there are none here: a program that makes one is told so.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, num_packs=1):
        raise NotImplementedError(
            "NcclAllReduce: there are CPU devices alone here; tf.distribute.ReductionToOneDevice or "
            "HierarchicalCopyAllReduce adds up what they have"
        )


def sum_of(values, add=gen_ops.add_n):
    """The sum of Tensors, or of IndexedSlices, whose rows come one after the other."""
    values = [value if isinstance(value, IndexedSlices) else convert(value) for value in values]
    if len(values) == 1:
        return values[0]
    if all(isinstance(value, IndexedSlices) for value in values):
        return IndexedSlices(
            concat([value.values for value in values], 0),
            concat([value.indices for value in values], 0),
            values[0].dense_shape,
        )
    return add([convert(value) for value in values])


def divided(total, reduce_op, count):
    """A sum over `count`, if a mean is asked for."""
    if reduce_op == ReduceOp.SUM or count == 1:
        return total
    if isinstance(total, IndexedSlices):
        return IndexedSlices(total.values / float(count), total.indices, total.dense_shape)
    total = convert(total)
    return total / gen_ops.cast(count, DstT=total.dtype.base_dtype)


def _device_of(value):
    return getattr(value, "device", None) or None
