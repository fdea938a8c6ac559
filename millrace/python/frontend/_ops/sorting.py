"""Values in order, and where others would stand among them."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, reshape, reverse, shape, transpose
from millrace._values import dtypes


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """The values along an axis in order.

    Args:
      values: a Tensor of numbers and known rank.
      axis: the axis.
      direction: "ASCENDING" or "DESCENDING".
      name: the name scope.

    Returns:
      a Tensor of the type and shape of the values.

    Raises:
      ValueError: if the direction is neither, the rank is not known, or there is no such axis.
    """

    def sorted_rows(rows):
        made, _ = gen_ops.top_kv2(rows, shape(rows)[-1])
        return made if direction == "DESCENDING" else reverse(made, [rows.shape.ndims - 1])

    return _along("sort", sorted_rows, values, axis, direction, name)


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The positions along an axis in the order of the values there; of equal ones the first is first.

    Args:
      values, axis, direction, name: as for sort.
      stable: accepted; the order is stable.

    Returns:
      an int32 Tensor of the shape of the values.

    Raises:
      ValueError: as for sort.
    """

    def places(rows):
        if direction == "ASCENDING":
            # ~x and not -x: the smallest integer has no opposite, and what has no sign none at all.
            rows = gen_ops.invert(rows) if rows.dtype.is_integer else -rows
        _, found = gen_ops.top_kv2(rows, shape(rows)[-1])
        return found

    return _along("argsort", places, values, axis, direction, name)


def _along(kind, function, values, axis, direction, name):
    """What a function gives of values whose last axis is `axis`, with the axes as they were."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Unknown direction {direction!r}: it is 'ASCENDING' or 'DESCENDING'")
    with name_scope(name, kind, [values]):
        values = convert(values, name="values")
        rank = values.shape.ndims
        if rank is None or not -rank <= axis < rank:
            raise ValueError(f"{kind}: axis {axis} of values of shape {values.shape}")
        order = [each for each in range(rank) if each != axis % rank] + [axis % rank]
        is_last = order == list(range(rank))
        rows = values if is_last else transpose(values, order)
        made = function(rows)
        made.set_shape(rows.shape)
        back = [order.index(each) for each in range(rank)]
        return made if is_last else transpose(made, back)


def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    """Before which element of a sorted row each value would be put so that the row stays sorted.

    Args:
      sorted_sequence: a Tensor of numbers, whose rows, along the last axis, ascend.
      values: a Tensor of the same type with the same axes, but for the last one's size.
      side: "left" to be put before equal elements, "right" to be put behind them.
      out_type: int32 or int64.
      name: the name scope.

    Returns:
      a Tensor of out_type with the shape of values.

    Raises:
      ValueError: if the side is neither.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    with name_scope(name, "searchsorted", [sorted_sequence, values]):
        rows = convert(sorted_sequence, name="sorted_sequence")
        values = convert(values, rows.dtype.base_dtype, "values")
        op = gen_ops.lower_bound if side == "left" else gen_ops.upper_bound
        flat = (
            reshape(each, concat([[-1], shape(each)[-1:]], 0), name=None) for each in (rows, values)
        )
        made = reshape(op(*flat, out_type=dtypes.as_dtype(out_type)), shape(values))
        made.set_shape(values.shape)
        return made
