"""Datasets of the records of files."""

from millrace import _gen as gen_ops
from millrace._data.dataset import Dataset
from millrace._data.elements import Spec
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]

_BUFFER = 256 * 1024


def _strings():
    return Spec(Tensor, [dtypes.string], [TensorShape([])])


def _names(filenames):
    """The names as a vector: of a string, a list, a Tensor, or a Dataset of strings."""
    names = convert(filenames, dtypes.string, name="filenames")
    return gen_ops.reshape(names, [-1])


def _packing(compression_type):
    return convert(compression_type or "", dtypes.string, name="compression_type")


def _size(buffer_size):
    return convert(
        _BUFFER if buffer_size is None else buffer_size, dtypes.int64, name="buffer_size"
    )


class _FileDataset(Dataset):
    """Records of files, which may be named by a Dataset: then one file after the other."""

    def __init__(self, filenames, make, num_parallel_reads=None):
        if not isinstance(filenames, Dataset):
            if num_parallel_reads is None:
                super().__init__(make(_names(filenames)), _strings())
                return
            filenames = Dataset.from_tensor_slices(_names(filenames))
        each = lambda name: Dataset(make(_names(name)), _strings())
        if num_parallel_reads is None:
            made = filenames.flat_map(each)
        else:
            made = filenames.interleave(
                each, num_parallel_reads, 1, num_parallel_calls=num_parallel_reads
            )
        super().__init__(made.variant, made.spec)


class TextLineDataset(_FileDataset):
    """The lines of files, without their ends.

    Args:
      filenames: a string, a list or Tensor of them, or a Dataset of strings.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: accepted.
      num_parallel_reads: how many files are read at once, in turns; None for one after the other.
    """

    def __init__(
        self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None
    ):
        super().__init__(
            filenames,
            lambda names: gen_ops.text_line_dataset(
                names, _packing(compression_type), _size(buffer_size)
            ),
            num_parallel_reads,
        )


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files, as strings; arguments as for TextLineDataset."""

    def __init__(
        self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None
    ):
        super().__init__(
            filenames,
            lambda names: gen_ops.tf_record_dataset(
                names, _packing(compression_type), _size(buffer_size)
            ),
            num_parallel_reads,
        )


class FixedLengthRecordDataset(_FileDataset):
    """Records of one length out of files, as strings.

    Args:
      filenames, compression_type, buffer_size, num_parallel_reads: as for TextLineDataset.
      record_bytes: the length of a record.
      header_bytes, footer_bytes: how much to leave out at the beginning and the end of each file.
    """

    def __init__(
        self,
        filenames,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        buffer_size=None,
        compression_type=None,
        num_parallel_reads=None,
        name=None,
    ):
        lengths = [
            convert(value or 0, dtypes.int64, name=what)
            for value, what in (
                (header_bytes, "header_bytes"),
                (record_bytes, "record_bytes"),
                (footer_bytes, "footer_bytes"),
            )
        ]
        super().__init__(
            filenames,
            lambda names: gen_ops.fixed_length_record_dataset_v2(
                names, *lengths, _size(buffer_size), _packing(compression_type)
            ),
            num_parallel_reads,
        )
