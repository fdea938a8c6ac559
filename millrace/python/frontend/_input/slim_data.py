"""slim's data: where records are and how they are decoded, and what reads several files at a time."""

import collections

from millrace._files import paths
from millrace._graph.default_graph import name_scope
from millrace._input.producers import string_input_producer
from millrace._input.queue_runner import QueueRunner, add_queue_runner
from millrace._ops.arithmetic import add_n, to_float
from millrace._state.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from millrace._summaries import building as summary
from millrace._values import dtypes as types

# Where records are (data_sources: files or patterns), what reads and decodes them, how many there are, and
# what their items mean.
Dataset = collections.namedtuple(
    "Dataset", ["data_sources", "reader", "decoder", "num_samples", "items_to_descriptions"]
)


class DataProvider:
    """Tensors of items by name.

    Args:
      items_to_tensors: a dictionary of Tensors.
      num_samples: how many samples there are.
    """

    def __init__(self, items_to_tensors, num_samples):
        self._tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items):
        """A list of the Tensors of these items. ValueError for one that is none."""
        for item in items:
            if item not in self._tensors:
                raise ValueError(
                    f"Items {items} are not all of {self.list_items()}: {item!r} is not"
                )
        return [self._tensors[item] for item in items]

    def list_items(self):
        """The names of all items."""
        return list(self._tensors)

    def num_samples(self):
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """The items of the records of a Dataset.

    Args:
      dataset: a Dataset.
      num_readers: how many files to read at a time.
      reader_kwargs: keyword arguments of its reader.
      shuffle: whether to take files and records in random order.
      num_epochs: how often to read each file; None for ever.
      common_queue_capacity, common_queue_min: how many records are held, and at least held for shuffling.
      record_key: the name of the item that is where a record is from.
      seed: for shuffling.
      scope: the name scope.

    Raises:
      ValueError: if there are no files, or the dataset has an item of the name record_key.
    """

    def __init__(
        self,
        dataset,
        num_readers=1,
        reader_kwargs=None,
        shuffle=True,
        num_epochs=None,
        common_queue_capacity=256,
        common_queue_min=128,
        record_key="record_key",
        seed=None,
        scope=None,
    ):
        key, data = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs,
            num_readers,
            reader_kwargs,
            shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        tensors = dict(zip(items, dataset.decoder.decode(data, items)))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)


class ParallelReader:
    """Reads several files at a time into one queue.

    Args:
      reader_class: a reader such as tf.TFRecordReader.
      common_queue: a queue of two components, strings: of names and records.
      num_readers: how many readers to make.
      reader_kwargs: their keyword arguments.

    Raises:
      TypeError: for a queue of other components.
    """

    def __init__(self, reader_class, common_queue, num_readers=4, reader_kwargs=None):
        if [dtype.base_dtype for dtype in common_queue.dtypes] != [types.string] * 2:
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._queue = common_queue

    @property
    def num_readers(self):
        return len(self._readers)

    @property
    def common_queue(self):
        return self._queue

    def read(self, queue, name=None):
        """The next record, (key, value); `queue` has the names of files. Adds a QueueRunner."""
        self._fill_from(queue)
        return self._queue.dequeue(name=name)

    def read_up_to(self, queue, num_records, name=None):
        """The next records, at most so many: (keys, values). Adds a QueueRunner."""
        self._fill_from(queue)
        return self._queue.dequeue_up_to(num_records, name=name)

    def _fill_from(self, queue):
        enqueue_ops = [self._queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._queue, enqueue_ops))

    def num_records_produced(self, name=None):
        """How many records all have given: an int64 scalar."""
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name=None):
        """How many files all have read to their end: an int64 scalar."""
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def _fill_summary(queue, capacity):
    part = to_float(queue.size()) * (1.0 / capacity)
    summary.scalar(f"queue/{queue.name}/fraction_of_{capacity}_full", part)


def parallel_read(
    data_sources,
    reader_class,
    num_epochs=None,
    num_readers=4,
    reader_kwargs=None,
    shuffle=True,
    dtypes=None,
    capacity=256,
    min_after_dequeue=128,
    seed=None,
    scope=None,
):
    """(key, value) of records that several readers read.

    Args:
      data_sources: a file, a pattern, or a list of them.
      reader_class, reader_kwargs, num_readers: as for ParallelReader.
      num_epochs: how often to read each file; None for ever.
      shuffle: whether to take files and records in random order.
      dtypes: of the common queue; [tf.string, tf.string] if None.
      capacity, min_after_dequeue: how many records are held, and at least held for shuffling.
      seed: for shuffling.
      scope: the name scope; "parallel_read" by default.

    Raises:
      ValueError: if there are no files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        kinds = dtypes or [types.string, types.string]
        if shuffle:
            queue = RandomShuffleQueue(
                capacity, min_after_dequeue, kinds, seed=seed, name="common_queue"
            )
        else:
            queue = FIFOQueue(capacity, kinds, name="common_queue")
        _fill_summary(queue, capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(data_sources, reader_class, reader_kwargs=None, scope=None):
    """(key, value) of records in their order, once; arguments as for parallel_read."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources):
    """The files of a pattern, or of a list of files and patterns. ValueError if there are none."""
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(letter in data_sources for letter in "*?["):
        files = paths.matching(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


def prefetch_queue(
    tensors, capacity=8, num_threads=1, dynamic_pad=False, shared_name=None, name=None
):
    """A queue that threads fill with these Tensors, ahead of who takes them out.

    Args:
      tensors: a list of Tensors, or a dictionary of them.
      capacity: how many are held.
      num_threads: how many threads fill it.
      dynamic_pad: True for shapes that are not wholly known.
      shared_name, name: of the queue, as in tf.FIFOQueue.

    Returns:
      the queue; its dequeue gives Tensors, or a dictionary of them.
    """
    names = None
    if isinstance(tensors, dict):
        names = sorted(tensors)
        tensors = [tensors[each] for each in names]
    with name_scope(name, "prefetch_queue", tensors):
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = make(
            capacity,
            [tensor.dtype.base_dtype for tensor in tensors],
            [tensor.shape for tensor in tensors],
            names=names,
            shared_name=shared_name,
        )
        taken = dict(zip(names, tensors)) if names else tensors
        add_queue_runner(QueueRunner(queue, [queue.enqueue(taken)] * num_threads))
        part = to_float(queue.size()) * (1.0 / capacity)
        summary.scalar(f"fraction_of_{capacity}_full", part)
        return queue
