"""RecordInput: records of many files in random order, without a queue."""

from millrace import _gen as gen_ops
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import reshape, split


class RecordInput:
    """Gives records of TFRecord files, shuffled, again and again.

    Args:
      file_pattern: which files.
      batch_size: how many records at a time.
      buffer_size: among how many they are shuffled.
      parallelism: how many files are read at a time.
      shift_ratio: by which part of the files each pass begins further on.
      seed: of the shuffling; 0 for another one each time.
      name: of the node; "record_input" if None.
      batches: how many batches `get_yield_op` gives: lists of single records. None for one, as a vector.
      compression_type: "", "GZIP" or "ZLIB"; or None.

    Raises:
      ValueError: if `batch_size` is not positive.
    """

    def __init__(
        self,
        file_pattern,
        batch_size=1,
        buffer_size=1,
        parallelism=1,
        shift_ratio=0,
        seed=0,
        name=None,
        batches=None,
        compression_type=None,
    ):
        if batch_size < 1:
            raise ValueError(f"RecordInput: batch_size must be at least 1, got {batch_size}")
        self._batch_size = batch_size * (batches or 1)
        self._batches = batches
        self._name = name or "record_input"
        self._settings = {
            "file_pattern": file_pattern,
            "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "file_shuffle_shift_ratio": shift_ratio,
            "file_random_seed": seed,
            "compression_type": compression_type or "",
        }

    def get_yield_op(self):
        """The next records: a string vector, or a list of lists of scalars, one for each batch."""
        records = gen_ops.record_input(
            batch_size=self._batch_size, name=self._name, **self._settings
        )
        if self._batches is None:
            return records
        with name_scope(self._name):
            single = [reshape(record, []) for record in split(records, self._batch_size, 0)]
        return [single[first :: self._batches] for first in range(self._batches)]
