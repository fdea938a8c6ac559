"""MNIST, handwritten digits, read from files that are there: nothing is downloaded."""

import collections
import gzip
import os

import numpy as np

from millrace._ops.random_values import get_seed
from millrace._values import dtypes, errors

_TRAIN = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
_TEST = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")

Datasets = collections.namedtuple("Datasets", "train validation test")


def _idx(path, magic):
    """The array in a file of idx format: | magic u32 | dims u32 ... | bytes |, numbers big-endian.

    Says on standard output that it reads, as TensorFlow does, because it takes a while.
    """
    plain = path.removesuffix(".gz")
    if os.path.exists(path):
        with gzip.open(path) as file:
            data = file.read()
    elif os.path.exists(plain):
        with open(plain, "rb") as file:
            data = file.read()
    else:
        raise errors.NotFoundError(
            None,
            None,
            f"there is no '{path}': nothing is downloaded here, put MNIST's four files there",
        )
    print("Extracting", path)
    rank = magic & 255
    head = np.frombuffer(data[: 4 + 4 * rank], ">u4")
    if head.size != 1 + rank or head[0] != magic:
        raise ValueError(f"Invalid magic number in MNIST file: {path}")
    dims = [int(dim) for dim in head[1:]]
    if len(data) - 4 - 4 * rank != int(np.prod(dims)):
        raise ValueError(f"'{path}' does not have the {dims} bytes that it says")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(dims)


def extract_images(path):
    """The pictures of a file: uint8 [number, rows, columns, 1]."""
    return _idx(path, 2051)[..., np.newaxis]


def extract_labels(path, one_hot=False, num_classes=10):
    """The digits of a file: uint8 [number], or vectors of num_classes with a one."""
    labels = _idx(path, 2049)
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
      seed: of the order of batches; if None, the graph's seed, and without one another order each time.

    The order comes from NumPy's own generator, which is seeded here: programs that set a seed meet the
    batches that TensorFlow gives them, and their own draws from NumPy go on from that seed.
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
        if fake_data:
            raise ValueError("fake_data is not here: give arrays to feed instead")
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        if len(images) != len(labels):
            raise ValueError(f"{len(images)} pictures have {len(labels)} labels")
        if reshape:
            images = images.reshape(len(images), -1)
        if dtype == dtypes.float32:
            images = images.astype(np.float32) * np.float32(1 / 255)
        self._images, self._labels = images, labels
        of_graph, of_op = get_seed(seed)
        np.random.seed(of_graph if seed is None else of_op)
        self._epochs_completed = 0
        self._at = 0

    @property
    def images(self):
        return self._images

    @property
    def labels(self):
        return self._labels

    @property
    def num_examples(self):
        return len(self._images)

    @property
    def epochs_completed(self):
        return self._epochs_completed

    def _shuffle(self):
        order = np.random.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """(pictures, labels) of the next batch; goes on with the first ones after the last.

        Raises:
          ValueError: if there are fewer pictures than that.
        """
        if batch_size > self.num_examples:
            raise ValueError(
                f"a batch of {batch_size} is more than all {self.num_examples} pictures"
            )
        if self._at == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        end = self._at + batch_size
        if end <= self.num_examples:
            begin, self._at = self._at, end
            return self._images[begin:end], self._labels[begin:end]
        images, labels = self._images[self._at :], self._labels[self._at :]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at = batch_size - len(images)
        return (
            np.concatenate([images, self._images[: self._at]]),
            np.concatenate([labels, self._labels[: self._at]]),
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
      dtype, reshape, seed: as in DataSet; NumPy's generator is seeded.
      validation_size: how many of the first pictures are for validation.
      source_url: accepted; nothing is downloaded.

    Raises:
      errors.NotFoundError: if a file is missing; ValueError: if one is no such file, or `validation_size`
        is more than there is.
    """
    names = [os.path.join(train_dir, name) for name in (*_TRAIN, *_TEST)]
    images, labels = extract_images(names[0]), extract_labels(names[1], one_hot)
    test_images, test_labels = extract_images(names[2]), extract_labels(names[3], one_hot)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    made = [
        DataSet(each, theirs, fake_data, dtype=dtype, reshape=reshape, seed=seed)
        for each, theirs in (
            (images[validation_size:], labels[validation_size:]),
            (images[:validation_size], labels[:validation_size]),
            (test_images, test_labels),
        )
    ]
    return Datasets(*made)


def load_data(path="mnist.npz"):
    """((pictures, digits) to train with, those to test with), from ~/.keras/datasets or a path.

    Raises:
      errors.NotFoundError: if there is no such file: nothing is downloaded.
    """
    at = path
    if not os.path.isabs(path):
        at = os.path.join(os.path.expanduser("~"), ".keras", "datasets", path)
    if not os.path.exists(at):
        raise errors.NotFoundError(
            None, None, f"there is no '{at}': nothing is downloaded here, put mnist.npz there"
        )
    with np.load(at) as held:
        return (held["x_train"], held["y_train"]), (held["x_test"], held["y_test"])
