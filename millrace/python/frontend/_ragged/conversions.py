"""Between ragged tensors and dense or sparse ones: what RaggedTensor's methods of these names do."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.default_session import session_or_default
from millrace._graph.sparse_tensor import SparseTensor
from millrace._flow.checks import assert_equal
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import zeros
from millrace._ops.reductions import reduce_all, reduce_max
from millrace._ragged import partitions
from millrace._values import dtypes


def session_of(ragged, session):
    """The session that evaluates it: the one that is given, or the default one."""
    return session_or_default(session, ragged.graph, "RaggedTensor.eval()")


def cut_rows(tensor, lengths, padding, ragged_rank, dtype):
    """(flat values, nested row splits) of a Tensor; the arguments are those of RaggedTensor.from_tensor.

    Raises:
      ValueError: if ragged_rank does not fit, or there is another number of `lengths`.
    """
    if not isinstance(ragged_rank, int):
        raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
    if ragged_rank <= 0:
        raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
    tensor = convert(tensor, name="tensor")
    tensor.shape.with_rank_at_least(ragged_rank + 1)
    if isinstance(lengths, (list, tuple)) and any(_is_vector(each) for each in lengths):
        if ragged_rank not in (1, len(lengths)):
            raise ValueError(
                "If lengths is a list of vectors, it has one for each ragged dimension"
            )
        return _cut_levels(tensor, lengths, dtype)
    if ragged_rank > 1:
        # Rows are those of the innermost ragged dimension; all of one length further out.
        sizes = gen_ops.shape(tensor, out_type=dtype)
        rows = gen_ops.range(constant(0, dtype), gen_ops.add(sizes[0], 1), 1)
        known = tensor.shape.plain and tensor.shape.plain[0]
        if known is not None:
            rows.set_shape([known + 1])
        merged = gen_ops.reshape(
            tensor, gen_ops.concat_v2([gen_ops.mul(sizes[0], sizes[1])[None], sizes[2:]], 0)
        )
        flat, nested = cut_rows(merged, lengths, padding, ragged_rank - 1, dtype)
        return flat, [gen_ops.mul(rows, sizes[1]), *nested]
    if padding is not None:
        lengths = _lengths_before(tensor, padding, dtype)
    return _cut(tensor, lengths, dtype)


def _is_vector(value):
    if hasattr(value, "_as_tensor"):
        return convert(value).shape.ndims == 1
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _cut_levels(tensor, lengths, dtype):
    if len(lengths) == 1:
        return _cut(tensor, lengths[0], dtype)
    values, splits = _cut(tensor, lengths[0], dtype)
    flat, nested = _cut_levels(values, lengths[1:], dtype)
    return flat, [*splits, *nested]


def _lengths_before(tensor, padding, dtype):
    """How long each row is without what is `padding` at its end."""
    padding = convert(padding, tensor.dtype.base_dtype, "padding")
    is_padding = gen_ops.equal(tensor, padding)
    inner = gen_ops.range(constant(2), gen_ops.rank(tensor), 1)
    there = cast(gen_ops.logical_not(reduce_all(is_padding, inner)), dtype)
    # The number of the last that is there, counted from 1.
    places = gen_ops.range(constant(1, dtype), gen_ops.shape(there, out_type=dtype)[1] + 1, 1)
    zero = gen_ops.mul(gen_ops.shape(there, out_type=dtype)[:1], 0)
    ends = gen_ops.mul(there, places[None, :])
    # Rows without any element have no largest.
    column = gen_ops.fill(gen_ops.concat_v2([gen_ops.shape(there)[:1], [1]], 0), zero[0])
    return reduce_max(gen_ops.concat_v2([ends, column], 1), 1)


def _cut(tensor, lengths, dtype):
    """(values, [row splits]) with rows of these lengths; as they are if None."""
    sizes = gen_ops.shape(tensor, out_type=dtype)
    known = tensor.shape.plain
    flat_shape = gen_ops.concat_v2([gen_ops.mul(sizes[0], sizes[1])[None], sizes[2:]], 0)
    values = gen_ops.reshape(tensor, flat_shape)
    values.set_shape([None, *([None] * (len(known) - 2) if known else [])] if known else None)
    nrows = None if known is None else known[0]
    if lengths is None:
        rows = gen_ops.range(constant(0, dtype), gen_ops.add(sizes[0], 1), 1)
        splits = gen_ops.mul(rows, sizes[1])
    else:
        lengths = cast(convert(lengths, name="lengths", hint=dtype), dtype)
        lengths.shape.assert_has_rank(1)
        # As tf.sequence_mask has it: what is longer than a row, or negative, is brought inside.
        zero = constant(0, dtype)
        lengths = gen_ops.maximum(gen_ops.minimum(lengths, sizes[1]), zero)
        with control_dependencies(
            [assert_equal(gen_ops.size(lengths, out_type=dtype), sizes[0], message="lengths")]
        ):
            splits = partitions.splits_of_lengths(lengths)
        starts = gen_ops.mul(gen_ops.range(zero, sizes[0], 1), sizes[1])
        picked = gen_ops.ragged_range(
            starts, gen_ops.add(starts, lengths), constant(1, dtype), Tsplits=dtype
        )
        values = gen_ops.gather_v2(values, picked[1], 0)
    if nrows is not None:
        splits.set_shape([nrows + 1])
    return values, [splits]


def rows_of_sparse(sparse, dtype):
    """(values, row splits) of a sparse matrix; the arguments are those of RaggedTensor.from_sparse."""
    if not isinstance(sparse, SparseTensor):
        raise TypeError(f"Expected SparseTensor, got {type(sparse).__name__}")
    if (sparse.indices.shape[1].value if sparse.indices.shape.ndims else None) != 2:
        rank = sparse.dense_shape.shape.as_list() if sparse.dense_shape.shape.ndims else None
        if rank != [2]:
            raise ValueError("rank(st_input) must be 2")
    nrows = cast(sparse.dense_shape[0], dtype)
    rowids = cast(sparse.indices[:, 0], dtype)
    splits = partitions.splits_of_rowids(rowids, nrows)
    # What stands in a row begins at its first column, and has no gaps.
    message = "SparseTensor is not right-ragged"
    starts = gen_ops.gather_v2(splits, rowids, 0)
    places = gen_ops.range(
        constant(0, dtype), gen_ops.size(sparse.values, out_type=dtype), constant(1, dtype)
    )
    columns = cast(sparse.indices[:, 1], dtype)
    with control_dependencies(
        [assert_equal(columns, gen_ops.sub(places, starts), message=message)]
    ):
        return gen_ops.identity(sparse.values), gen_ops.identity(splits)


def filled_up(ragged, default_value, name):
    """The Tensor of RaggedTensor.to_tensor."""
    dtype = ragged.dtype.base_dtype
    if default_value is None:
        default_value = zeros([], dtype)
    made = gen_ops.ragged_tensor_to_tensor(
        constant(-1, dtypes.int64),
        ragged.flat_values,
        convert(default_value, dtype, "default_value"),
        list(ragged.nested_row_splits),
        row_partition_types=["ROW_SPLITS"] * ragged.ragged_rank,
        name=name,
    )
    made.set_shape(ragged.shape)
    return made


def as_sparse(ragged, name):
    """The SparseTensor of RaggedTensor.to_sparse."""
    made = gen_ops.ragged_tensor_to_sparse(
        list(ragged.nested_row_splits), ragged.flat_values, name=name
    )
    return SparseTensor(*made)
