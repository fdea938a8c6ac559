"""tf.feature_column's sequence_* columns, and the input of recurrent networks that is made of them."""

import dataclasses

from millrace import _gen as gen_ops
from millrace._columns.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
)
from millrace._columns.column import Inputs, Sequence, SequenceColumn, check_key
from millrace._columns.input_layers import check_batches, checked_columns
from millrace._columns.numeric import checked_shape
from millrace._columns.sequence_ids import SequenceCategoricalColumn, lengths_of
from millrace._columns.vocabulary import (
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from millrace._flow.checks import assert_equal
from millrace._graph.default_graph import control_dependencies
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat
from millrace._ops.parsing import VarLenFeature
from millrace._ops.sparse import sparse_tensor_to_dense
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def sequence_categorical_column_with_identity(key, num_buckets, default_value=None):
    """A sequence of ids; arguments as for categorical_column_with_identity."""
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
    """A sequence of words by their hash; arguments as for categorical_column_with_hash_bucket."""
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key,
    vocabulary_file,
    vocabulary_size=None,
    num_oov_buckets=0,
    default_value=None,
    dtype=dtypes.string,
):
    """A sequence of words of a file; arguments as for categorical_column_with_vocabulary_file."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0
):
    """A sequence of words of a list; arguments as for categorical_column_with_vocabulary_list."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


@dataclasses.dataclass(frozen=True)
class SequenceNumericColumn(SequenceColumn):
    """See sequence_numeric_column."""

    key: str
    shape: tuple
    default_value: float
    dtype: dtypes.DType
    normalizer_fn: object

    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self):
        return TensorShape(self.shape)

    def transformed(self, inputs):
        feature = inputs.get(self.key)
        if not isinstance(feature, SparseTensor):
            raise ValueError(f"the feature of a sequence must be a SparseTensor. key: {self.key}")
        return feature if self.normalizer_fn is None else self.normalizer_fn(feature)

    def sequence(self, inputs):
        feature = inputs.get(self)
        numbers = sparse_tensor_to_dense(feature, cast(self.default_value, feature.dtype))
        # Values that were parsed stand one behind the other, those of a step together.
        is_flat = feature.shape.ndims == 2
        size = self.variable_shape.num_elements() if is_flat else 1
        batch = cast(feature.dense_shape[:1], dtypes.int32)
        numbers = gen_ops.reshape(numbers, gen_ops.concat_v2([batch, [-1], self.shape], 0))
        return Sequence(cast(numbers, dtypes.float32), lengths_of(feature, size))


def sequence_numeric_column(
    key, shape=(1,), default_value=0.0, dtype=dtypes.float32, normalizer_fn=None
):
    """A sequence of numbers.

    Args:
      key: of the feature, a SparseTensor of shape [batch, steps * elements of shape], or [batch, steps, ...].
      shape: of a step's numbers: an integer or a list of them, all above 0.
      default_value: what stands where a sequence has ended.
      dtype: the type to parse, an integer or floating one.
      normalizer_fn: a function of the SparseTensor that gives what is taken in its place.

    Raises:
      TypeError: if the shape or the function is of another type; ValueError: for sizes below 1 or a type of
      no numbers.
    """
    check_key(key)
    shape = checked_shape(shape, key)
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


def sequence_input_layer(features, feature_columns, weight_collections=None, trainable=True):
    """Features as input of a recurrent network.

    Args:
      features: {key: a Tensor or SparseTensor}.
      feature_columns: sequence_numeric_columns, and embedding_columns and indicator_columns of
        sequence_categorical_columns.
      weight_collections: names of collections that variables join.
      trainable: whether variables are to be trained.

    Returns:
      (a float32 Tensor of shape [batch, steps, numbers of all columns], by the columns' names; an int64
      vector: how many steps each row has).

    Raises:
      ValueError: for other columns, or sequences of another length in one column than in another (when it
      runs, InvalidArgumentError).
    """
    columns = checked_sequence_columns(feature_columns)
    inputs = Inputs(features, weight_collections, trainable)
    with variable_scope(None, "sequence_input_layer", list(features.values())):
        return joined_sequences(
            columns, inputs, lambda column: variable_scope(None, column.scope_name)
        )


def checked_sequence_columns(columns):
    """Sequence columns, by their names. ValueError if one is another, and as checked_columns."""
    columns = checked_columns(columns)
    for column in columns:
        if not isinstance(column, SequenceColumn):
            raise ValueError(f"All feature_columns must be of type SequenceColumn. Given: {column}")
    return sorted(columns, key=lambda column: column.name)


def joined_sequences(columns, inputs, scope_of):
    """What sequence_input_layer gives for checked columns and their Inputs; `scope_of` gives the scope for the
    variables of a column."""
    made, lengths = [], []
    for column in columns:
        with scope_of(column):
            tensor, length = column.sequence(inputs)
            size = column.variable_shape.num_elements()
            shape = gen_ops.concat_v2([gen_ops.shape(tensor)[:2], [size]], 0)
            made.append(gen_ops.reshape(tensor, shape))
            made[-1].set_shape([None, None, size])
            lengths.append(length)
    check_batches(made, columns)
    checks = [assert_equal(lengths[0], other) for other in lengths[1:]]
    with control_dependencies(checks):
        return concat(made, -1), gen_ops.identity(lengths[0])
