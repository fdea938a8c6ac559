"""Rows of tables that may be spread over several variables."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import colocate_with, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import gather, reshape
from millrace._ops.clipping import clip_by_norm
from millrace._ops.reductions import reduce_sum

__all__ = ["embedding_lookup"]


def embedding_lookup(
    params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None
):
    """The rows of a table at these ids. Its gradient by each part of the table stays slices.

    Args:
      params: a Tensor or Variable; or a list of them or a PartitionedVariable, which together are the table.
      ids: int32 or int64, of any shape.
      partition_strategy: which part has row `id` if there are several: "mod" for id % len(params),
        "div" for runs of rows, the first parts with one more where they can't be alike.
      name: the name scope.
      validate_indices: accepted; indices are always checked.
      max_norm: rows with a larger norm are scaled down to it; None for none.

    Returns:
      a Tensor of shape ids.shape + params.shape[1:].

    Raises:
      ValueError: if there are no params, or the strategy is another.
    """
    params = getattr(params, "parts", params)  # of a PartitionedVariable
    if params is None or isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    parts = list(params) if isinstance(params, (list, tuple)) else [params]
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        ids = convert(ids, name="ids")
        if len(parts) == 1:
            with colocate_with(getattr(parts[0], "op", None)):
                rows = gather(parts[0], ids, name=scope if max_norm is None else None)
                return gen_ops.identity(_clipped(rows, ids, max_norm))
        return _clipped(_from_parts(parts, ids, partition_strategy, scope), ids, max_norm)


def _from_parts(parts, ids, strategy, name):
    flat = reshape(ids, [-1])
    if strategy == "mod":
        owners, places = gen_ops.floor_mod(flat, len(parts)), gen_ops.floor_div(flat, len(parts))
    elif strategy == "div":
        owners, places = _in_runs(parts, flat)
    else:
        raise ValueError(f"Unrecognized partition strategy: {strategy}")
    positions, found = [], []
    for number, part in enumerate(parts):
        here = gen_ops.where(gen_ops.equal(owners, convert(number, owners.dtype.base_dtype)))
        here = gen_ops.squeeze(here, squeeze_dims=[1])
        positions.append(cast(here, "int32"))
        wanted = gen_ops.gather_v2(places, here, 0)
        with colocate_with(getattr(part, "op", None)):
            found.append(gather(part, wanted))
    # Where each id's row came to stand when the parts' rows were put one behind the other.
    order = gen_ops.invert_permutation(gen_ops.concat_v2(positions, 0))
    rows = gen_ops.gather_v2(gen_ops.concat_v2(found, 0), order, 0)
    row = gen_ops.shape(rows)[1:]
    made = reshape(rows, gen_ops.concat_v2([gen_ops.shape(ids), row], 0), name=name)
    made.set_shape(ids.shape.concatenate(rows.shape[1:]))
    return made


def _in_runs(parts, ids):
    """(which part, which row of it) for each id, where each part has rows that follow each other."""
    dtype = ids.dtype.base_dtype
    sizes = [_rows(part, dtype) for part in parts]
    number = constant(len(parts), dtype)
    total = reduce_sum(gen_ops.pack(sizes, axis=0))
    size, extras = gen_ops.floor_div(total, number), gen_ops.floor_mod(total, number)
    # The first `extras` parts have one more.
    owners = gen_ops.maximum(
        gen_ops.floor_div(ids, size + 1), gen_ops.floor_div(ids - extras, size)
    )
    places = gen_ops.select(
        gen_ops.less(owners, extras),
        gen_ops.floor_mod(ids, size + 1),
        gen_ops.floor_mod(ids - extras, size),
    )
    return owners, places


def _rows(part, dtype):
    size = part.shape[0].value if part.shape.ndims else None
    return constant(size, dtype) if size is not None else cast(gen_ops.shape(part)[0], dtype)


def _clipped(rows, ids, max_norm):
    if max_norm is None:
        return rows
    first, last = ids.shape.ndims, rows.shape.ndims
    if first is None or last is None:
        axes = gen_ops.range(gen_ops.rank(ids), gen_ops.rank(rows), 1)
    else:
        axes = list(range(first, last))
    return clip_by_norm(rows, max_norm, axes=axes)
