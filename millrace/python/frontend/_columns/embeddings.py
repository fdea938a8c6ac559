"""Columns of categories as rows of a table, which is trained: one of its own, or one for several columns."""

import dataclasses
import math

from millrace._columns.categorical import WeightedColumn
from millrace._columns.column import CategoricalColumn, DenseColumn, Sequence, SequenceColumn, whole
from millrace._columns.sequence_ids import SequenceCategoricalColumn, check_kind, lengths_of
from millrace._graph.default_graph import add_to_collection, get_collection, name_scope
from millrace._ops.sparse_embeddings import safe_embedding_lookup_sparse
from millrace._saving.checkpoint_reader import init_from_checkpoint
from millrace._state.initializers import truncated_normal_initializer
from millrace._values.tensor_shape import TensorShape


@dataclasses.dataclass(frozen=True)
class EmbeddingColumn(DenseColumn, SequenceColumn):
    """See embedding_column."""

    table_name = "embedding_weights"  # without a type: what derives from it may have another

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: object
    ckpt_to_load_from: object
    tensor_name_in_ckpt: object
    max_norm: object
    trainable: bool

    @property
    def name(self):
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self):
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self):
        return TensorShape([self.dimension])

    def transformed(self, inputs):
        return inputs.get(self.categorical_column)

    def dense(self, inputs):
        check_kind(self, wants_sequence=False)
        return self._rows(inputs)

    def sequence(self, inputs):
        check_kind(self, wants_sequence=True)
        rows = self._rows(inputs)
        ids = self.categorical_column.ids_and_weights(inputs).ids
        return Sequence(rows, lengths_of(ids))

    def _rows(self, inputs):
        ids, weights = self.categorical_column.ids_and_weights(inputs)
        table = self._table(inputs)
        if self.ckpt_to_load_from is not None:
            parts = getattr(table, "parts", table)  # of a PartitionedVariable
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: parts})
        return safe_embedding_lookup_sparse(
            table,
            ids,
            weights,
            combiner=self.combiner,
            name=f"{self.scope_name}_weights",
            max_norm=self.max_norm,
        )

    def _table(self, inputs):
        shape = [self.categorical_column.num_buckets, self.dimension]
        return inputs.variable(self.table_name, shape, self.initializer, self.trainable)


@dataclasses.dataclass(frozen=True)
class SharedEmbeddingColumn(EmbeddingColumn):
    """See shared_embedding_columns."""

    shared_embedding_collection_name: str

    @property
    def name(self):
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def scope_name(self):
        return self.shared_embedding_collection_name

    def _rows(self, inputs):
        # The variable scope is that of all who share the table; nodes are told apart by a scope of names.
        with name_scope(None, super().scope_name):
            return super()._rows(inputs)

    def _table(self, inputs):
        collection = self.shared_embedding_collection_name
        known = get_collection(collection)
        if not known:
            table = super()._table(inputs)
            add_to_collection(collection, table)
            return table
        if len(known) > 1:
            raise ValueError(
                f"Collection {collection} can only contain one variable, the table that columns share; it "
                f"has {known}. Choose a unique shared_embedding_collection_name="
            )
        wanted = [self.categorical_column.num_buckets, self.dimension]
        if known[0].shape.as_list() != wanted:
            raise ValueError(
                f"Shared embedding collection {collection} contains variable {known[0].name} of unexpected "
                f"shape {known[0].shape}. Expected shape is {wanted}. Choose a unique "
                "shared_embedding_collection_name="
            )
        return known[0]


def table_initializer(
    dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, size=None
):
    """The initializer of a table, once all is checked: normal values of deviation 1/sqrt(size) for None, where
    size is the dimension unless it is given."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is None:
        return truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(size or dimension))
    if not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. Given: {initializer}")
    return initializer


def embedding_column(
    categorical_column,
    dimension,
    combiner="mean",
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """A column of categories as rows of a table, combined where an example has several.

    Args:
      categorical_column: the categories.
      dimension: the size of a row.
      combiner: "mean", "sqrtn" or "sum", as for tf.nn.embedding_lookup_sparse. What has no category is 0.
      initializer: of the table, as in tf.get_variable; normal values of deviation 1/sqrt(dimension), cut off
        at two of them, if None.
      ckpt_to_load_from, tensor_name_in_ckpt: a checkpoint and the name in it of the table to begin with.
      max_norm: rows with a larger norm are scaled down to it.
      trainable: whether the table is to be trained.

    Returns:
      a column, dense: float32 of shape [batch, dimension]. Its variable is "embedding_weights".

    Raises:
      ValueError: for a dimension below 1, another combiner, or a checkpoint without a name.
    """
    initializer = table_initializer(
        dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt
    )
    return EmbeddingColumn(
        categorical_column,
        whole(dimension),
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def shared_embedding_columns(
    categorical_columns,
    dimension,
    combiner="mean",
    initializer=None,
    shared_embedding_collection_name=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """Columns of categories as rows of one table, which they share.

    Args:
      categorical_columns: the categories, of one kind and with as many ids.
      shared_embedding_collection_name: the collection that the table joins, and the variable scope of the
        first of them; by default the columns' names with "shared_embedding" behind.
      Others: as for embedding_column.

    Returns:
      a list with a column for each.

    Raises:
      ValueError: for columns of different kinds or numbers of ids, and as embedding_column.
    """
    initializer = table_initializer(
        dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt
    )
    columns = sorted(categorical_columns, key=lambda column: column.name)
    for column in columns:
        if not isinstance(column, CategoricalColumn):
            raise ValueError(
                "All categorical_columns must be subclasses of CategoricalColumn. Given: "
                f"{column}, of type: {type(column)}"
            )
    first = columns[0]
    for column in columns[1:]:
        if type(_plain(column)) is not type(_plain(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column or sequence column of the same type. Given column: {first} "
                f"does not match given column: {column}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of "
                f"buckets. Given column: {first} with buckets: {first.num_buckets} does not match column: "
                f"{column} with buckets: {column.num_buckets}"
            )
    collection = shared_embedding_collection_name or "_".join(
        [*(column.scope_name for column in columns), "shared_embedding"]
    )
    return [
        SharedEmbeddingColumn(
            column,
            whole(dimension),
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            collection,
        )
        for column in categorical_columns
    ]


def _plain(column):
    """The column of ids below weights and sequences."""
    while isinstance(column, (WeightedColumn, SequenceCategoricalColumn)):
        column = column.categorical_column
    return column
