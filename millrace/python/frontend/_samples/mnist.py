"""MNIST, handwritten digits, read from files; only Keras's one file is fetched if it is not there."""

import collections
import gzip
import math
import os

import numpy as np

from millrace._ops.random_values import get_seed
from millrace._samples.downloads import get_file, keras_folder
from millrace._values import dtypes, errors

_TRAIN = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
_TEST = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")

_NUM_FAKES = 10000
_PIXELS = 784

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
_DIGEST = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"

Datasets = collections.namedtuple("Datasets", "train validation test")


def _bytes_of(path):
    """What is in a file, which may be there unpacked (without .gz), or in an open packed one."""
    if hasattr(path, "read"):
        return gzip.decompress(path.read())
    plain = path.removesuffix(".gz")
    if os.path.exists(path):
        with gzip.open(path) as file:
            return file.read()
    if os.path.exists(plain):
        with open(plain, "rb") as file:
            return file.read()
    raise errors.NotFoundError(
        None,
        None,
        f"there is no '{path}': nothing is downloaded here, put MNIST's four files there",
    )


def _idx(path, magic):
    """The array in a file of idx format: | magic u32 | dims u32 ... | bytes |, numbers big-endian."""
    data = _bytes_of(path)
    path = getattr(path, "name", path)
    rank = magic & 255
    head = np.frombuffer(data[: 4 + 4 * rank], ">u4")
    if head.size != 1 + rank or head[0] != magic:
        raise ValueError(f"Invalid magic number in MNIST file: {path}")
    dims = [int(dim) for dim in head[1:]]
    if len(data) - 4 - 4 * rank != int(np.prod(dims)):
        raise ValueError(f"'{path}' does not have the {dims} bytes that it says")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(dims)


def pictures_in(path):
    """The pictures of a file: uint8 [number, rows, columns]."""
    return _idx(path, 2051)


def digits_in(path):
    """The digits of a file: uint8 [number]."""
    return _idx(path, 2049)


def extract_images(path):
    """The pictures of a file, or of an open packed one: uint8 [number, rows, columns, 1]; says so."""
    print("Extracting", getattr(path, "name", path))
    return pictures_in(path)[..., np.newaxis]


def extract_labels(path, one_hot=False, num_classes=10):
    """The digits of a file, or of an open packed one: uint8 [number], or vectors of num_classes with a one."""
    print("Extracting", getattr(path, "name", path))
    labels = digits_in(path)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense, num_classes):
    """Classes as vectors with a one."""
    return np.eye(num_classes)[labels_dense]


class DataSet:
    """Pictures and their digits, batch by batch.

    Args:
      images: uint8 [number, rows, columns, 1].
      labels: one per picture.
      dtype: float32 for pixels from 0 to 1, uint8 for those of the files.
      reshape: True for pictures as vectors.
      seed: of NumPy's own generator, which is seeded here, gives the order of batches and goes on from there;
        if None, the graph's seed, and without one another order each time.
      fake_data: True for pictures of ones, all of the same class, whatever is given.
      one_hot: True for labels of fake data as vectors.
    """

    def __init__(
        self,
        images,
        labels,
        fake_data=False,
        one_hot=False,
        dtype=dtypes.float32,
        reshape=True,
        seed=None,
    ):
        graph_seed, own_seed = get_seed(seed)
        np.random.seed(graph_seed if seed is None else own_seed)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self.one_hot = one_hot
        self._num_examples = _NUM_FAKES if fake_data else len(images)
        if not fake_data:
            if len(images) != len(labels):
                raise ValueError(f"{len(images)} pictures have {len(labels)} labels")
            if reshape:
                images = images.reshape(len(images), math.prod(images.shape[1:]))
            if dtype == dtypes.float32:
                images = images.astype(np.float32) * np.float32(1 / 255)
        self._images, self._labels = images, labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self):
        return self._images

    @property
    def labels(self):
        return self._labels

    @property
    def num_examples(self):
        return self._num_examples

    @property
    def epochs_completed(self):
        return self._epochs_completed

    def _shuffle(self):
        order = np.arange(self.num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """(pictures, labels) of the next batch; goes on with the first ones after the last.

        With `fake_data`, lists of pictures of ones and of zeros as labels.

        Raises:
          ValueError: if there are fewer pictures than that.
        """
        if fake_data:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * _PIXELS for _ in range(batch_size)], [label] * batch_size
        if batch_size > self.num_examples:
            raise ValueError(
                f"a batch of {batch_size} is more than all {self.num_examples} pictures"
            )
        if self._index_in_epoch == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        end = self._index_in_epoch + batch_size
        if end <= self.num_examples:
            begin, self._index_in_epoch = self._index_in_epoch, end
            return self._images[begin:end], self._labels[begin:end]
        images, labels = self._images[self._index_in_epoch :], self._labels[self._index_in_epoch :]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._index_in_epoch = batch_size - len(images)
        return (
            np.concatenate([images, self._images[: self._index_in_epoch]]),
            np.concatenate([labels, self._labels[: self._index_in_epoch]]),
        )


def read_data_sets(
    train_dir,
    fake_data=False,
    one_hot=False,
    dtype=dtypes.float32,
    reshape=True,
    validation_size=5000,
    seed=None,
    source_url=None,
):
    """MNIST's pictures to train, to validate and to test with, from its four files in a folder.

    Args:
      train_dir: the folder; the files may be packed (.gz) or not.
      one_hot: True for labels as vectors.
      dtype, reshape, seed: as in DataSet.
      validation_size: how many of the first pictures are for validation.
      fake_data: True to read no files; each next_batch must then be told so, too.
      source_url: accepted; nothing is downloaded.

    Raises:
      errors.NotFoundError: if a file is missing; ValueError: if one is no such file, or `validation_size`
        is more than there is.
    """
    if fake_data:
        return Datasets(*(DataSet([], [], True, one_hot, dtype, seed=seed) for _ in range(3)))
    images, labels, test_images, test_labels = (
        extract(os.path.join(train_dir, name))
        for pair in (_TRAIN, _TEST)
        for extract, name in zip((extract_images, lambda path: extract_labels(path, one_hot)), pair)
    )
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    made = [
        DataSet(each, theirs, dtype=dtype, reshape=reshape, seed=seed)
        for each, theirs in (
            (images[validation_size:], labels[validation_size:]),
            (images[:validation_size], labels[:validation_size]),
            (test_images, test_labels),
        )
    ]
    return Datasets(*made)


def load_data(path="mnist.npz"):
    """((pictures, digits) to train with, those to test with).

    Args:
      path: an absolute path, or a name in ~/.keras/datasets, where it is fetched if it is not there.

    Raises:
      errors.NotFoundError: if there is no such file at an absolute path: then nothing is downloaded.
    """
    at = os.path.join(keras_folder(), "datasets", path)
    if not os.path.exists(at):
        if os.path.isabs(path):
            raise errors.NotFoundError(
                None, None, f"there is no '{at}': nothing is downloaded here, put mnist.npz there"
            )
        at = get_file(path, _ORIGIN, file_hash=_DIGEST)
    with np.load(at) as held:
        return (held["x_train"], held["y_train"]), (held["x_test"], held["y_test"])
