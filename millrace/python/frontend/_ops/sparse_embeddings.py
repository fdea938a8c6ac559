"""Rows of tables for lists of ids of any length, added up: what embeddings of words in bags are."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.reductions import reduce_prod
from millrace._ops.rearranging import unique
from millrace._ops.sparse_layout import (
    sparse_fill_empty_rows,
    sparse_reshape,
    sparse_retain,
)
from millrace._values import dtypes
from millrace._values.tensor_shape import unknown_shape

__all__ = ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]

_COMBINERS = ("mean", "sqrtn", "sum")


def _tables(params):
    params = getattr(params, "parts", params)  # of a PartitionedVariable
    return list(params) if isinstance(params, (list, tuple)) else [params]


def embedding_lookup_sparse(
    params,
    sp_ids,
    sp_weights,
    partition_strategy="mod",
    name=None,
    combiner=None,
    max_norm=None,
    allow_fast_lookup=False,
):
    """The rows of a table at the ids of each row of a sparse matrix, combined to one row.

    Args:
      params: the table, as for `embedding_lookup`.
      sp_ids: a SparseTensor of ids of rank 2 in row-major order. Each row must have some.
      sp_weights: None, or a SparseTensor with a weight in each place of `sp_ids`.
      partition_strategy: as for `embedding_lookup`.
      name: the name scope.
      combiner: "sum" for the sums of rows times weights; "mean" (the default) for those divided by
        the sum of the weights; "sqrtn" divided by the root of the sum of their squares.
      max_norm: rows with a larger norm are scaled down to it before they are combined.
      allow_fast_lookup: accepted; the rows of one table are combined without being gathered twice
        anyway.

    Returns:
      a Tensor of shape [number of rows of sp_ids] + params.shape[1:].

    Raises:
      TypeError: if `sp_ids` is no SparseTensor, or `sp_weights` is neither that nor None.
      ValueError: for another combiner.
    """
    del allow_fast_lookup
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None:
        if not isinstance(sp_weights, SparseTensor):
            raise TypeError(
                f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}"
            )
        for part in ("values", "indices", "dense_shape"):
            getattr(sp_ids, part).shape.assert_is_compatible_with(getattr(sp_weights, part).shape)
    with name_scope(name, "embedding_lookup_sparse", [sp_ids.values]) as scope:
        rows = cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, places = unique(sp_ids.values)
        table = embedding_lookup(
            _tables(params), ids, partition_strategy=partition_strategy, max_norm=max_norm
        )
        if sp_weights is None:
            combine = {
                "sum": gen_ops.sparse_segment_sum,
                "mean": gen_ops.sparse_segment_mean,
                "sqrtn": gen_ops.sparse_segment_sqrt_n,
            }[combiner]
            return combine(table, places, rows, name=scope)
        return _weighted(table, places, rows, sp_weights.values, combiner, scope)


def _weighted(table, places, rows, weights, combiner, name):
    found = gen_ops.gather_v2(table, places, 0)
    weights = cast(weights, found.dtype.base_dtype)
    # A weight for a whole row of the table.
    ones = gen_ops.fill(gen_ops.reshape(gen_ops.sub(gen_ops.rank(found), 1), [1]), 1)
    shape = gen_ops.concat_v2([gen_ops.shape(weights), ones], 0)
    column = gen_ops.reshape(weights, shape)
    if found.shape.ndims is not None:
        column.set_shape([None] + [1] * (found.shape.ndims - 1))
    found = gen_ops.mul(found, column)
    if combiner == "sum":
        return gen_ops.segment_sum(found, rows, name=name)
    total = gen_ops.segment_sum(found, rows)
    if combiner == "mean":
        divisor = gen_ops.segment_sum(column, rows)
    else:
        divisor = gen_ops.sqrt(gen_ops.segment_sum(gen_ops.square(column), rows))
    return gen_ops.div_no_nan(total, divisor, name=name)


def safe_embedding_lookup_sparse(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner="mean",
    default_id=None,
    name="safe_embedding_lookup_sparse",
    partition_strategy="div",
    max_norm=None,
    allow_fast_lookup=False,
):
    """As `embedding_lookup_sparse`, for ids that may be negative and rows that may have none.

    Args:
      embedding_weights: the table: Tensors or variables, or a PartitionedVariable.
      sparse_ids: a SparseTensor of ids of rank 2 or more; negative ones are left out.
      sparse_weights: None, or a SparseTensor with a weight in each place; ids whose weight is 0 or less
        are left out, unless the combiner is "sum".
      combiner: "mean", "sqrtn" or "sum".
      default_id: the id of rows without any; None to make them 0.
      name: the name scope.
      partition_strategy: "div" or "mod".
      max_norm: rows with a larger norm are scaled down to it.
      allow_fast_lookup: accepted.

    Returns:
      a Tensor of shape sparse_ids.dense_shape[:-1] + the shape of a row of the table.

    Raises:
      ValueError: if there is no table.
    """
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    tables = _tables(embedding_weights)
    if not tables:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    with name_scope(name, "embedding_lookup") as scope:
        original = sparse_ids.dense_shape
        known_rank = original.shape.dims[0].value if original.shape.ndims else None
        last = gen_ops.sub(gen_ops.size(original), 1) if known_rank is None else known_rank - 1
        lead = gen_ops.slice(original, [0], [last])
        ids = sparse_reshape(
            sparse_ids, gen_ops.pack([reduce_prod(lead), gen_ops.gather_v2(original, last, 0)])
        )
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights = _kept(ids, weights, gen_ops.greater_equal(ids.values, convert(0, ids.dtype)))
        if weights is not None and combiner != "sum":
            ids, weights = _kept(
                ids, weights, gen_ops.greater(weights.values, convert(0, weights.dtype))
            )
        ids, is_empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1)
        found = embedding_lookup_sparse(
            tables,
            ids,
            weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
        )
        if default_id is None:
            found = _blanked(found, is_empty, scope)
        # Back to as many axes as the ids had.
        row = gen_ops.slice(gen_ops.shape(found), [1], [-1])
        dims = gen_ops.concat_v2([cast(lead, dtypes.int32), row], 0)
        made = gen_ops.reshape(found, dims)
        leads = unknown_shape(None if known_rank is None else known_rank - 1)
        made.set_shape(leads.concatenate(found.shape[1:]))
        return made


def _kept(ids, weights, is_valid):
    kept = sparse_retain(ids, is_valid)
    return kept, None if weights is None else sparse_retain(weights, is_valid)


def _blanked(rows, is_empty, name):
    """The rows, with zeros where there were no ids."""
    row = gen_ops.slice(gen_ops.shape(rows), [1], [-1])
    width = gen_ops.fill(gen_ops.shape(row), 1)
    mask = gen_ops.reshape(is_empty, gen_ops.concat_v2([[-1], width], 0))
    mask = gen_ops.tile(mask, gen_ops.concat_v2([[1], row], 0))
    return gen_ops.select(mask, gen_ops.zeros_like(rows), rows, name=name)
