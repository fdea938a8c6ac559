"""tf.feature_column: how the features of examples become numbers that a model takes."""

from millrace._columns.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    weighted_categorical_column,
)
from millrace._columns.crossed import crossed_column
from millrace._columns.embeddings import embedding_column, shared_embedding_columns
from millrace._columns.indicators import indicator_column
from millrace._columns.input_layers import input_layer, linear_model, make_parse_example_spec
from millrace._columns.numeric import bucketized_column, numeric_column
from millrace._columns.sequences import (
    sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list,
    sequence_numeric_column,
)
from millrace._columns.vocabulary import (
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
