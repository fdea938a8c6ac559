"""Keras's small data sets: each is one file, which get_file fetches if it is not there."""

import json
import os
import pickle
import zipfile

import numpy as np

from millrace._samples import mnist
from millrace._samples.downloads import get_file

_STORE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def _file(path, digest):
    """A file by its path, or by its name in the cache, where it is fetched and checked."""
    if os.path.isabs(path):
        return path
    return get_file(path, _STORE + os.path.basename(path), file_hash=digest)


def _paired(x, y, path):
    """(x, y). ValueError if a file has not a label for each sample."""
    if len(x) != len(y):
        raise ValueError(f"{path} has {len(x)} samples and {len(y)} labels: it is torn")
    return x, y


def boston_housing(path="boston_housing.npz", test_split=0.2, seed=113):
    """((x, y) to train with, (x, y) to test with): 13 facts of suburbs, and the price of houses in $1000.

    Args:
      path: an absolute path, or a name in ~/.keras/datasets; test_split: the share to test with.
      seed: of the order.

    Raises:
      ValueError: for a share that is not from 0 to below 1, or a file without a label for each sample.
    """
    if not 0 <= test_split < 1:
        raise ValueError(f"test_split must be from 0 to below 1, not {test_split}")
    path = _file(path, "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5")
    with np.load(path) as held:
        x, y = _paired(held["x"], held["y"], path)
    order = np.random.RandomState(seed).permutation(len(x))
    x, y = x[order], y[order]
    count = int(len(x) * (1 - test_split))
    return (x[:count], y[:count]), (x[count:], y[count:])


def fashion_mnist():
    """((pictures, classes) to train with, those to test with): uint8 [number, 28, 28] and [number]."""
    names = (
        "train-labels-idx1-ubyte.gz",
        "train-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
    )
    folder = os.path.join("datasets", "fashion-mnist")
    paths = [get_file(name, _STORE + name, cache_subdir=folder) for name in names]
    y_train, y_test = (mnist.digits_in(path) for path in paths[::2])
    x_train, x_test = (mnist.pictures_in(path) for path in paths[1::2])
    return _paired(x_train, y_train, paths[1]), _paired(x_test, y_test, paths[3])


class _Arrays(pickle.Unpickler):
    """Reads lists, dictionaries, bytes and arrays, and nothing that could run: the files are from elsewhere."""

    _KNOWN = {
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    }

    def find_class(self, module, name):
        if (module, name) not in self._KNOWN:
            raise ValueError(f"A file of data asks for {module}.{name}: it is none")
        return super().find_class(module, name)


def _lists_of(path):
    """{name: array} of an .npz file whose arrays may hold lists."""
    made = {}
    with zipfile.ZipFile(path) as held:
        for name in held.namelist():
            with held.open(name) as file:
                version = np.lib.format.read_magic(file)
                read_head = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
                has_objects = read_head(file)[2].hasobject
                if not has_objects:
                    file.seek(0)
                made[name.removesuffix(".npy")] = (
                    _Arrays(file).load() if has_objects else np.lib.format.read_array(file)
                )
    return made


def _cifar_batch(path, label_key):
    with open(path, "rb") as file:
        held = _Arrays(file, encoding="bytes").load()
    data, labels = _paired(held[b"data"], held[label_key.encode()], path)
    return data.reshape(len(data), 3, 32, 32), labels


def _cifar(name, train, test, label_key):
    """The pictures of files in an archive, channels last."""
    folder = get_file(name, f"https://www.cs.toronto.edu/~kriz/{_ARCHIVES[name]}", untar=True)
    parts = [_cifar_batch(os.path.join(folder, each), label_key) for each in [*train, test]]
    x = np.concatenate([part[0] for part in parts]).transpose(0, 2, 3, 1)
    y = np.concatenate([np.asarray(part[1], "uint8") for part in parts])[:, None]
    count = sum(len(part[0]) for part in parts[:-1])
    return (x[:count], y[:count]), (x[count:], y[count:])


_ARCHIVES = {
    "cifar-10-batches-py": "cifar-10-python.tar.gz",
    "cifar-100-python": "cifar-100-python.tar.gz",
}


def cifar10():
    """((pictures, classes) to train with, those to test with): uint8 [number, 32, 32, 3] and [number, 1]."""
    train = [f"data_batch_{i}" for i in range(1, 6)]
    return _cifar("cifar-10-batches-py", train, "test_batch", "labels")


def cifar100(label_mode="fine"):
    """cifar10 with 100 classes ("fine") or 20 ("coarse"). ValueError for another mode."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    return _cifar("cifar-100-python", ["train"], "test", f"{label_mode}_labels")


def _marked(sequences, start_char, index_from):
    """Lists of word numbers moved on, each with its mark of the begin."""
    if start_char is not None:
        return [[start_char, *(word + index_from for word in each)] for each in sequences]
    return [[word + index_from for word in each] for each in sequences]


def _limited(sequences, num_words, skip_top, oov_char):
    """Without words beyond the limits, or with oov_char in their place."""
    # Without a limit Keras leaves out the last word of all.
    num_words = num_words or max(max(each, default=0) for each in sequences)

    def is_known(word):
        return skip_top <= word < num_words

    if oov_char is not None:
        return [[word if is_known(word) else oov_char for word in each] for each in sequences]
    return [[word for word in each if is_known(word)] for each in sequences]


def _shuffled(x, y, random):
    order = random.permutation(len(x))
    return [list(x[i]) for i in order], y[order]


def _lists(sequences):
    made = np.empty(len(sequences), object)
    made[:] = sequences
    return made


def imdb(
    path="imdb.npz",
    num_words=None,
    skip_top=0,
    maxlen=None,
    seed=113,
    start_char=1,
    oov_char=2,
    index_from=3,
):
    """((reviews, whether they praise) to train with, those to test with); reviews are lists of word numbers.

    Args:
      path: an absolute path, or a name in ~/.keras/datasets.
      num_words: only the most frequent words up to this number; skip_top: without so many of them.
      maxlen: only reviews that are shorter; what is left to train with and to test with stays apart, which
        TensorFlow 1.15 mixes.
      seed: of the order; start_char: what each begins with; oov_char: what stands for words left out, which are
        dropped if it is None; index_from: what is added to the numbers.

    Raises:
      ValueError: if no review is short enough.
    """
    path = _file(path, "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f")
    held = _lists_of(path)
    parts = [_paired(held[f"x_{name}"], held[f"y_{name}"], path) for name in ("train", "test")]
    random = np.random.RandomState(seed)
    (x_train, y_train), (x_test, y_test) = (_shuffled(x, y, random) for x, y in parts)
    words = _marked(x_train + x_test, start_char, index_from)
    y = np.concatenate([y_train, y_test])
    count = len(x_train)
    if maxlen:
        kept = [i for i, each in enumerate(words) if len(each) < maxlen]
        if not kept:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept."
            )
        count = sum(i < count for i in kept)
        words, y = [words[i] for i in kept], y[kept]
    words = _lists(_limited(words, num_words, skip_top, oov_char))
    return (words[:count], y[:count]), (words[count:], y[count:])


def reuters(
    path="reuters.npz",
    num_words=None,
    skip_top=0,
    maxlen=None,
    test_split=0.2,
    seed=113,
    start_char=1,
    oov_char=2,
    index_from=3,
):
    """((news, their topics) to train with, those to test with), as imdb gives reviews; test_split: the share
    to test with."""
    path = _file(path, "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916")
    held = _lists_of(path)
    words, y = _shuffled(*_paired(held["x"], held["y"], path), np.random.RandomState(seed))
    words = _marked(words, start_char, index_from)
    if maxlen:
        kept = [i for i, each in enumerate(words) if len(each) < maxlen]
        words, y = [words[i] for i in kept], y[kept]
    words = _lists(_limited(words, num_words, skip_top, oov_char))
    count = int(len(words) * (1 - test_split))
    return (words[:count], y[:count]), (words[count:], y[count:])


def imdb_word_index(path="imdb_word_index.json"):
    """{word: number} of imdb, before index_from is added."""
    with open(_file(path, "bfafd718b763782e994055a2d397834f")) as file:
        return json.load(file)


def reuters_word_index(path="reuters_word_index.json"):
    """{word: number} of reuters, before index_from is added."""
    with open(_file(path, "4d44cc38712099c9e383dc6e5f11a921")) as file:
        return json.load(file)
