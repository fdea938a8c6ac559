"""Input of replicas: a batch taken apart, or an element for each."""

import enum

import numpy as np

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.dataset import Dataset
from millrace._flow.control_flow import group
from millrace._graph.default_graph import device
from millrace._graph.graph import get_default_graph
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arrays import concat
from millrace._ops.sparse_layout import sparse_slice
from millrace._state.replicated_variables import above_devices
from millrace._supervised.distribution.per_replica import regrouped


class InputReplicationMode(enum.Enum):
    """How often an input function is called: once in each task."""

    PER_WORKER = "PER_WORKER"


class InputContext:
    """Which part of the input a task reads.

    Args:
      num_input_pipelines: how many tasks read.
      input_pipeline_id: which of them this is.
      num_replicas_in_sync: how many replicas work in step.
    """

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size):
        """A replica's part of a batch for all. ValueError if replicas' parts would differ."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync

    def __str__(self):
        return f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"


class DistributedDataset:
    """Datasets as replicas read them.

    Args:
      strategy: the strategy.
      datasets: a list of one Dataset.
      is_split: True if its elements are batches for all replicas of all tasks, to be taken apart; False if each
        replica of this task takes one in turn.
    """

    def __init__(self, strategy, datasets, is_split):
        (self._dataset,) = datasets
        self._strategy = strategy
        self._is_split = is_split

    def make_initializable_iterator(self):
        """A DistributedIterator that begins when its initializer runs, and each time anew."""
        return self._iterator("make_initializable_iterator")

    def make_one_shot_iterator(self):
        """A DistributedIterator that goes along once, and needs no initializer."""
        return self._iterator("make_one_shot_iterator")

    def _iterator(self, make):
        with above_devices(get_default_graph()), device(self._strategy.extended.dataset_device):
            iterator = getattr(self._dataset, make)()
        return DistributedIterator(self._strategy, iterator, self._is_split)

    @property
    def element_spec(self):
        """As Dataset.element_spec, of the whole elements."""
        return self._dataset.element_spec


class DistributedIterator:
    """A walk along a dataset, whose elements replicas share.

    Args:
      strategy: the strategy.
      iterator: the Iterator.
      is_split: as for DistributedDataset.
    """

    def __init__(self, strategy, iterator, is_split):
        self._strategy = strategy
        self._iterator = iterator
        self._is_split = is_split

    def get_next(self, name=None):
        """An element with a PerReplica at each leaf. Steps behind the last fail with OutOfRangeError.

        A batch whose rows are no multiple of the replicas gives the last of them fewer, or none. Of elements that
        are taken in turn, those are left out that do not suffice for all.
        """
        extended = self._strategy.extended
        replicas = range(len(extended.worker_devices))
        with above_devices(get_default_graph()), device(extended.dataset_device):
            if not self._is_split:
                return regrouped(self._in_turn(replicas, name))
            element = self._iterator.get_next(name)
            total = extended.first_replica, self._strategy.num_replicas_in_sync
            return regrouped([_rows_of(element, total[0] + which, total[1]) for which in replicas])

    def _in_turn(self, replicas, name):
        made = []
        for _ in replicas:
            before = [leaf.op for leaf in elements.flatten(made[-1])] if made else []
            with get_default_graph().control_dependencies(before):
                made.append(self._iterator.get_next(name))
        return made

    def initialize(self):
        """A list with the Operation that begins the walk."""
        return [self._iterator.initializer]

    @property
    def initializer(self):
        """The Operation that begins the walk. ValueError if there is none."""
        return group(*self.initialize())

    @property
    def output_types(self):
        return self._iterator.output_types

    @property
    def output_shapes(self):
        return self._iterator.output_shapes

    @property
    def output_classes(self):
        return self._iterator.output_classes


class CalledForEach:
    """What a function gives, as an iterator: called once for each replica.

    Args:
      strategy: the strategy.
      function: without arguments; gives a structure of Tensors.
    """

    def __init__(self, strategy, function):
        self._strategy = strategy
        self._function = function

    def get_next(self, name=None):
        """An element with a PerReplica at each leaf."""
        extended = self._strategy.extended
        with above_devices(get_default_graph()), device(extended.dataset_device):
            return regrouped([self._function() for _ in extended.worker_devices])

    def initialize(self):
        """[]: there is nothing to begin."""
        return []


def _rows_of(element, replica, count):
    """A replica's rows of a batch: as many as the others', or what is left."""

    def rows(leaf):
        if isinstance(leaf, SparseTensor):
            return _rows_of_sparse(leaf, replica, count)
        size = leaf.shape[0].value if leaf.shape.ndims else None
        if size is None:
            begin, end = _share_of(gen_ops.shape(leaf)[0], replica, count)
            return leaf[begin:end]
        share = -(-size // count)
        return leaf[min(replica * share, size) : min((replica + 1) * share, size)]

    return elements.map_structure(rows, element)


def _share_of(total, replica, count):
    """(the first row that is a replica's, the first after these), for a Tensor that says how many there are."""
    share = (total + count - 1) // count
    return gen_ops.minimum(replica * share, total), gen_ops.minimum((replica + 1) * share, total)


def _rows_of_sparse(leaf, replica, count):
    begin, end = _share_of(leaf.dense_shape[0], replica, count)
    sizes = leaf.dense_shape[1:]
    return sparse_slice(
        leaf,
        concat([[begin], gen_ops.zeros_like(sizes)], 0),
        concat([[end - begin], sizes], 0),
    )


def dataset_of_arrays(arrays):
    """A Dataset of the rows of NumPy arrays, lists of them included."""
    return Dataset.from_tensor_slices(elements.map_structure(np.asarray, _tuples(arrays)))


def _tuples(structure):
    if isinstance(structure, (list, tuple)) and not hasattr(structure, "_make"):
        return tuple(_tuples(item) for item in structure)
    return structure
