"""Batches of pictures, from arrays, folders and tables, changed by chance on their way."""

import os
import threading

import numpy as np

from millrace._keras.batches import Sequence
from millrace._samples.pictures import ENDINGS, img_to_array, load_img, save_img


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


class _Kept:
    """Writes pictures of batches into a folder, if there is one."""

    def __init__(self, folder, prefix, ending, data_format):
        self.folder, self.prefix, self.ending = folder, prefix, ending
        self.data_format = data_format

    def keep(self, batch, places):
        if not self.folder:
            return
        for picture, place in zip(batch, places):
            name = f"{self.prefix}_{place}_{np.random.randint(10**7)}.{self.ending}"
            save_img(os.path.join(self.folder, name), picture, self.data_format)


def _share(subset, split, count):
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
            begin, end = _share(subset, image_data_generator.validation_split, len(x))
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
        self._written = _Kept(save_to_dir, save_prefix, save_format, data_format)
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


class _FileIterator(Iterator):
    """Batches of pictures that are in files."""

    def __init__(
        self,
        generator,
        files,
        targets,
        target_size,
        color_mode,
        class_mode,
        batch_size,
        shuffle,
        seed,
        data_format,
        kept,
        interpolation,
        dtype,
    ):
        if color_mode not in ("grayscale", "rgb", "rgba"):
            raise ValueError(
                f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".'
            )
        self.generator, self.filepaths, self._targets = generator, files, targets
        self.target_size, self.color_mode = tuple(target_size), color_mode
        self.class_mode, self.data_format = class_mode, data_format
        self.interpolation, self.dtype, self._written = interpolation, dtype, kept
        channels = {"grayscale": 1, "rgb": 3, "rgba": 4}[color_mode]
        is_first = data_format == "channels_first"
        self.image_shape = (
            (channels, *self.target_size) if is_first else (*self.target_size, channels)
        )
        super().__init__(len(files), batch_size, shuffle, seed)

    def batch_of(self, places):
        batch = np.zeros((len(places), *self.image_shape), self.dtype)
        for i, place in enumerate(places):
            img = load_img(
                self.filepaths[place],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            )
            batch[i] = self.generator.changed(img_to_array(img, self.data_format))
        self._written.keep(batch, places)
        if self.class_mode is None:
            return batch
        if self.class_mode == "input":
            return batch, batch.copy()
        return batch, self._targets[places]


_CLASS_MODES = ("categorical", "binary", "sparse", "input", None)


def _labels(classes, count, class_mode):
    """Class numbers in the form of a class_mode."""
    classes = np.array(classes, "int32")
    if class_mode == "categorical":
        return np.eye(count, dtype="float32")[classes]
    return classes.astype("float32")


class DirectoryIterator(_FileIterator):
    """Batches of pictures in the folders of a folder, each of which is a class.

    Args:
      directory: the folder; image_data_generator: an ImageDataGenerator.
      target_size: (height, width) that pictures become; color_mode: "rgb", "rgba" or "grayscale".
      classes: the names of the folders in the order of their numbers; all of them, sorted, if None.
      class_mode: what comes with pictures: "categorical" for vectors with a one, "binary" or "sparse" for
        numbers, "input" for the pictures themselves, None for nothing.
      follow_links: whether links to folders are followed.
      interpolation: how pictures become of that size; others as for NumpyArrayIterator.

    Attributes:
      samples: how many there are; classes: the class of each; class_indices: {name: number}; filenames: their
        names from the folder on.

    Raises:
      ValueError: for unknown modes; OSError: if the folder cannot be read.
    """

    def __init__(
        self,
        directory,
        image_data_generator,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format="channels_last",
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        follow_links=False,
        subset=None,
        interpolation="nearest",
        dtype="float32",
    ):
        if class_mode not in _CLASS_MODES:
            raise ValueError(
                f"Invalid class_mode: {class_mode}; expected one of {', '.join(map(str, _CLASS_MODES))}"
            )
        if not classes:
            classes = sorted(each.name for each in os.scandir(directory) if each.is_dir())
        self.directory, self.num_classes = directory, len(classes)
        self.class_indices = {name: number for number, name in enumerate(classes)}
        self.filenames, numbers = [], []
        for name in classes:
            found = _pictures_below(os.path.join(directory, name), follow_links)
            if subset is not None:
                begin, end = _share(subset, image_data_generator.validation_split, len(found))
                found = found[begin:end]
            self.filenames += [os.path.relpath(each, directory) for each in found]
            numbers += [self.class_indices[name]] * len(found)
        self.classes, self.samples = np.array(numbers, "int32"), len(numbers)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(
            image_data_generator,
            [os.path.join(directory, each) for each in self.filenames],
            _labels(numbers, self.num_classes, class_mode),
            target_size,
            color_mode,
            class_mode,
            batch_size,
            shuffle,
            seed,
            data_format,
            _Kept(save_to_dir, save_prefix, save_format, data_format),
            interpolation,
            dtype,
        )

    @property
    def labels(self):
        return self.classes


def _pictures_below(folder, follow_links):
    found = []
    for top, _, names in sorted(os.walk(folder, followlinks=follow_links)):
        found += [os.path.join(top, n) for n in sorted(names) if n.lower().endswith(ENDINGS)]
    return found


class DataFrameIterator(_FileIterator):
    """Batches of pictures whose names, and what comes with them, are columns of a table.

    Args:
      dataframe: a pandas.DataFrame; directory: the folder of the files; None if names are paths.
      x_col: the column of names; y_col: the column of classes or numbers, or a list of them.
      class_mode: "categorical", "binary" and "sparse" for classes, "raw" for the numbers themselves, or as
        for DirectoryIterator.
      others: as for DirectoryIterator.

    Raises:
      ValueError: for unknown modes and classes.
    """

    def __init__(
        self,
        dataframe,
        directory=None,
        image_data_generator=None,
        x_col="filename",
        y_col="class",
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format="channels_last",
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        interpolation="nearest",
        dtype="float32",
    ):
        if class_mode not in (*_CLASS_MODES, "raw", "other"):
            raise ValueError(f"Invalid class_mode: {class_mode}")
        names = list(dataframe[x_col])
        columns = [] if class_mode in (None, "input") else dataframe[y_col]
        if subset is not None:
            begin, end = _share(subset, image_data_generator.validation_split, len(names))
            names = names[begin:end]
            columns = columns[begin:end]
        self.filenames, self.samples, targets = names, len(names), None
        if class_mode in ("raw", "other"):
            targets = np.array(columns.values)
        elif class_mode not in (None, "input"):
            classes = list(classes or sorted(set(columns)))
            self.class_indices = {name: number for number, name in enumerate(classes)}
            unknown = set(columns) - set(classes)
            if unknown:
                raise ValueError(
                    f"There are classes {sorted(unknown)} that are not among {classes}"
                )
            self.classes = [self.class_indices[each] for each in columns]
            targets = _labels(self.classes, len(classes), class_mode)
        super().__init__(
            image_data_generator,
            [os.path.join(directory or "", each) for each in names],
            targets,
            target_size,
            color_mode,
            class_mode,
            batch_size,
            shuffle,
            seed,
            data_format,
            _Kept(save_to_dir, save_prefix, save_format, data_format),
            interpolation,
            dtype,
        )
