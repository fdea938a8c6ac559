"""tf.lookup: tables from keys to values."""

from millrace._state.index_tables import StaticVocabularyTable
from millrace._state.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from millrace._state.tables import StaticHashTable
