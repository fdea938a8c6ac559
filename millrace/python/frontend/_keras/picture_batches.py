"""Batches of samples, and of pictures in arrays, changed by chance on their way."""

import os
import threading

import numpy as np

from millrace._keras.batches import Sequence
from millrace._samples.pictures import save_img


class Iterator(Sequence):
    """The base of batches of samples: each sample once in an epoch, then on to the next one.

    Classes that derive from it define `batch_of(places)`, which gives the batch of samples at these.

    Args:
      n: the number of samples; batch_size: of a batch; shuffle: whether each epoch has another order.
      seed: of the order, and of changes; another one each time if None.
    """

    def __init__(self, n, batch_size, shuffle, seed):
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.index_array = None
        self._lock = threading.Lock()

    def batch_of(self, places):
        """The batch of the samples at places, an array of ints."""
        raise NotImplementedError

    def _set_index_array(self):
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _seeded(self):
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def reset(self):
        """Has the next batch be the first one of an epoch."""
        self.batch_index = 0

    def on_epoch_end(self):
        self._set_index_array()

    def __len__(self):
        return -(-self.n // self.batch_size)

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise ValueError(
                f"Asked to retrieve element {index}, but the Sequence has length {len(self)}"
            )
        self._seeded()
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        begin = index * self.batch_size
        return self.batch_of(self.index_array[begin : begin + self.batch_size])

    def __iter__(self):
        return self

    def __next__(self):
        if not self.n:
            raise ValueError("There are no samples.")
        with self._lock:
            self._seeded()
            if self.batch_index == 0:
                self._set_index_array()
            begin = self.batch_index * self.batch_size
            places = self.index_array[begin : begin + self.batch_size]
            is_last = begin + self.batch_size >= self.n
            self.batch_index = 0 if is_last else self.batch_index + 1
            self.total_batches_seen += 1
        return self.batch_of(places)

    next = __next__


class Kept:
    """Writes pictures of batches into a folder, if there is one."""

    def __init__(self, folder, prefix, ending, data_format):
        self.folder, self.prefix, self.ending = folder, prefix, ending
        self.data_format = data_format

    def keep(self, batch, places):
        """Writes each picture of a batch; places: their numbers among all, for the names."""
        if not self.folder:
            return
        for picture, place in zip(batch, places):
            name = f"{self.prefix}_{place}_{np.random.randint(10**7)}.{self.ending}"
            save_img(os.path.join(self.folder, name), picture, self.data_format)


def share_of(subset, split, count):
    """The (begin, end) of what a subset has of `count` samples."""
    if subset not in ("training", "validation"):
        raise ValueError(f'Invalid subset name: {subset};expected "training" or "validation"')
    held_out = int(split * count)
    return (0, held_out) if subset == "validation" else (held_out, count)


class NumpyArrayIterator(Iterator):
    """Batches of pictures that are in an array, each changed by a generator.

    Args:
      x: the pictures, or a list of them and of other arrays, which come along; y: labels; None for none.
      image_data_generator: an ImageDataGenerator.
      sample_weight: a number for each picture, which comes along.
      save_to_dir, save_prefix, save_format: where and how pictures of batches are written too.
      subset: "training" or "validation": the part that the generator's validation_split gives it.
      others: as for Iterator; data_format: where channels are; dtype: of the batches.

    Raises:
      ValueError: if lengths differ, pictures have not four axes, or for another subset.
    """

    def __init__(
        self,
        x,
        y,
        image_data_generator,
        batch_size=32,
        shuffle=False,
        sample_weight=None,
        seed=None,
        data_format="channels_last",
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        dtype="float32",
    ):
        x, *others = x if isinstance(x, (list, tuple)) else [x]
        others = [np.asarray(each) for each in others]
        x = np.asarray(x)
        y = None if y is None else np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for each, what in [(y, "labels"), (weights, "weights"), *((o, "others") for o in others)]:
            if each is not None and len(each) != len(x):
                raise ValueError(
                    f"`x` (images tensor) and its {what} should have the same length. Found: "
                    f"{x.shape} and {each.shape}"
                )
        if subset is not None:
            begin, end = share_of(subset, image_data_generator.validation_split, len(x))
            x, others = x[begin:end], [each[begin:end] for each in others]
            y = None if y is None else y[begin:end]
            weights = None if weights is None else weights[begin:end]
        if x.ndim != 4:
            raise ValueError(
                "Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
                f"{x.shape}"
            )
        self.x, self.others, self.y, self.sample_weight = x.astype(dtype), others, y, weights
        self.generator, self.dtype = image_data_generator, dtype
        self._written = Kept(save_to_dir, save_prefix, save_format, data_format)
        super().__init__(len(x), batch_size, shuffle, seed)

    def batch_of(self, places):
        made = [self.generator.changed(self.x[place]) for place in places]
        batch = np.array(made, self.dtype)
        self._written.keep(batch, places)
        inputs = [batch, *(each[places] for each in self.others)] if self.others else batch
        if self.y is None:
            return inputs
        more = () if self.sample_weight is None else (self.sample_weight[places],)
        return (inputs, self.y[places], *more)
