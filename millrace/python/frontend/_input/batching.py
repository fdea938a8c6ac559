"""Batches: examples that threads put into a queue, taken out many at a time.

`batch` and `shuffle_batch` run one list of Tensors in several threads; the `_join` forms run several lists,
each in its thread. `maybe_` forms leave out examples for which `keep_input` is false.
"""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import no_op
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import convert, convert_n_to_tensor
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import is_sparse
from millrace._input.queue_runner import QueueRunner, add_queue_runner
from millrace._input.sparse_batches import columns_of, restored
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import boolean_mask
from millrace._state.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from millrace._summaries.building import scalar
from millrace._values import dtypes


class _Batcher:
    """What the forms of one call have in common: what is put in, how, and how it is taken out."""

    def __init__(self, lists, keep_input, enqueue_many, shapes):
        """`lists`: lists of Tensors, or dictionaries with the same keys."""
        if not lists:
            raise ValueError("Expected at least one set of tensors")
        self.keys = sorted(lists[0], key=str) if isinstance(lists[0], dict) else None
        if self.keys is not None:
            if any(set(given) != set(lists[0]) for given in lists):
                raise ValueError("All dictionaries in tensors_list must have the same keys")
            lists = [[given[key] for key in self.keys] for given in lists]
        self._given = [list(tensors) for tensors in lists]
        self._keep = keep_input
        self._many = enqueue_many
        self._shapes = shapes

    @property
    def values(self):
        whole = [value for tensors in self._given for value in tensors]
        return [*(value.values if is_sparse(value) else value for value in whole), self._keep]

    def convert(self):
        """Makes Tensors of all, inside the call's name scope."""
        if not self._given[0]:
            raise ValueError("Expected at least one tensor in batch().")
        self._keep = convert(self._keep)
        rank = self._keep.shape.ndims
        if rank is None:
            raise ValueError("`keep_input` dimensions must be known at graph construction.")
        if rank == 1 and not self._many:
            raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
        if rank > 1:
            raise ValueError("`keep_input` must be 0 or 1 dimensions.")
        self._sparse = columns_of(self._given, self._many)
        self._lists = [convert_n_to_tensor(self._stored(tensors)) for tensors in self._given]
        self.types = [tensor.dtype.base_dtype for tensor in self._lists[0]]
        for tensors in self._lists:
            types = [tensor.dtype.base_dtype for tensor in tensors]
            if types != self.types:
                raise TypeError(
                    f"Expected types to be consistent: {', '.join(t.name for t in self.types)} vs. "
                    f"{', '.join(t.name for t in types)}."
                )
        self.shapes = self._shapes if self._shapes is not None else self._common_shapes()

    def _stored(self, tensors):
        """The values of a list, with numbers in the place of SparseTensors."""
        return [
            value if column is None else column.store(value, self._keep)
            for value, column in zip(tensors, self._sparse)
        ]

    def _common_shapes(self):
        for tensors in self._lists:
            for tensor in tensors:
                if tensor.shape.ndims is None:
                    raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
        return [self._common_shape(column) for column in zip(*self._lists)]

    def _common_shape(self, tensors):
        found = [tensor.shape for tensor in tensors]
        if self._many:
            found = [shape.with_rank_at_least(1)[1:] for shape in found]
        for shape in found[1:]:
            found[0].merge_with(shape)  # ValueError if they can't be one shape
        return found[0]

    def fill(self, queue, threads=1):
        """Adds the QueueRunner: one thread per list, times `threads`."""
        operations = [self._enqueue(queue, tensors) for tensors in self._lists] * threads
        add_queue_runner(QueueRunner(queue, operations))

    def _enqueue(self, queue, tensors):
        put = queue.enqueue_many if self._many else queue.enqueue
        if self._keep.shape.ndims == 1:
            return put([boolean_mask(tensor, self._keep) for tensor in tensors])
        made = smart_cond(self._keep, lambda: put(tensors), no_op)
        return getattr(made, "op", made)

    def take(self, queue, batch_size, allow_smaller_final_batch, scope):
        """The batch, in the form in which the examples were given."""
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        taken = take(batch_size, name=scope)
        if any(self._sparse):
            is_list = isinstance(taken, (list, tuple))
            taken = restored(taken if is_list else [taken], self._sparse)
            taken = taken if is_list else taken[0]
        if self.keys is None:
            return taken
        return dict(zip(self.keys, taken if len(self.keys) > 1 else [taken]))


def _in_order(
    default_name,
    lists,
    batch_size,
    keep_input,
    threads,
    capacity,
    enqueue_many,
    shapes,
    dynamic_pad,
    allow_smaller_final_batch,
    shared_name,
    name,
):
    batcher = _Batcher(lists, keep_input, enqueue_many, shapes)
    with name_scope(name, default_name, batcher.values) as scope:
        batcher.convert()
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(capacity, batcher.types, batcher.shapes, shared_name=shared_name)
        batcher.fill(queue, threads)
        full = cast(queue.size(), dtypes.float32) * (1.0 / capacity)
        scalar(f"fraction_of_{capacity}_full", full)
        return batcher.take(queue, batch_size, allow_smaller_final_batch, scope)


def _shuffled(
    default_name,
    lists,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    threads,
    seed,
    enqueue_many,
    shapes,
    allow_smaller_final_batch,
    shared_name,
    name,
):
    batcher = _Batcher(lists, keep_input, enqueue_many, shapes)
    with name_scope(name, default_name, batcher.values) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(
                f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
            )
        batcher.convert()
        queue = RandomShuffleQueue(
            capacity,
            min_after_dequeue,
            batcher.types,
            batcher.shapes,
            seed=seed,
            shared_name=shared_name,
        )
        batcher.fill(queue, threads)
        choice = capacity - min_after_dequeue
        above = gen_ops.maximum(0, queue.size() - min_after_dequeue)
        full = cast(above, dtypes.float32) * (1.0 / choice)
        scalar(f"fraction_over_{min_after_dequeue}_of_{choice}_full", full)
        return batcher.take(queue, batch_size, allow_smaller_final_batch, scope)


def maybe_batch(
    tensors,
    keep_input,
    batch_size,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """Batches of those examples for which `keep_input` is true.

    Args:
      tensors: a list or dictionary of Tensors and SparseTensors: an example, or with `enqueue_many` several, by rows.
      keep_input: a bool scalar, or with `enqueue_many` a vector with one per row.
      batch_size: how many a batch has.
      num_threads: how many threads compute examples. With more than one their order may change.
      capacity: of the queue.
      enqueue_many: True if the Tensors hold several examples.
      shapes: the shapes of an example's Tensors, if they are not known.
      dynamic_pad: True for Tensors that differ in size; a batch is padded to the largest.
      allow_smaller_final_batch: True to give out what is left when the input ends.
      shared_name: by which several sessions find one queue.
      name: a name for the nodes.

    Returns:
      Tensors with a new first dimension in a list or dictionary like `tensors`; a Tensor if a list has one.

    Raises:
      ValueError: if there are no tensors, ranks are not known, or `keep_input` has another rank.
      NotImplementedError, TypeError: for what is no Tensor.
    """
    return _in_order(
        "batch",
        [tensors],
        batch_size,
        keep_input,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def batch(tensors, batch_size, *args, **kwargs):
    """maybe_batch of all examples: batch(tensors, batch_size, num_threads=1, capacity=32, ...)."""
    return maybe_batch(tensors, True, batch_size, *args, **kwargs)


def maybe_batch_join(
    tensors_list,
    keep_input,
    batch_size,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """Batches of examples from several sources, each with a thread; those with a true `keep_input`.

    Args:
      tensors_list: a list of what maybe_batch takes, all of the same types.
      The others as for maybe_batch.
    """
    return _in_order(
        "batch_join",
        tensors_list,
        batch_size,
        keep_input,
        1,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def batch_join(tensors_list, batch_size, *args, **kwargs):
    """maybe_batch_join of all examples: batch_join(tensors_list, batch_size, capacity=32, ...)."""
    return maybe_batch_join(tensors_list, True, batch_size, *args, **kwargs)


def maybe_shuffle_batch(
    tensors,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    num_threads=1,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """Batches of examples in random order, of those for which `keep_input` is true.

    Args:
      min_after_dequeue: how many examples stay in the queue, so that there is a choice.
      seed: for an order that repeats.
      The others as for maybe_batch.
    """
    return _shuffled(
        "shuffle_batch",
        [tensors],
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, *args, **kwargs):
    """maybe_shuffle_batch of all examples: (..., num_threads=1, seed=None, enqueue_many=False, ...)."""
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, *args, **kwargs
    )


def maybe_shuffle_batch_join(
    tensors_list,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """Batches in random order from several sources, each with a thread; see maybe_batch_join."""
    return _shuffled(
        "shuffle_batch_join",
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input,
        1,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, *args, **kwargs):
    """maybe_shuffle_batch_join of all examples: (..., seed=None, enqueue_many=False, shapes=None, ...)."""
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, *args, **kwargs
    )
