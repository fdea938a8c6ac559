"""Datasets of files of Examples, as dictionaries of features: make_batched_features_dataset and its parts."""

from millrace._data.csv_files import shuffled_and_repeated
from millrace._data.dataset import AUTOTUNE, Dataset, made
from millrace._data.elements import Spec
from millrace._data.readers import TFRecordDataset
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._ops.composite_specs import SparseTensorSpec
from millrace._ops.parsing import Columns, SparseFeature, parse_example, with_sparse_features
from millrace._values import dtypes
from millrace._values.tensor_spec import TensorSpec

__all__ = [
    "make_batched_features_dataset",
    "parse_example_dataset",
    "read_batch_features",
]


def parse_example_dataset(features, num_parallel_calls=1):
    """What parses each element of a dataset, a vector of Examples as bytes, to {key: Tensor or SparseTensor}.

    Args:
      features: {key: FixedLenFeature, VarLenFeature or the like}, as for tf.parse_example.
      num_parallel_calls: how many are parsed at a time.

    Returns:
      a function from a Dataset to a Dataset.

    Raises:
      ValueError: without features; applied, TypeError for a dataset of something else.
    """
    if features is None:
        raise ValueError("Missing: features was None.")

    def apply(dataset):
        _check_examples(dataset)
        columns = Columns(features)
        parsed = made(
            "parse_example_dataset",
            _spec_of(columns, dataset.output_shapes),
            dataset.variant,
            convert(num_parallel_calls, dtypes.int64, name="num_parallel_calls"),
            columns.defaults,
            options=dataset.options(),
            sparse_keys=columns.sparse_keys,
            dense_keys=columns.dense_keys,
            sparse_types=columns.sparse_types,
            dense_shapes=columns.dense_shapes,
        )
        if not any(isinstance(each, SparseFeature) for each in features.values()):
            return parsed
        return parsed.map(lambda found: with_sparse_features(features, found), num_parallel_calls)

    return apply


def _check_examples(dataset):
    is_one = dataset.output_classes is Tensor and dataset.output_types == dtypes.string
    if not is_one or not dataset.output_shapes.is_compatible_with([None]):
        raise TypeError("Input dataset should be a dataset of vectors of strings")


def _spec_of(columns, batch):
    """That of the features of batches of a shape; those of several places are parsed one by one."""
    specs = {
        key: SparseTensorSpec(batch.concatenate([None]), dtype)
        for key, dtype in zip(columns.sparse_keys, columns.sparse_types)
    }
    for key, dtype, shape in zip(columns.dense_keys, columns.dense_types, columns.dense_shapes):
        specs[key] = TensorSpec(batch.concatenate(shape), dtype)
    return Spec.from_specs(specs)


def make_batched_features_dataset(
    file_pattern,
    batch_size,
    features,
    reader=TFRecordDataset,
    label_key=None,
    reader_args=None,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=AUTOTUNE,
    reader_num_threads=1,
    parser_num_threads=2,
    sloppy_ordering=False,
    drop_final_batch=False,
):
    """Groups of Examples of files, as dictionaries of features.

    Args:
      file_pattern: a pattern of paths, or a list of them.
      batch_size: how many Examples make a group.
      features: as for parse_example_dataset.
      reader: a function of a path (and reader_args) that gives a Dataset of Examples as bytes, or of pairs
        of which they are the second.
      label_key: the feature that is the label; None for none.
      reader_args: a list.
      num_epochs: how often all Examples are given; None for without end, in whole groups.
      shuffle, shuffle_buffer_size, shuffle_seed: whether files and Examples come in another order.
      prefetch_buffer_size: how many groups are ready ahead.
      reader_num_threads: how many files are read in turns.
      parser_num_threads: how many groups are parsed at a time.
      sloppy_ordering: accepted; turns are kept.
      drop_final_batch: True to leave out a last group that is smaller.

    Returns:
      a Dataset of {key: Tensor or SparseTensor}, or of that without the label, and the label.

    Raises:
      ValueError: if label_key is none of the features; TypeError if reader gives no Dataset.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: {sorted(features)}."
        )
    dataset = _groups(
        file_pattern,
        batch_size,
        reader,
        reader_args,
        num_epochs,
        shuffle_buffer_size if shuffle else None,
        shuffle_seed,
        reader_num_threads,
        drop_final_batch,
    )
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads))
    if label_key is not None:

        def parted(parsed):
            label = parsed.pop(label_key)
            return parsed, label

        dataset = dataset.map(parted)
    return dataset.prefetch(prefetch_buffer_size)


def _groups(
    file_pattern,
    batch_size,
    reader,
    reader_args,
    num_epochs,
    buffer_size,
    seed,
    num_files,
    drop_remainder,
):
    """A dataset of vectors of Examples as bytes; in the order of the files if buffer_size is None."""

    def examples(name):
        read = reader(name, *(reader_args or []))
        if not isinstance(read, Dataset):
            raise TypeError(
                f"The `reader` argument must return a `Dataset` object, not {read!r}; pass "
                "tf.data.TFRecordDataset in place of tf.TFRecordReader"
            )
        return read

    dataset = Dataset.list_files(file_pattern, buffer_size is not None, seed)
    dataset = dataset.interleave(examples, num_files, 1)
    if dataset.output_types == (dtypes.string, dtypes.string):
        dataset = dataset.map(lambda _, example: example)
    dataset = shuffled_and_repeated(dataset, num_epochs, buffer_size, seed)
    return dataset.batch(batch_size, drop_remainder=drop_remainder or num_epochs is None)


def read_batch_features(
    file_pattern,
    batch_size,
    features,
    reader=TFRecordDataset,
    reader_args=None,
    randomize_input=True,
    num_epochs=None,
    capacity=10000,
):
    """The next group of Examples of files: {key: Tensor or SparseTensor}.

    Args:
      features: {key: FixedLenFeature, VarLenFeature or the like}, as for tf.parse_example.
      file_pattern, batch_size, reader, reader_args, num_epochs: as for make_batched_features_dataset.
      randomize_input: its `shuffle`; capacity: its shuffle_buffer_size.

    Raises:
      as there; OutOfRangeError when it runs after the last group.
    """
    buffer_size = capacity if randomize_input else None
    groups = _groups(
        file_pattern, batch_size, reader, reader_args, num_epochs, buffer_size, None, 1, False
    )
    examples = groups.prefetch(AUTOTUNE).make_one_shot_iterator().get_next()
    return parse_example(examples, features)
