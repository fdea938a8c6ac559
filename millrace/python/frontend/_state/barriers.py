"""Barriers: elements whose components come one by one, under keys, and leave once they are whole."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value
from millrace._state.queues import shapes_of, types_of
from millrace._values.tensor_shape import TensorShape


class Barrier:
    """Gathers the components of elements by key; what is whole can be taken, the oldest first.

    Args:
      types: a DType, or a list with one per component.
      shapes: their shapes, which must be known; None is refused when the barrier is made.
      shared_name: by which several programs find one barrier on its device.
      name: a name for the node.

    Raises:
      ValueError: for a shape without elements.

    Attributes:
      barrier_ref: the Tensor that refers to the barrier.
      name: of its node.
    """

    def __init__(self, types, shapes=None, shared_name=None, name="barrier"):
        self._types = types_of(types)
        self._shapes = shapes_of(shapes, self._types) or []
        for index, shape in enumerate(self._shapes):
            if shape.num_elements() == 0:
                raise ValueError(
                    f"Empty tensors are not supported, but received shape '{shape}' at index {index}"
                )
        unknown = [TensorShape(None)] * len(self._types)
        self._barrier_ref = gen_ops.barrier(
            self._types, shapes=self._shapes or unknown, shared_name=shared_name or "", name=name
        )
        self._shapes = self._shapes or unknown
        self._name = self._barrier_ref.op.name.rpartition("/")[2]

    @property
    def barrier_ref(self):
        return self._barrier_ref

    @property
    def name(self):
        return self._barrier_ref.op.name

    def insert_many(self, component_index, keys, values, name=None):
        """An Operation that gives one component of each key its value.

        Args:
          component_index: which component, a Python integer.
          keys: a vector of strings.
          values: a Tensor with a row per key.
          name: a name for the node.

        Running it fails with InvalidArgumentError if a key has a value there, and with CancelledError
        if the barrier is closed and a key is new.
        """
        return gen_ops.barrier_insert_many(
            self._barrier_ref,
            keys,
            values,
            component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )

    def take_many(self, num_elements, allow_small_batch=False, timeout=None, name=None):
        """The oldest elements that are whole; waits until there are `num_elements`.

        Args:
          num_elements: an integer.
          allow_small_batch: True to get fewer once the barrier is closed.
          timeout: must be None.
          name: a name for the node.

        Returns:
          (indices, keys, values): vectors of int64 and strings, and a list with a Tensor per component.

        Running it fails with OutOfRangeError once nothing more can come.
        """
        taken = gen_ops.barrier_take_many(
            self._barrier_ref,
            num_elements,
            self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        outputs = taken[0].op.outputs
        count = None if allow_small_batch else constant_value(taken[0].op.inputs[1])
        lead = TensorShape([None if count is None else int(count)])
        for output, shape in zip(outputs, [TensorShape(()), TensorShape(()), *self._shapes]):
            output.set_shape(lead.concatenate(shape))
        return taken

    def close(self, cancel_pending_enqueues=False, name=None):
        """An Operation after which no new keys can come.

        Args:
          cancel_pending_enqueues: True to drop what is not whole, too.
          name: a name for the node.
        """
        return gen_ops.barrier_close(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name=None):
        """An int32 Tensor: how many elements are whole."""
        return gen_ops.barrier_ready_size(
            self._barrier_ref, name=name or f"{self._name}_BarrierReadySize"
        )

    def incomplete_size(self, name=None):
        """An int32 Tensor: how many elements lack a component."""
        return gen_ops.barrier_incomplete_size(
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )
