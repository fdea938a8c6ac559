"""What fills a table: keys and values that are at hand, or the lines of a text file."""

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import add_to_collection, name_scope
from millrace._values import dtypes


class TextFileIndex:
    """What of a line is a key or a value, where that is no column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializerBase:
    """What fills a table of these types."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self):
        return self._key_dtype

    @property
    def value_dtype(self):
        return self._value_dtype

    def initialize(self, table):
        """The Operation that fills `table`."""
        raise NotImplementedError

    def _check(self, table):
        if (table.key_dtype, table.value_dtype) != (self._key_dtype, self._value_dtype):
            raise TypeError(
                f"The table is from {table.key_dtype.name} to {table.value_dtype.name}, what "
                f"initializes it from {self._key_dtype.name} to {self._value_dtype.name}"
            )


class KeyValueTensorInitializer(TableInitializerBase):
    """Keys and their values.

    Args:
      keys, values: vectors of one length.
      key_dtype, value_dtype: their types; None for what the values say.
      name: the name scope.
    """

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        with name_scope(name, "key_value_init", [keys, values]) as scope:
            self._keys = convert(keys, _dtype(key_dtype), "keys")
            self._values = convert(values, _dtype(value_dtype), "values")
            self._name = scope
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table):
        self._check(table)
        with name_scope(self._name, None, [table.resource_handle, self._keys]):
            made = gen_ops.initialize_table_v2(table.resource_handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


def _dtype(dtype):
    return None if dtype is None else dtypes.as_dtype(dtype)


class TextFileInitializer(TableInitializerBase):
    """The lines of a text file.

    Args:
      filename: a string or a Tensor; the file is where the table is.
      key_dtype, value_dtype: of the table.
      key_index, value_index: the column of the line, or one of TextFileIndex.
      vocab_size: take so many lines; None for all.
      delimiter: one character, between columns.
      name: a name for the node.
      value_index_offset: what is added to line numbers.

    Raises:
      ValueError: for an index below -2, a whole line that is no string, or a number that is no int64.
    """

    def __init__(
        self,
        filename,
        key_dtype,
        key_index,
        value_dtype,
        value_index,
        vocab_size=None,
        delimiter="\t",
        name=None,
        value_index_offset=0,
    ):
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (
            ("key", key_index, self._key_dtype),
            ("value", value_index, self._value_dtype),
        ):
            self._check_index(what, index, dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        self._options = {
            "key_index": key_index,
            "value_index": value_index,
            "vocab_size": -1 if vocab_size is None else vocab_size,
            "delimiter": delimiter,
            "offset": value_index_offset,
        }
        self._name = name

    @staticmethod
    def _check_index(what, index, dtype):
        if index < -2:
            raise ValueError(f"Invalid {what} index {index}.")
        if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
            raise ValueError(
                f"Signature mismatch. {what.capitalize()}s must be dtype int64, got {dtype.name}."
            )
        if index == TextFileIndex.WHOLE_LINE and dtype not in (dtypes.string, dtypes.int64):
            raise ValueError(
                f"Signature mismatch. {what.capitalize()}s must be integer or string, got "
                f"{dtype.name}."
            )

    def initialize(self, table):
        self._check(table)
        with name_scope(self._name, "text_file_init", [table.resource_handle]):
            filename = convert(self._filename, dtypes.string, "asset_filepath")
            made = gen_ops.initialize_table_from_text_file_v2(
                table.resource_handle, filename, **self._options
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return made


class TextFileStringTableInitializer(TextFileInitializer):
    """From line numbers (int64) to lines (strings)."""

    def __init__(
        self,
        filename,
        key_column_index=TextFileIndex.LINE_NUMBER,
        value_column_index=TextFileIndex.WHOLE_LINE,
        vocab_size=None,
        delimiter="\t",
        name="text_file_string_table_init",
    ):
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """From lines (strings, or another type) to line numbers (int64)."""

    def __init__(
        self,
        filename,
        key_column_index=TextFileIndex.WHOLE_LINE,
        value_column_index=TextFileIndex.LINE_NUMBER,
        vocab_size=None,
        delimiter="\t",
        name="text_file_id_table_init",
        key_dtype=dtypes.string,
    ):
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )
