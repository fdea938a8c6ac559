"""Datasets of the rows of CSV files: fields as Tensors, in groups, by the names of their columns."""

import contextlib
import csv
import gzip
import itertools
import math
import os

from millrace import _gen as gen_ops
from millrace._data.dataset import AUTOTUNE, Dataset, made
from millrace._data.elements import Spec
from millrace._data.transformations import shuffle_and_repeat
from millrace._files import paths
from millrace._graph.conversion import constant, convert
from millrace._graph.operation import Tensor
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = ["CsvDataset", "make_csv_dataset"]

_BUFFER = 4 * 1024 * 1024

# What a column may be, the narrowest first.
_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)


class CsvDataset(Dataset):
    """The rows of CSV files, each a tuple of scalars; fields in quotes may have lines in them.

    Args:
      filenames: a string, a list or Tensor of them, or a Dataset of strings.
      record_defaults: for each column a type, where it must be there, or a default value.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: accepted if it is larger than 0.
      header: True to leave out the first record of each file.
      field_delim: what parts fields, one character.
      use_quote_delim: False to take quotes as they are.
      na_value: a field that stands for a missing one.
      select_cols: which columns are wanted, in ascending order; None for all.
      exclude_cols: which are not, in place of select_cols.

    Steps fail with InvalidArgumentError for a row of more or fewer fields, a field of another type, or one
    that is missing and must be there. The next row is there all the same.
    """

    def __init__(
        self,
        filenames,
        record_defaults,
        compression_type=None,
        buffer_size=None,
        header=False,
        field_delim=",",
        use_quote_delim=True,
        na_value="",
        select_cols=None,
        exclude_cols=None,
    ):
        defaults = [_default(each) for each in record_defaults]
        options = [
            convert(value, dtype, name=name)
            for name, value, dtype in (
                ("compression_type", compression_type or "", dtypes.string),
                ("buffer_size", _BUFFER if buffer_size is None else buffer_size, dtypes.int64),
                ("header", header, dtypes.bool),
                ("field_delim", field_delim, dtypes.string),
                ("use_quote_delim", use_quote_delim, dtypes.bool),
                ("na_value", na_value, dtypes.string),
                ("select_cols", [] if select_cols is None else select_cols, dtypes.int64),
            )
        ]
        spec = Spec(
            (Tensor,) * len(defaults),
            [each.dtype for each in defaults],
            [TensorShape([]) for _ in defaults],
        )

        def rows(names):
            given = (gen_ops.reshape(names, [-1]), *options, defaults)
            # The older op is what servers of TensorFlow 1 know.
            if exclude_cols is None:
                return made("csv_dataset", spec, *given, infers_types=True)
            excluded = convert(exclude_cols, dtypes.int64, name="exclude_cols")
            return made("csv_dataset_v2", spec, *given, excluded, infers_types=True)

        if isinstance(filenames, Dataset):
            all_rows = filenames.flat_map(rows)
        else:
            all_rows = rows(convert(filenames, dtypes.string, "filenames"))
        super().__init__(all_rows.variant, all_rows.spec)


def _default(given):
    """What the op takes: nothing of a type, or one value; [] is a field that must be there, of float32."""
    if isinstance(given, (dtypes.DType, type)):
        return constant([], dtypes.as_dtype(given))
    return convert(given)


def make_csv_dataset(
    file_pattern,
    batch_size,
    column_names=None,
    column_defaults=None,
    label_name=None,
    select_columns=None,
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    header=True,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=AUTOTUNE,
    num_parallel_reads=1,
    sloppy=False,
    num_rows_for_inference=100,
    compression_type=None,
):
    """Groups of rows of CSV files, as dictionaries of columns.

    Args:
      file_pattern: a pattern of paths, or a list of them. Files are looked at by this process.
      batch_size: how many rows make a group.
      column_names: the columns' names; None for those in the first line.
      column_defaults: as for CsvDataset; None to have types guessed, and 0 or "" for what is missing.
      label_name: the column that is the label; None for none.
      select_columns: names or numbers of the columns that are wanted; None for all.
      field_delim, use_quote_delim, na_value, compression_type: as for CsvDataset.
      header: whether files have a first line of names.
      num_epochs: how often all rows are given; None for without end, in whole groups.
      shuffle, shuffle_buffer_size, shuffle_seed: whether rows come in another order, see Dataset.shuffle.
      prefetch_buffer_size: how many groups are ready ahead.
      num_parallel_reads: how many files are read in turns.
      sloppy: accepted.
      num_rows_for_inference: by how many rows of all files types are guessed; None for all.

    Returns:
      a Dataset of {name: vector}, or of that without the label, and the label.

    Raises:
      ValueError: if no file matches, names are missing, differ between files or come twice, or label_name
        or one of select_columns is none.
    """
    files = _Files(file_pattern, field_delim, use_quote_delim, na_value, header, compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = files.column_names()
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    wanted = None
    if select_columns is not None:
        wanted = _numbers(select_columns, column_names)
    if column_defaults is None:
        column_defaults = files.guessed(len(column_names), wanted, num_rows_for_inference)
    if wanted is not None:
        column_names = [column_names[i] for i in wanted]
    if len(column_names) != len(column_defaults):
        raise ValueError(
            f"there are {len(column_names)} columns and {len(column_defaults)} column_defaults"
        )
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def rows(name):
        return CsvDataset(
            name,
            column_defaults,
            compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=wanted,
        )

    def named(*columns):
        features = dict(zip(column_names, columns))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    names = Dataset.from_tensor_slices(convert(files.names, dtypes.string))
    if shuffle:
        names = names.shuffle(len(files.names), shuffle_seed)
    dataset = names.interleave(rows, num_parallel_reads, 1)
    dataset = shuffled_and_repeated(
        dataset, num_epochs, shuffle_buffer_size if shuffle else None, shuffle_seed
    )
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset if prefetch_buffer_size is None else dataset.prefetch(prefetch_buffer_size)


def shuffled_and_repeated(dataset, num_epochs, buffer_size, seed):
    """A dataset so often (None: without end), in another order each time unless buffer_size is None."""
    if buffer_size is not None and num_epochs != 1:
        return dataset.apply(shuffle_and_repeat(buffer_size, num_epochs, seed))
    if buffer_size is not None:
        return dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def _numbers(wanted, names):
    """Numbers of columns, ascending, from their names or numbers."""
    numbers = []
    for each in wanted:
        if (
            isinstance(each, int)
            and not 0 <= each < len(names)
            or isinstance(each, str)
            and each not in names
        ):
            raise ValueError(f"select_columns: there is no column {each!r} among {list(names)}")
        numbers.append(each if isinstance(each, int) else list(names).index(each))
    if len(set(numbers)) != len(numbers):
        raise ValueError("Cannot have duplicate column indices.")
    return sorted(numbers)


class _Files:
    """CSV files as this process reads them, to learn of columns and types."""

    def __init__(self, pattern, delimiter, quotes, na_value, header, compression):
        patterns = [pattern] if isinstance(pattern, (str, os.PathLike)) else list(pattern)
        if not patterns:
            raise ValueError("File pattern is empty.")
        self.names = sorted({path for each in patterns for path in paths.matching(each)})
        if not self.names:
            raise ValueError(f"No files match {pattern}.")
        self._options = {
            "delimiter": delimiter,
            "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        }
        self._na_value, self._header, self._compression = na_value, header, compression

    def _rows(self, name):
        with self._opened(name) as file:
            yield from csv.reader(file, **self._options)

    @contextlib.contextmanager
    def _opened(self, name):
        if not self._compression:
            with paths.open_file(name, newline="", encoding="utf-8") as file:
                yield file
            return
        if self._compression != "GZIP":
            raise ValueError(
                f"compression_type ({self._compression}) is not supported for probing columns: "
                "column_names and column_defaults must be given"
            )
        with paths.open_file(name, "rb") as packed:
            with gzip.open(packed, "rt", newline="", encoding="utf-8") as file:
                yield file

    def column_names(self):
        first, *others = (next(self._rows(name), []) for name in self.names)
        for name, row in zip(self.names[1:], others):
            if row != first:
                raise ValueError(
                    f"Files have different column names in the header row: {name} has {row}, and "
                    f"{self.names[0]} has {first}"
                )
        return first

    def guessed(self, count, wanted, most):
        """A default for each column that is wanted, of the narrowest type that all its fields fit."""
        wanted = range(count) if wanted is None else wanted
        found = dict.fromkeys(wanted, 0)
        is_seen = set()
        rows = (
            (name, row)
            for name in self.names
            for row in itertools.islice(self._rows(name), int(self._header), None)
        )
        for name, row in itertools.islice(rows, most):
            if len(row) != count:
                raise ValueError(
                    f"Problem inferring types: CSV row {row} of {name} has {len(row)} number of "
                    f"fields. Expected: {count}."
                )
            for column in wanted:
                if row[column] not in ("", self._na_value):
                    is_seen.add(column)
                    found[column] = _type_from(row[column], found[column])
        types = [_TYPES[found[column]] if column in is_seen else dtypes.string for column in wanted]
        return [constant(["" if each == dtypes.string else 0], each) for each in types]


def _type_from(text, first):
    """The number of the first type, from a given one on, that a field is of."""
    return next(number for number in range(first, len(_TYPES)) if _fits(text, _TYPES[number]))


def _fits(text, dtype):
    if dtype == dtypes.string:
        return True
    try:
        value = int(text) if dtype.is_integer else float(text)
    except ValueError:
        return False
    return dtype.min <= value <= dtype.max or (not dtype.is_integer and not math.isfinite(value))
