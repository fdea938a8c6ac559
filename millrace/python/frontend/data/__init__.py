"""tf.data: datasets, and iterators that feed steps from them."""

from millrace._data.dataset import AUTOTUNE, Dataset
from millrace._data.dataset_spec import DatasetSpec
from millrace._data.iterators import Iterator
from millrace._data.options import Options
from millrace._data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from millrace._data.transformations import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from millrace.data import experimental


def make_one_shot_iterator(dataset):
    """dataset.make_one_shot_iterator()."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset, shared_name=None):
    """dataset.make_initializable_iterator(shared_name)."""
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator):
    """The structure of types of a Dataset or Iterator."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator):
    """The structure of shapes of a Dataset or Iterator."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator):
    """The structure of classes of a Dataset or Iterator."""
    return dataset_or_iterator.output_classes
