"""Sequences of categories: a step's are never mixed with those of another."""

import dataclasses

from millrace import _gen as gen_ops
from millrace._columns.column import CategoricalColumn, IdsAndWeights
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_prod
from millrace._ops.sparse_layout import sparse_reshape
from millrace._values import dtypes


@dataclasses.dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """The categories of a column as steps of a sequence: the axis behind the batch is time."""

    categorical_column: CategoricalColumn

    @property
    def name(self):
        return self.categorical_column.name

    @property
    def num_buckets(self):
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self):
        return self.categorical_column.parse_example_spec

    def transformed(self, inputs):
        return inputs.get(self.categorical_column)

    def ids_and_weights(self, inputs):
        ids, weights = self.categorical_column.ids_and_weights(inputs)
        # With a third axis, so that what combines a step's ids leaves the steps apart.
        dims = ids.dense_shape
        last = gen_ops.reshape(reduce_prod(dims[2:]), [1])
        shape = gen_ops.concat_v2([dims[:2], last], 0)
        ids = sparse_reshape(ids, shape)
        return IdsAndWeights(ids, None if weights is None else sparse_reshape(weights, shape))


def check_kind(column, wants_sequence):
    """Raises ValueError if the categories of a dense column are a sequence and must not be, or must be."""
    categories = column.categorical_column
    if isinstance(categories, SequenceCategoricalColumn) == wants_sequence:
        return
    if wants_sequence:
        raise ValueError(
            f"In {column.name}: categorical_column must be of type SequenceCategoricalColumn to use "
            "sequence_input_layer. Suggested fix: Use one of sequence_categorical_column_with_*. Given: "
            f"{categories}"
        )
    raise ValueError(
        f"In {column.name}: categorical_column must not be of type SequenceCategoricalColumn. Suggested fix "
        "A: If you wish to use input_layer, use a non-sequence categorical_column_with_*. Suggested fix B: "
        "If you wish to create sequence input, use sequence_input_layer instead of input_layer. Given: "
        f"{categories}"
    )


def lengths_of(elements, size=1):
    """How many steps each row of a SparseTensor has, an int64 vector: one behind the last with an element.

    Args:
      elements: a SparseTensor of shape [batch, steps * size, ...].
      size: how many elements along the second axis are one step.
    """
    rows, columns = elements.indices[:, 0], elements.indices[:, 1]
    count = elements.dense_shape[0]
    ends = gen_ops.unsorted_segment_max(columns + 1, rows, count)
    # The largest of none is the least number that there is.
    ends = gen_ops.maximum(ends, cast(0, dtypes.int64))
    return gen_ops.floor_div(ends + (size - 1), cast(size, dtypes.int64))
