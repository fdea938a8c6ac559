"""Arrays as input: batches of their rows, in order or shuffled, once or again and again."""

import threading

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.default_graph import name_scope
from millrace._input.queue_runner import QueueRunner, add_queue_runner
from millrace._ops.arithmetic import cast
from millrace._ops.script_calls import py_func
from millrace._state.queues import FIFOQueue, RandomShuffleQueue
from millrace._summaries.building import scalar
from millrace._values import dtypes

_LABEL = "__label__"


class _Rows:
    """Hands out rows, `size` at a time, of each of several arrays; any thread may ask."""

    def __init__(self, arrays, size, num_epochs):
        self._arrays = arrays
        self._size = size
        self._left = num_epochs  # None: without end
        self._at = 0
        self._lock = threading.Lock()

    def __call__(self):
        with self._lock:
            if self._left is not None and self._left <= 0:
                raise StopIteration("the arrays were read to the end")
            begin, count = self._at, len(self._arrays[0])
            end = min(begin + self._size, count)
            self._at = end
            if end == count:
                self._at = 0
                if self._left is not None:
                    self._left -= 1
        return [array[begin:end] for array in self._arrays]


def _dequeued(arrays, batch_size, num_epochs, shuffle, capacity, num_threads):
    types = [
        dtypes.as_dtype(array.dtype) if array.dtype.kind not in "OSU" else dtypes.string
        for array in arrays
    ]
    shapes = [array.shape[1:] for array in arrays]
    with name_scope("enqueue_input"):
        kept = capacity // 4 if shuffle else 0
        if shuffle:
            queue = RandomShuffleQueue(capacity, kept, types, shapes)
        else:
            queue = FIFOQueue(capacity, types, shapes)
        rows = _Rows(arrays, min(batch_size, capacity), num_epochs)
        enqueues = []
        for _ in range(num_threads):
            taken = py_func(rows, [], types, name="rows")
            for tensor, shape in zip(taken, shapes):
                tensor.set_shape([None, *shape])
            enqueues.append(queue.enqueue_many(taken))
        add_queue_runner(QueueRunner(queue, enqueues))
        _show_fill(queue, kept, capacity - kept)
        take = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
        found = take(batch_size)
    return found if isinstance(found, (list, tuple)) else [found]


def _show_fill(queue, kept, room):
    """A summary of how full the queue is, beyond what it keeps to choose from."""
    share = cast(gen_ops.maximum(0, queue.size() - kept), dtypes.float32) * (1.0 / room)
    scalar(f"queue/{queue.name}fraction_over_{kept}_of_{room}_full", share)


def numpy_input_fn(
    x,
    y=None,
    batch_size=128,
    num_epochs=1,
    shuffle=None,
    queue_capacity=1000,
    num_threads=1,
):
    """An input_fn of arrays.

    Args:
      x: an array, or a dictionary of them, all of one length.
      y: labels: likewise; None for none.
      batch_size: how many rows a step gets; fewer at the end.
      num_epochs: how often each row comes; None for no end.
      shuffle: True or False, and not left out.
      queue_capacity: how many rows wait at most.
      num_threads: how many threads take rows; with one, rows come in order.

    Returns:
      a function without arguments that gives features, or (features, labels).

    Raises:
      ValueError: for lengths that differ, or a shuffle that is no bool.
      TypeError: for other x.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True "
            f"for training); got {shuffle}"
        )
    features, is_dictionary = _named(x, "x", None)
    labels, labels_are_dictionary = ({}, False) if y is None else _named(y, "y", _LABEL)
    lengths = {name: len(array) for name, array in (*features.items(), *labels.items())}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the same "
            f"length. Lengths: {lengths}"
        )
    if not next(iter(lengths.values())):
        raise ValueError("x has no rows")

    def input_fn():
        arrays = [*features.values(), *labels.values()]
        tensors = _dequeued(arrays, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
        found = dict(zip(features, tensors)) if is_dictionary else tensors[0]
        if y is None:
            return found
        rest = tensors[len(features) :]
        return found, dict(zip(labels, rest)) if labels_are_dictionary else rest[0]

    return input_fn


def _named(given, what, only):
    """({name: array}, whether they came by name)."""
    if isinstance(given, dict):
        if not given:
            raise ValueError(
                f"{what} cannot be an empty dict" + (", use None instead." if only else "")
            )
        return {name: np.asarray(given[name]) for name in sorted(given)}, True
    if what == "x" and not isinstance(given, np.ndarray):
        raise TypeError(f"x must be a dict or array; got {type(given).__name__}")
    return {only: np.asarray(given)}, False


def pandas_input_fn(
    x,
    y=None,
    batch_size=128,
    num_epochs=1,
    shuffle=None,
    queue_capacity=1000,
    num_threads=1,
    target_column="target",
):
    """An input_fn of a pandas DataFrame: features by column, and "index"; labels of a Series, or None.

    Args:
      x: the DataFrame; y: a Series with the same index, or a DataFrame, or None.
      target_column: what the labels' column is called.
      The others as for numpy_input_fn.
    """
    columns = {str(name): x[name].values for name in x.columns}
    columns["index"] = x.index.values
    if y is None:
        labels = None
    elif not (x.index == y.index).all():
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
        )
    elif hasattr(y, "columns"):
        labels = {str(name): y[name].values for name in y.columns}
    else:
        labels = y.values
    if target_column in columns and y is not None:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has one"
        )
    return numpy_input_fn(
        columns, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )
