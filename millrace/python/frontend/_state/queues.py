"""Queues: values that wait on a task until somebody takes them out.

Several programs that make a queue with one `shared_name` on one device share it.
"""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.random_values import seeds
from millrace._state.leased import LeasedDequeue
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class QueueBase:
    """A queue of elements; an element is one Tensor, or a tuple of them, one per component.

    Attributes:
      queue_ref: the Tensor that refers to the queue.
      dtypes, shapes, names: of the components; names is None unless elements are dictionaries.
      name: the name of the queue's node.
    """

    def __init__(self, component_types, shapes, names, queue_ref, durable=False):
        if durable:
            queue_ref.graph.ask_to_last(queue_ref.op)
        self._dtypes = component_types
        if shapes is None:
            shapes = [TensorShape(None)] * len(component_types)
        if len(shapes) != len(component_types):
            raise ValueError("Queue shapes must have the same length as dtypes")
        self._shapes = shapes
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name

    @staticmethod
    def from_list(index, queues):
        """The queue of a list that a Tensor picks. All must have the same dtypes."""
        if not queues or any(not isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(queue.dtypes != first.dtypes or queue.names != first.names for queue in queues):
            raise TypeError("Queues do not have matching component dtypes or names.")
        refs = gen_ops.pack([queue.queue_ref for queue in queues], axis=0)
        chosen = gen_ops.gather_v2(refs, index, 0)
        shapes = [
            component if all(component.is_compatible_with(o) for o in others) else TensorShape(None)
            for component, *others in zip(*(queue.shapes for queue in queues))
        ]
        return QueueBase(first.dtypes, shapes, first.names, chosen)

    @property
    def queue_ref(self):
        return self._queue_ref

    @property
    def name(self):
        return self._name

    @property
    def dtypes(self):
        return self._dtypes

    @property
    def shapes(self):
        return self._shapes

    @property
    def names(self):
        return self._names

    def _scope(self, name, what):
        return name_scope(name, f"{self._name.rpartition('/')[2]}_{what}", [self._queue_ref])

    def _components(self, vals):
        """The values of an element in order, as Tensors."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if set(vals) != set(self._names):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue. Dictionary: "
                    f"{sorted(vals)}, Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(vals, (list, tuple)) or len(self._dtypes) == 1 and len(vals) != 1:
                vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"the queue takes {len(self._dtypes)} components, not {len(vals)}")
        return [
            convert(value, dtype, f"component_{index}")
            for index, (value, dtype) in enumerate(zip(vals, self._dtypes))
        ]

    def _element(self, tensors, lead=None):
        """What dequeuing returns for a list of components."""
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape if lead is None else TensorShape(lead).concatenate(shape))
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def enqueue(self, vals, name=None):
        """An Operation that puts in one element; it waits while the queue is full.

        Args:
          vals: a Tensor, a list or tuple with one per component, or a dictionary by names.
          name: a name for the node.

        Running it fails with CancelledError if the queue is closed, before or meanwhile.
        """
        with self._scope(name, "enqueue") as scope:
            components = self._components(vals)
            for tensor, shape in zip(components, self._shapes):
                tensor.shape.assert_is_compatible_with(shape)
            return gen_ops.queue_enqueue_v2(self._queue_ref, components, name=scope)

    def enqueue_many(self, vals, name=None):
        """An Operation that puts in as many elements as the components' first dimension says."""
        with self._scope(name, "EnqueueMany") as scope:
            components = self._components(vals)
            for tensor, shape in zip(components, self._shapes):
                tensor.shape.assert_is_compatible_with(TensorShape((None,)).concatenate(shape))
            return gen_ops.queue_enqueue_many_v2(self._queue_ref, components, name=scope)

    def dequeue(self, name=None, lease=None, attempts=0):
        """Takes out one element; waits while the queue is empty.

        Args:
          name: a name for the node.
          lease: for how many seconds the element is lent; None to take it for good. Fetching what is
            returned then gives a tf.queue.Lease: a program that dies before it says `ack()` has not
            taken the element, which goes to the next one.
          attempts: how often one element is lent at most; one that comes back then is a dead letter.
            0 for no limit.

        Returns:
          a Tensor, a list or a dictionary of them; with a lease, a LeasedDequeue.

        Raises:
          ValueError: for a lease that is not more than 0 and at most 1e7 s, or less than 0 attempts.

        Running it fails with OutOfRangeError when the queue is closed and empty (and nothing of it is
        lent, which might come back), and with CancelledError when the session is closed.
        """
        with self._scope(name, "Dequeue") as scope:
            if lease is not None:
                return LeasedDequeue(
                    self._queue_ref, self._dtypes, self._element, lease, attempts, scope
                )
            return self._element(
                gen_ops.queue_dequeue_v2(self._queue_ref, self._dtypes, name=scope)
            )

    def dead_letter(self, name=None):
        """Takes out the element that was given up first, as `dequeue` does.

        Dead letters are elements that were lent as often as `dequeue(attempts=)` allows and came back.
        Running it fails with OutOfRangeError if there is none.
        """
        with self._scope(name, "DeadLetter") as scope:
            return self._element(
                gen_ops.queue_dead_letter(self._queue_ref, self._dtypes, name=scope)
            )

    def lease_counts(self, name=None):
        """(lent, dead): two int32 scalar Tensors, how many elements are lent and how many dead letters
        wait to be looked into."""
        with self._scope(name, "LeaseCounts") as scope:
            counts = gen_ops.queue_leases(self._queue_ref, name=scope)
            return counts.lent, counts.dead

    def dequeue_many(self, n, name=None):
        """Takes out n elements, stacked along a new first dimension; waits until there are so many.

        Running it fails with OutOfRangeError when the queue is closed and holds fewer.
        """
        with self._scope(name, "DequeueMany") as scope:
            count = n if isinstance(n, int) else None
            tensors = gen_ops.queue_dequeue_many_v2(self._queue_ref, n, self._dtypes, name=scope)
            return self._element(tensors, (count,))

    def dequeue_up_to(self, n, name=None):
        """Like dequeue_many, but gives what is left when the queue is closed."""
        with self._scope(name, "DequeueUpTo") as scope:
            tensors = gen_ops.queue_dequeue_up_to_v2(self._queue_ref, n, self._dtypes, name=scope)
            return self._element(tensors, (None,))

    def close(self, cancel_pending_enqueues=False, name=None):
        """An Operation after which nothing can be put in; what is inside can still be taken out.

        Args:
          cancel_pending_enqueues: True to end enqueues that are waiting, with CancelledError.
          name: a name for the node.
        """
        with self._scope(name, "Close") as scope:
            return gen_ops.queue_close_v2(
                self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=scope
            )

    def is_closed(self, name=None):
        """A bool Tensor: whether the queue is closed."""
        with self._scope(name, "is_closed") as scope:
            return gen_ops.queue_is_closed_v2(self._queue_ref, name=scope)

    def size(self, name=None):
        """An int32 Tensor: how many elements are inside."""
        with self._scope(name, "Size") as scope:
            return gen_ops.queue_size_v2(self._queue_ref, name=scope)


def _as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def types_of(value):
    return [dtypes.as_dtype(item) for item in _as_list(value)]


def shapes_of(shapes, component_types, needed=False):
    if shapes is None:
        if needed:
            raise ValueError("this kind of queue needs the shapes of its components")
        return None
    if isinstance(shapes, TensorShape) or not isinstance(shapes, (list, tuple)):
        shapes = [shapes]
    elif len(component_types) == 1 and all(isinstance(dim, int) or dim is None for dim in shapes):
        shapes = [shapes]  # one shape, for one component
    return [TensorShape(shape) for shape in shapes]


def _names(names, component_types):
    if not names:
        return None
    names = _as_list(names)
    if len(names) != len(component_types):
        raise ValueError("Queue names must have the same length as dtypes")
    return names


class FIFOQueue(QueueBase):
    """A queue that gives elements out in the order in which they came in.

    Args:
      capacity: how many elements it holds; -1 for any number.
      dtypes: a DType, or a list with one per component.
      shapes: their shapes; None for any, but then elements cannot be taken out many at a time.
      names: names of the components, if elements are to be dictionaries.
      shared_name: by which several programs find one queue on its device.
      name: a name for the node.
      durable: True if its task is to keep it on its disk, so that its elements outlive the task's
        process: a server that was started with --state DIR. On another one steps that use it fail.
        Without a shared_name it is shared by its node's name.
    """

    def __init__(
        self,
        capacity,
        dtypes,
        shapes=None,
        names=None,
        shared_name=None,
        name="fifo_queue",
        durable=False,
    ):
        types = types_of(dtypes)
        shapes = shapes_of(shapes, types)
        queue_ref = gen_ops.fifo_queue_v2(
            types,
            shapes=shapes or [],
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, shapes, _names(names, types), queue_ref, durable)


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements out in random order.

    Args:
      capacity: how many elements it holds.
      min_after_dequeue: how many stay inside while it is open, so that there is a choice.
      dtypes, shapes, names, shared_name, name, durable: as for FIFOQueue.
      seed: for an order that repeats.
    """

    def __init__(
        self,
        capacity,
        min_after_dequeue,
        dtypes,
        shapes=None,
        names=None,
        seed=None,
        shared_name=None,
        name="random_shuffle_queue",
        durable=False,
    ):
        types = types_of(dtypes)
        shapes = shapes_of(shapes, types)
        queue_ref = gen_ops.random_shuffle_queue_v2(
            types,
            shapes=shapes or [],
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            shared_name=shared_name or "",
            name=name,
            **seeds(seed),
        )
        super().__init__(types, shapes, _names(names, types), queue_ref, durable)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may differ in size; dequeue_many pads them to the largest.

    Args:
      shapes: their shapes, with None where sizes may differ.
      capacity, dtypes, names, shared_name, name, durable: as for FIFOQueue.
    """

    def __init__(
        self,
        capacity,
        dtypes,
        shapes,
        names=None,
        shared_name=None,
        name="padding_fifo_queue",
        durable=False,
    ):
        types = types_of(dtypes)
        shapes = shapes_of(shapes, types, needed=True)
        queue_ref = gen_ops.padding_fifo_queue_v2(
            types,
            shapes=shapes,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, shapes, _names(names, types), queue_ref, durable)


class PriorityQueue(QueueBase):
    """A queue that gives out the element with the smallest priority first.

    The first component of each element is its priority, an int64 scalar.

    Args:
      capacity, types, shapes, names, shared_name, name, durable: as for FIFOQueue, without the priority.
    """

    def __init__(
        self,
        capacity,
        types,
        shapes=None,
        names=None,
        shared_name=None,
        name="priority_queue",
        durable=False,
    ):
        kinds = types_of(types)
        shapes = shapes_of(shapes, kinds)
        queue_ref = gen_ops.priority_queue_v2(
            component_types=kinds,
            shapes=shapes or [[]] * len(kinds),
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        with_priority = [dtypes.int64, *kinds]
        all_shapes = [TensorShape(()), *(shapes or [TensorShape(())] * len(kinds))]
        super().__init__(
            with_priority, all_shapes, _names(names, with_priority), queue_ref, durable
        )
