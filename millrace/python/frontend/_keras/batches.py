"""Arrays as a model's batches."""

import itertools

import numpy as np

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


def iterator_of(data):
    """An iterator over the arrays of a tf.data.Dataset or of its iterator; anything else as it is."""
    if hasattr(data, "make_one_shot_iterator"):
        data = data.make_one_shot_iterator()
    if not hasattr(data, "get_next") or hasattr(data, "__next__"):
        return data
    return _values(data.get_next())


def _values(element):
    session = sessions.get_session()
    while True:
        try:
            yield session.run(element)
        except errors.OutOfRangeError:
            return


def steps(iterator, count):
    """The next `count` batches of an iterator, all that it has if there are fewer."""
    return itertools.islice(iterator, count)


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


def weights_of(count, labels, sample_weight, class_weight):
    """A float32 weight for each sample."""
    weights = np.ones(count, np.float32)
    if sample_weight is not None:
        weights = weights * np.asarray(sample_weight, np.float32)
    if class_weight is not None:
        classes = labels.argmax(-1) if labels.shape[-1] > 1 else labels[..., 0].astype(int)
        weights = weights * np.array([class_weight.get(int(c), 1.0) for c in classes], np.float32)
    return weights


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
