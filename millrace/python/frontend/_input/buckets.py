"""Batches of examples that are alike: each goes to the queue of its kind, and comes out with its likes."""

import functools

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import group, no_op
from millrace._flow.smart_cond import smart_cond
from millrace._graph.conversion import convert, convert_n_to_tensor
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import is_sparse
from millrace._input.queue_runner import QueueRunner, add_queue_runner
from millrace._ops.arithmetic import cast, equal
from millrace._ops.arrays import where
from millrace._ops.reductions import reduce_min
from millrace._state.queues import FIFOQueue, PaddingFIFOQueue
from millrace._summaries.building import scalar
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def bucket(
    tensors,
    which_bucket,
    batch_size,
    num_buckets,
    num_threads=1,
    capacity=32,
    bucket_capacities=None,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    keep_input=True,
    shared_name=None,
    name=None,
):
    """Batches of examples of one bucket each.

    Threads put examples into the queues of their buckets, and batches of those into one queue. All that is
    in whole batches comes out when the input has ended.

    Args:
      tensors: a list or dictionary of Tensors, an example.
      which_bucket: an int32 scalar from 0 up to num_buckets.
      batch_size: how many a batch has; or a list with a number for each bucket.
      num_buckets: how many there are.
      num_threads: how many threads put examples in.
      capacity: how many batches are held; bucket_capacities: how many examples, for each bucket, as many
        if None.
      shapes: of the example's Tensors, if they are not known.
      dynamic_pad: True for examples of several shapes: a batch is padded to its largest.
      allow_smaller_final_batch: True to have the rest of a bucket at the end.
      keep_input: a bool scalar: whether to take the example.
      shared_name: what names of shared queues begin with.
      name: the name scope.

    Returns:
      (the number of the bucket, an int32 scalar; the batch, a list or dictionary).

    Raises:
      ValueError: for another number of sizes than buckets, or unknown shapes. TypeError: for SparseTensors.
    """
    keys = sorted(tensors, key=str) if isinstance(tensors, dict) else None
    given = [tensors[key] for key in keys] if keys is not None else list(tensors)
    if any(is_sparse(tensor) for tensor in given):
        raise TypeError("bucket takes Tensors: make dense ones of SparseTensors first")
    sizes = _for_each(batch_size, num_buckets, "batch_size")
    capacities = bucket_capacities if bucket_capacities is not None else capacity
    capacities = _for_each(capacities, num_buckets, "bucket_capacities")
    with name_scope(name, "bucket", given):
        given = convert_n_to_tensor(given)
        which = convert(which_bucket, dtypes.int32, "which_bucket")
        kinds = [tensor.dtype.base_dtype for tensor in given]
        shapes = [TensorShape(each) for each in shapes] if shapes else [t.shape for t in given]
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            make(
                room,
                kinds,
                shapes,
                shared_name=f"{shared_name}_{i}" if shared_name is not None else None,
                name=f"bucket_queue_{i}",
            )
            for i, room in enumerate(capacities)
        ]
        is_fixed = not allow_smaller_final_batch and len(set(sizes)) == 1
        rows = TensorShape([sizes[0] if is_fixed else None])
        batches = PaddingFIFOQueue(
            capacity,
            [dtypes.int32, *kinds],
            [TensorShape([]), *(rows.concatenate(shape) for shape in shapes)],
            shared_name=shared_name,
            name="top_queue",
        )
        _fill_buckets(queues, given, which, keep_input, num_threads)
        _fill_batches(batches, queues, sizes, allow_smaller_final_batch)
        part = cast(batches.size(), dtypes.float32) * (1.0 / capacity)
        scalar(f"bucket/{batches.name}/fraction_of_{capacity}_full", part)
        chosen, *taken = batches.dequeue(name="dequeue_top")
        return chosen, taken if keys is None else dict(zip(keys, taken))


def _for_each(value, count, name):
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(f"{name} must have num_buckets ({count}) elements, got {values}")
    return values


def _fill_buckets(queues, given, which, keep_input, num_threads):
    def put(i):
        return queues[i].enqueue(given)

    def put_into_its_own():
        return group(
            *(cond(equal(which, i), functools.partial(put, i), no_op) for i in range(len(queues))),
            name="group_enqueues",
        )

    made = smart_cond(keep_input, put_into_its_own, no_op)
    operation = getattr(made, "op", made)
    add_queue_runner(
        QueueRunner(
            queues[0],
            [operation] * num_threads,
            # The end of the input is the end of each bucket.
            close_op=group(*(queue.close() for queue in queues)),
            cancel_op=group(*(queue.close(cancel_pending_enqueues=True) for queue in queues)),
        )
    )


def _fill_batches(batches, queues, sizes, allow_smaller_final_batch):
    operations = []
    for i, (queue, size) in enumerate(zip(queues, sizes)):
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        taken = take(size, name=f"read_bucket_{i}")
        taken = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        operations.append(batches.enqueue([i, *taken], name=f"enqueue_from_bucket_{i}"))
    # It closes once all buckets are empty.
    add_queue_runner(QueueRunner(batches, operations))


def bucket_by_sequence_length(
    input_length,
    tensors,
    batch_size,
    bucket_boundaries,
    num_threads=1,
    capacity=32,
    bucket_capacities=None,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    keep_input=True,
    shared_name=None,
    name=None,
):
    """Batches of examples of about one length.

    Args:
      input_length: the length of the example, an int32 scalar.
      tensors: a list or dictionary of Tensors, an example.
      bucket_boundaries: increasing numbers: an example belongs between two of them, the upper one not
        included; or below the first, or from the last on.
      Others: as for bucket.

    Returns:
      (the lengths of the batch's examples, a vector; the batch, a list or dictionary).

    Raises:
      TypeError: for boundaries that are no list of integers. ValueError: for none, or if they do not
        increase; and as for bucket.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(
            f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}"
        )
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    if not all(isinstance(each, int) for each in bucket_boundaries):
        raise TypeError(f"bucket boundaries must be integers, but saw: {bucket_boundaries}")
    for low, high in zip(bucket_boundaries, bucket_boundaries[1:]):
        if low >= high:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}"
            )
    keys = sorted(tensors, key=str) if isinstance(tensors, dict) else None
    given = [tensors[key] for key in keys] if keys is not None else list(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *given]):
        length = convert(input_length, dtypes.int32, "input_length")
        ends = np.array([*bucket_boundaries, np.iinfo(np.int32).max], np.int32)
        which = cast(reduce_min(where(gen_ops.less(length, convert(ends)))), dtypes.int32)
        _, taken = bucket(
            [length, *given],
            which,
            batch_size,
            len(bucket_boundaries) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [TensorShape([]), *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        return taken[0], taken[1:] if keys is None else dict(zip(keys, taken[1:]))
