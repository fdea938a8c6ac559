"""The tables of tf.contrib.layers' columns: one_hot_column, embedding_column, shared_embedding_columns."""

import dataclasses

from millrace._columns.column import whole
from millrace._columns.embeddings import (
    EmbeddingColumn,
    SharedEmbeddingColumn,
    table_initializer,
)
from millrace._columns.indicators import IndicatorColumn
from millrace._columns.older_ids import Older, SparseColumn, WeightedSparseColumn


@dataclasses.dataclass(frozen=True)
class OneHotColumn(Older, IndicatorColumn):
    """See one_hot_column."""

    @property
    def name(self):
        return f"{self.categorical_column.name}_one_hot"

    @property
    def length(self):
        return self.categorical_column.num_buckets

    @property
    def order(self):
        return f"_OneHotColumn(sparse_id_column={self.categorical_column.order}"


def one_hot_column(sparse_id_column):
    """A column of categories as a vector: how often an example has each, or the sum of its weights."""
    return OneHotColumn(sparse_id_column)


@dataclasses.dataclass(frozen=True)
class OlderEmbeddingColumn(Older, EmbeddingColumn):
    """See embedding_column."""

    table_name = "weights"

    @property
    def length(self):
        return self.categorical_column.num_buckets

    @property
    def order(self):
        return f"_EmbeddingColumn(sparse_id_column={self.categorical_column.order}"


def embedding_column(
    sparse_id_column,
    dimension,
    combiner="mean",
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """A column of categories as rows of a table, "weights", combined where an example has several.

    Args:
      sparse_id_column: the categories.
      initializer: of the table; normal values of deviation 1/sqrt(number of categories), cut off at two of
        them, if None.
      dimension, combiner, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable: as for
        tf.feature_column.embedding_column.

    Raises:
      ValueError: for a dimension below 1, another combiner, an initializer that is no function, or a checkpoint
      without a name.
    """
    initializer = table_initializer(
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        sparse_id_column.num_buckets,
    )
    return OlderEmbeddingColumn(
        sparse_id_column,
        whole(dimension),
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


@dataclasses.dataclass(frozen=True)
class OlderSharedEmbeddingColumn(Older, SharedEmbeddingColumn):
    """See shared_embedding_columns."""

    table_name: str

    @property
    def scope_name(self):
        # The table is in the scope of the first that uses it.
        return super(SharedEmbeddingColumn, self).scope_name

    @property
    def length(self):
        return self.categorical_column.num_buckets

    @property
    def order(self):
        return f"_EmbeddingColumn(sparse_id_column={self.categorical_column.order}"


def shared_embedding_columns(
    sparse_id_columns,
    dimension,
    combiner="mean",
    shared_embedding_name=None,
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """Columns of categories as rows of one table, which they share.

    Args:
      sparse_id_columns: the categories, with as many ids each.
      shared_embedding_name: the table's name; by default the columns' with "shared_embedding" behind.
      the others: as for embedding_column.

    Returns:
      a tuple with a column for each.

    Raises:
      TypeError: if it is no list of such columns; ValueError: if there are none or their numbers of ids
      differ, and as embedding_column.
    """
    if isinstance(sparse_id_columns, str) or not isinstance(sparse_id_columns, (list, tuple)):
        raise TypeError(
            "sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type "
            f"{type(sparse_id_columns)}."
        )
    if not sparse_id_columns:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in sparse_id_columns:
        if not isinstance(column, (SparseColumn, WeightedSparseColumn)):
            raise TypeError(
                "Elements of sparse_id_columns must be sparse columns or weighted ones, but "
                f"{column} is not."
            )
    first = sparse_id_columns[0]
    if any(column.num_buckets != first.num_buckets for column in sparse_id_columns):
        sizes = {column.name: column.num_buckets for column in sparse_id_columns}
        raise ValueError(f"The input sparse id columns are not compatible: numbers of ids {sizes}")
    initializer = table_initializer(
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        first.num_buckets,
    )
    name = shared_embedding_name or _shared_name(sparse_id_columns)
    return tuple(
        OlderSharedEmbeddingColumn(
            column,
            whole(dimension),
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            f"SHARED_EMBEDDING_COLLECTION_{name.upper()}",
            name,
        )
        for column in sparse_id_columns
    )


def _shared_name(columns):
    weighted = [each for each in columns if isinstance(each, WeightedSparseColumn)]
    plain = [each for each in columns if each not in weighted]
    names = [each.name for each in [*sorted(plain, key=_name), *sorted(weighted, key=_name)]]
    others = f"_plus_{len(names) - 3}_others" if len(names) > 3 else ""
    return "_".join(names[:3]) + others + "_shared_embedding"


def _name(column):
    return column.name
