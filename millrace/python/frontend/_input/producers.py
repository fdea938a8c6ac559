"""Producers: queues that give out the elements of a Tensor again and again, an epoch after another."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import constant, convert, convert_n_to_tensor
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.operation import Tensor
from millrace._input.queue_runner import QueueRunner, add_queue_runner
from millrace._ops.arithmetic import cast, range
from millrace._ops.arrays import gather, shape, size
from millrace._ops.random_values import random_shuffle
from millrace._state.assignments import count_up_to
from millrace._state.queues import FIFOQueue
from millrace._state.variables import Variable
from millrace._summaries.building import scalar
from millrace._values import dtypes


def match_filenames_once(pattern, name=None):
    """The files that match a pattern, looked up once, by the initializer of local variables.

    Args:
      pattern: a pattern or a vector of them, as tf.matching_files takes.
      name: a name for the nodes.

    Returns:
      a local Variable of strings.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            gen_ops.matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name=scope.rstrip("/"),
        )


def limit_epochs(tensor, num_epochs=None, name=None):
    """`tensor`, which after it was computed `num_epochs` times fails with OutOfRangeError.

    Args:
      tensor: any Tensor.
      num_epochs: how often; None for any number, and then nothing is added.
      name: a name for the nodes.

    The count is a local variable: initialize these first. ValueError if num_epochs is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with control_dependencies([count_up_to(epochs, num_epochs)]):
            return gen_ops.identity(tensor, name=scope)


def input_producer(
    input_tensor,
    element_shape=None,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    summary_name=None,
    name=None,
    cancel_op=None,
):
    """A queue that a QueueRunner fills with the rows of a Tensor.

    Args:
      input_tensor: a Tensor with one element per row.
      element_shape: the shape of an element, if the Tensor's is not known.
      num_epochs: how often each row comes; None for ever. Counted in a local variable.
      shuffle: True for a new order in each epoch; `seed` makes it repeat.
      capacity: of the queue.
      shared_name: by which several sessions find one queue.
      summary_name: a summary of how full it is.
      name: a name for the queue.
      cancel_op: what cancels it; made if None.

    Raises:
      ValueError: if the shape of an element is not known.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert(input_tensor, name="input_tensor")
        element_shape = rows.shape[1:].merge_with(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                f"specified; the shape is {rows.shape}"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype.base_dtype], [element_shape], shared_name=shared_name, name=name
        )
        enqueue = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            scalar(summary_name, cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


def string_input_producer(
    string_tensor,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    name=None,
    cancel_op=None,
):
    """A queue of strings, names of files for instance; arguments as for input_producer.

    Raises:
      ValueError: if the list is empty; if a Tensor turns out to be, running fails.
    """
    complaint = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, Variable)) and not len(string_tensor):
        raise ValueError(complaint)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert(string_tensor, dtypes.string)
        with control_dependencies([Assert(gen_ops.greater(size(strings), 0), [complaint])]):
            strings = gen_ops.identity(strings)
        return input_producer(
            strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            summary_name=f"fraction_of_{capacity}_full",
            name=scope,
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None
):
    """A queue of the integers from 0 to limit - 1; arguments as for input_producer."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range(limit),
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            summary_name=f"fraction_of_{capacity}_full",
            name=scope,
        )


def slice_input_producer(
    tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None
):
    """One row of each Tensor, the same in all: another one in each step.

    Args:
      tensor_list: Tensors with equal first dimensions.
      num_epochs, shuffle, seed, capacity, shared_name, name: as for input_producer.

    Returns:
      a list of Tensors. ValueError if `tensor_list` is empty.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = convert_n_to_tensor(tensor_list)
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            shape(tensors[0])[0],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
