"""Batches of pictures in files: of folders, and of tables that name them."""

import os
import warnings

import numpy as np

from millrace._keras.picture_batches import Iterator, Kept, share_of
from millrace._samples.pictures import ENDINGS, img_to_array, load_img


class FileIterator(Iterator):
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


class DirectoryIterator(FileIterator):
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
                begin, end = share_of(subset, image_data_generator.validation_split, len(found))
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
            Kept(save_to_dir, save_prefix, save_format, data_format),
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


def _columns(dataframe, names):
    """A column of a table as an array, or several side by side."""
    if isinstance(names, (list, tuple)):
        return np.stack([np.asarray(dataframe[name]) for name in names], 1)
    return np.asarray(dataframe[names])


def _rows_of_pictures(folder, names):
    """Which of some names are those of pictures in a folder."""
    found = [
        row
        for row, name in enumerate(names)
        if str(name).lower().endswith(ENDINGS) and os.path.isfile(os.path.join(folder, str(name)))
    ]
    if len(found) < len(names):
        warnings.warn(
            f"Found {len(names) - len(found)} invalid image filename(s): they are left out. Give "
            "validate_filenames=False to keep them."
        )
    return found


class DataFrameIterator(FileIterator):
    """Batches of pictures whose names, and what comes with them, are columns of a table.

    Args:
      dataframe: a pandas.DataFrame; directory: the folder of the files; None if names are paths.
      x_col: the column of names; y_col: the column of classes or numbers, or a list of them.
      class_mode: "categorical", "binary" and "sparse" for classes, "raw" for the numbers themselves, or as
        for DirectoryIterator.
      validate_filenames: whether rows whose file is not there, or is no picture by its name, are left out, with a
        warning.
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
        validate_filenames=True,
    ):
        if class_mode not in (*_CLASS_MODES, "raw", "other"):
            raise ValueError(f"Invalid class_mode: {class_mode}")
        names, targets = list(dataframe[x_col]), None
        rows = list(range(len(names)))
        if validate_filenames:
            rows = _rows_of_pictures(directory or "", names)
        if subset is not None:
            begin, end = share_of(subset, image_data_generator.validation_split, len(rows))
            rows = rows[begin:end]
        names = [names[row] for row in rows]
        self.filenames, self.samples = names, len(names)
        if class_mode in ("raw", "other"):
            targets = _columns(dataframe, y_col)[rows]
        elif class_mode not in (None, "input"):
            columns = _columns(dataframe, y_col)[rows].tolist()
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
            Kept(save_to_dir, save_prefix, save_format, data_format),
            interpolation,
            dtype,
        )
