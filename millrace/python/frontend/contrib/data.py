"""tf.contrib.data: where datasets were before TensorFlow 1.4, and their transformations after it."""

from millrace._data.choices import choose_from_datasets, sample_from_datasets
from millrace._data.contrib_transformations import assert_element_shape, sliding_window_batch
from millrace._data.csv_files import CsvDataset, make_csv_dataset
from millrace._data.dataset import Dataset
from millrace._data.feature_files import (
    make_batched_features_dataset,
    parse_example_dataset,
    read_batch_features,
)
from millrace._data.iterators import Iterator
from millrace._data.optionals import Optional, get_next_as_optional
from millrace._data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from millrace._data.resampling import Reducer, group_by_reducer, rejection_resample
from millrace._data.sparse_batches import dense_to_sparse_batch
from millrace._data.transformations import *
