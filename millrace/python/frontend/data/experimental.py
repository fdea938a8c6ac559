"""tf.data.experimental: what TensorFlow 1.15 has there of datasets."""

from millrace._data.choices import choose_from_datasets, sample_from_datasets
from millrace._data.csv_files import CsvDataset, make_csv_dataset
from millrace._data.feature_files import make_batched_features_dataset, parse_example_dataset
from millrace._data.optionals import Optional, get_next_as_optional, get_structure
from millrace._data.options import OptimizationOptions, ThreadingOptions
from millrace._data.resampling import Reducer, group_by_reducer, rejection_resample
from millrace._data.sparse_batches import dense_to_sparse_batch
from millrace._data.specs import (
    DatasetStructure,
    OptionalStructure,
    RaggedTensorStructure,
    SparseTensorStructure,
    Structure,
    TensorArrayStructure,
    TensorStructure,
)
from millrace._data.transformations import *
from millrace._data.transformations import map_and_batch as map_and_batch_with_legacy_function
