"""The value of a ragged tensor, as sessions give it and take it."""

import numpy as np

from millrace._values import dtypes


class RaggedTensorValue:
    """Rows of different lengths: values one behind the other, and where rows begin.

    Attributes:
      values: a NumPy array, or a RaggedTensorValue: what the rows hold.
      row_splits: an int32 or int64 vector; row i is values[row_splits[i]:row_splits[i + 1]].

    Raises:
      TypeError: if row_splits is no such array; ValueError: if it is no vector.
    """

    def __init__(self, values, row_splits):
        if not isinstance(row_splits, (np.ndarray, np.generic)) or row_splits.dtype not in (
            np.int32,
            np.int64,
        ):
            raise TypeError(f"row_splits must be an int32 or int64 array, not {row_splits!r}")
        if row_splits.ndim != 1:
            raise ValueError(f"row_splits must be a vector, but has shape {row_splits.shape}")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError(f"values must be an array or a RaggedTensorValue, not {values!r}")
        if isinstance(values, RaggedTensorValue) and values.row_splits.dtype != row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self.values = values
        self.row_splits = row_splits

    @property
    def flat_values(self):
        """The array that is innermost."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self):
        """The row_splits of every level, the outermost first."""
        inner = self.values
        deeper = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self.row_splits, *deeper)

    @property
    def ragged_rank(self):
        """How many levels there are."""
        return len(self.nested_row_splits)

    @property
    def dtype(self):
        """NumPy's type of the flat values."""
        return self.flat_values.dtype

    @property
    def shape(self):
        """The sizes as a tuple, with None for those that differ from row to row."""
        outer = (len(self.row_splits) - 1,) + (None,) * self.ragged_rank
        return outer + self.flat_values.shape[1:]

    def to_list(self):
        """All values as nested Python lists."""
        inner = self.values
        rows = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self.row_splits.tolist()
        return [rows[begin:end] for begin, end in zip(splits, splits[1:])]

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"

    __str__ = __repr__


def as_splits_dtype(dtype):
    """The DType of row splits. ValueError unless it is int32 or int64."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"row splits are int32 or int64, not {dtype.name}")
    return dtype
