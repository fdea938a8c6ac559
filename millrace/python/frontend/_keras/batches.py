"""Arrays as a model's batches."""

import numpy as np

from millrace._data.transformations import INFINITE_CARDINALITY, cardinality
from millrace._graph.graph import get_default_graph
from millrace._keras import sessions
from millrace._values import errors


class Sequence:
    """The base of data sets that give batches by their number: in any order, and the same ones again.

    Classes that derive from it define `__getitem__(index)`, which gives (x, y) or (x, y, weights), and
    `__len__()`, the number of batches.
    """

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def on_epoch_end(self):
        """After each epoch."""

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def batches(self, count, shuffles):
        """The first `count` batches, all if None; in another order each time if `shuffles`."""
        order = np.arange(len(self))
        if shuffles:
            np.random.shuffle(order)
        return (self[int(i)] for i in order[:count])


def is_iterator(data):
    """Whether it gives batches one after the other, and does not say how many."""
    return hasattr(data, "__next__") and not isinstance(data, Sequence)


def is_dataset(data):
    """Whether it is a tf.data.Dataset."""
    return hasattr(data, "make_initializable_iterator")


def iterator_of(data):
    """An iterator over the arrays of a tf.data.Dataset or of its iterator; anything else as it is."""
    if is_dataset(data):
        return values_of(data)
    if not hasattr(data, "get_next") or hasattr(data, "__next__"):
        return data
    return _values(data.get_next())


class _Passes:
    """Iterators over datasets of one graph, as far as nothing goes along them: {dataset: [(initializer, element)]};
    and sizes."""

    def __init__(self):
        self.free = {}
        self.sizes = {}  # what datasets say of how many elements they have


def size_of(dataset):
    """How many elements a tf.data.Dataset has; None if that shows only at its end.

    Raises:
      ValueError: if it has no end.
    """
    sizes = get_default_graph().own(_Passes).sizes
    if dataset not in sizes:
        sizes[dataset] = int(sessions.get_session().run(cardinality(dataset)))
    size = sizes[dataset]
    if size == INFINITE_CARDINALITY:
        raise ValueError(
            "When passing an infinitely repeating dataset, you must specify how many steps to take: "
            "`steps_per_epoch`, `validation_steps` or `steps`."
        )
    return size if size >= 0 else None


def values_of(dataset):
    """An iterator that goes through the arrays of a tf.data.Dataset once."""
    return _passed(dataset, get_default_graph().own(_Passes).free.setdefault(dataset, []))


def _passed(dataset, free):
    if free:
        initializer, element = free.pop()
    else:
        made = dataset.make_initializable_iterator()
        initializer, element = made.initializer, made.get_next()
    try:
        sessions.get_session().run(initializer)
        yield from _values(element)
    finally:
        free.append((initializer, element))


def _values(element):
    session = sessions.get_session()
    while True:
        try:
            yield session.run(element)
        except errors.OutOfRangeError:
            return


def arrays_of(data, names, what):
    """A list of arrays, one for each name, of an array, a list or a dictionary of them.

    Vectors become columns. ValueError for another number of arrays, or of unequal lengths.
    """
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f"No data provided for {missing[0]!r}. Need data for each of: {names}")
        given = [data[name] for name in names]
    elif isinstance(data, (list, tuple)) and (len(names) > 1 or _holds_arrays(data)):
        given = list(data)
    else:
        given = [data]
    if len(given) != len(names):
        raise ValueError(
            f"Error when checking model {what}: expected to see {len(names)} array(s), but got "
            f"{len(given)} array(s)."
        )
    arrays = [np.asarray(each) for each in given]
    arrays = [array[:, None] if array.ndim == 1 else array for array in arrays]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(
            f"All {what} arrays should have the same number of samples. Got array shapes: "
            f"{[array.shape for array in arrays]}"
        )
    return arrays


def _holds_arrays(data):
    return len(data) == 1 and isinstance(data[0], np.ndarray)


def of_outputs(given, names):
    """A list with one for each output, of a list or a dictionary by names of what is given for outputs, or of
    what is given for all. ValueError for another number of them."""
    if isinstance(given, dict) and given.keys() <= set(names):
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)) and len(names) > 1:
        if len(given) != len(names):
            raise ValueError(f"There are {len(given)} for {len(names)} outputs, {list(names)}")
        return list(given)
    return [given] * len(names)


def weights_of(labels, sample_weight, class_weight, is_temporal=False):
    """A float32 weight for each sample, or for each time of each.

    Args:
      labels: the labels of an output; sample_weight: numbers for them, or None.
      class_weight: {class: number}, or None; is_temporal: whether times have weights.

    Raises:
      ValueError: for weights of another shape, and for classes without one.
    """
    shape = labels.shape[: 1 + is_temporal]
    weights = np.ones(shape, np.float32)
    if sample_weight is not None:
        given = np.asarray(sample_weight, np.float32)
        if given.shape != shape:
            raise ValueError(
                f"Found a sample_weight array with shape {given.shape} for labels with shape {labels.shape}; "
                f'it must be {shape}: weights of times need sample_weight_mode="temporal" in compile'
            )
        weights = weights * given
    if class_weight is None:
        return weights
    if labels.ndim > 2 or not isinstance(class_weight, dict):
        raise ValueError(
            "`class_weight` is a dictionary by class, and not supported for 3+ dimensional targets; labels are "
            f"of shape {labels.shape}"
        )
    classes = (labels.argmax(-1) if labels.shape[-1] > 1 else labels[:, 0]).tolist()
    missing = sorted(set(classes) - class_weight.keys())
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but "
            "not in `class_weight`."
        )
    return weights * np.array([class_weight[each] for each in classes], np.float32)


def split(arrays, share):
    """(the first part, the last `share` of the samples) of a list of arrays."""
    at = int(len(arrays[0]) * (1.0 - share))
    return [array[:at] for array in arrays], [array[at:] for array in arrays]


def batches(arrays, batch_size, shuffles):
    """Lists of the same rows of all arrays, `batch_size` of them at most."""
    count = len(arrays[0])
    order = np.arange(count)
    if shuffles:
        np.random.shuffle(order)
    for begin in range(0, count, batch_size):
        rows = order[begin : begin + batch_size]
        yield [array[rows] for array in arrays]
