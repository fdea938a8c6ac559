"""tf.contrib.lookup: tables from keys to values, by their older names."""

from millrace._state.index_tables import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    StrongHashSpec,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
    string_to_index,
    string_to_index_table_from_file,
    string_to_index_table_from_tensor,
)
from millrace._state.table_initializers import (
    KeyValueTensorInitializer,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
)
from millrace._state.tables import (
    HashTable,
    InitializableLookupTableBase,
    LookupInterface,
    MutableDenseHashTable,
    MutableHashTable,
    initialize_all_tables,
    tables_initializer,
)
