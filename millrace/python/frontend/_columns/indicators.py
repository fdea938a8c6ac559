"""Columns of categories as vectors: how often an example has each."""

import dataclasses

from millrace import _gen as gen_ops
from millrace._columns.column import CategoricalColumn, DenseColumn, Sequence, SequenceColumn
from millrace._columns.sequence_ids import check_kind, lengths_of
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import boolean_mask, ones_like
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


@dataclasses.dataclass(frozen=True)
class IndicatorColumn(DenseColumn, SequenceColumn):
    """See indicator_column."""

    categorical_column: CategoricalColumn

    @property
    def name(self):
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self):
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self):
        return TensorShape([1, self.categorical_column.num_buckets])

    def transformed(self, inputs):
        ids, weights = self.categorical_column.ids_and_weights(inputs)
        size = self.categorical_column.num_buckets
        numbers = cast(ids.values, dtypes.int64)
        weights = ones_like(numbers, dtypes.float32) if weights is None else weights.values
        # An id of -1, or any other that is none, is not counted.
        is_id = gen_ops.logical_and(gen_ops.greater_equal(numbers, 0), gen_ops.less(numbers, size))
        places = gen_ops.concat_v2([ids.indices[:, :-1], gen_ops.expand_dims(numbers, 1)], 1)
        counts = gen_ops.scatter_nd(
            boolean_mask(places, is_id),
            boolean_mask(cast(weights, dtypes.float32), is_id),
            gen_ops.concat_v2([ids.dense_shape[:-1], cast([size], dtypes.int64)], 0),
        )
        if ids.shape.ndims is not None:
            counts.set_shape([*ids.shape.as_list()[:-1], size])
        return counts

    def dense(self, inputs):
        check_kind(self, wants_sequence=False)
        return inputs.get(self)

    def sequence(self, inputs):
        check_kind(self, wants_sequence=True)
        ids = self.categorical_column.ids_and_weights(inputs).ids
        return Sequence(inputs.get(self), lengths_of(ids))


def indicator_column(categorical_column):
    """A column of categories as a vector: how often an example has each, or the sum of its weights.

    Args:
      categorical_column: the categories.

    Returns:
      a column, dense: float32 of shape [batch, num_buckets].
    """
    return IndicatorColumn(categorical_column)
