"""Data sets by name, and rows of CSV files, as tf.contrib.learn reads them."""

import collections
import csv
import os
import urllib.request

import numpy as np

from millrace._files import paths
from millrace._files.refusals import as_status
from millrace._samples.mnist import read_data_sets

Dataset = collections.namedtuple("Dataset", ["data", "target"])


def load_mnist(train_dir="MNIST-data"):
    """MNIST's pictures, from its four files in a folder (`mnist.read_data_sets`)."""
    return read_data_sets(train_dir)


_SETS = {"mnist": load_mnist}


def load_dataset(name, size="small", test_with_fake_data=False):
    """A data set by its name: "mnist" alone, whose files must be in the folder MNIST-data.

    Args:
      name: its name.
      size: goes with sets of texts, which are not here.
      test_with_fake_data: goes with them.

    Raises:
      ValueError: for another name.
    """
    if name not in _SETS:
        raise ValueError(
            f"Name of dataset is not found: '{name}'. Here is {', '.join(_SETS)}; tf.keras.datasets has "
            "more, and load_csv_with_header reads rows of files"
        )
    return _SETS[name]()


def maybe_download(filename, work_directory, source_url):
    """The path of a file in a folder; it is fetched if it is not there, and the folder made.

    Args:
      filename: its name in the folder.
      work_directory: the folder.
      source_url: where it is.

    Raises:
      OSError: if it can't be fetched.
    """
    paths.makedirs(work_directory)
    path = os.path.join(work_directory, filename)
    if not paths.exists(path):
        part = path + ".part"
        urllib.request.urlretrieve(source_url, part)
        os.replace(part, path)  # whoever looks meanwhile finds all of it or nothing
    return path


def load_csv_with_header(filename, target_dtype, features_dtype, target_column=-1):
    """A Dataset of a file whose first line says how many rows and columns of features it has.

    Args:
      filename: the file.
      target_dtype, features_dtype: NumPy's types.
      target_column: which column is the target.

    Raises:
      errors.NotFoundError: if there is no such file; ValueError: for what is no number.
    """
    rows = _rows(filename)
    count, width = int(rows[0][0]), int(rows[0][1])
    data = np.zeros((count, width), dtype=features_dtype)
    target = np.zeros((count,), dtype=target_dtype)
    for index, row in enumerate(rows[1 : count + 1]):
        target[index] = np.asarray(row.pop(target_column)).astype(target_dtype)
        data[index] = np.asarray(row).astype(features_dtype)
    return Dataset(data=data, target=target)


def load_csv_without_header(filename, target_dtype, features_dtype, target_column=-1):
    """A Dataset of a file of rows alone. The arguments of `load_csv_with_header`."""
    data, target = [], []
    for row in _rows(filename):
        target.append(row.pop(target_column))
        data.append(np.array(row, dtype=features_dtype))
    return Dataset(data=np.array(data), target=np.array(target, dtype=target_dtype))


def _rows(filename):
    with as_status(filename), paths.open_file(filename, "r", newline="") as file:
        return list(csv.reader(file))
