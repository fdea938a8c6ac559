"""Shapes that go together, and values repeated or chosen between so that they do."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast, cumsum, range
from millrace._ops.arrays import broadcast_to, expand_dims, gather, reshape, shape, tile, where
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape, unknown_shape


def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape of what is computed, element by element, of tensors of two shapes.

    Args:
      shape_x, shape_y: integer vectors.

    Returns:
      an integer vector.
    """
    first = convert(shape_x, name="shape_x")
    return gen_ops.broadcast_args(first, convert(shape_y, first.dtype.base_dtype, "shape_y"))


def broadcast_static_shape(shape_x, shape_y):
    """The same of what is known of two shapes.

    Args:
      shape_x, shape_y: TensorShapes.

    Returns:
      a TensorShape.

    Raises:
      ValueError: if sizes are neither alike nor 1.
    """
    first, second = TensorShape(shape_x), TensorShape(shape_y)
    if first.ndims is None or second.ndims is None:
        return unknown_shape()
    rank = max(first.ndims, second.ndims)
    rows = [[1] * (rank - each.ndims) + each.as_list() for each in (first, second)]
    sizes = []
    for a, b in zip(*rows):
        if None not in (a, b) and a != b and 1 not in (a, b):
            raise ValueError(f"Incompatible shapes for broadcasting: {first} and {second}")
        # Where one size is known and more than 1, the other is that, or 1.
        known = [size for size in (a, b) if size not in (None, 1)]
        sizes.append(known[0] if known else 1 if a == b == 1 else None)
    return TensorShape(sizes)


def where_v2(condition, x=None, y=None, name=None):
    """Elements of x where the condition holds, else of y; all three broadcast.

    Args:
      condition: a bool Tensor.
      x, y: Tensors of one type; both or none.
      name: a name for the node.

    Returns:
      a Tensor of the type of x; without x and y the places where the condition holds, int64, [N, rank].

    Raises:
      ValueError: if only one of x and y is given.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        return where(condition, name=name)
    return gen_ops.select_v2(condition, x, y, name=name)


def repeat(input, repeats, axis=None, name=None):
    """The parts of a Tensor along an axis, each repeated, one after another.

    Args:
      input: a Tensor.
      repeats: how often: an integer, or a vector with a number for each part.
      axis: the axis; None to take the elements in order, as one axis.
      name: the name scope.
    """
    with name_scope(name, "Repeat", [input, repeats]):
        data = convert(input, name="data")
        if axis is None:
            data, axis = reshape(data, [-1]), 0
        rank = data.shape.ndims
        if rank is None or not -rank <= axis < rank:
            raise ValueError(f"repeat: axis {axis} of data of shape {data.shape}")
        axis %= rank
        repeats = convert(repeats, name="repeats")
        if not repeats.dtype.is_integer:
            raise ValueError(f"repeats must be integers, not {repeats.dtype.name}")
        sizes = data.shape.as_list()
        if repeats.shape.ndims == 0:
            return _alike(data, repeats, axis, sizes)
        counts = gen_ops.maximum(repeats, constant(0, repeats.dtype.base_dtype))
        length = expand_dims(cast(shape(data)[axis], counts.dtype), 0)
        ends = cumsum(broadcast_to(counts, length))
        places = range(reduce_sum(broadcast_to(counts, length)))
        # The part that a place in the result is of: the first whose end lies behind it.
        parts = gen_ops.upper_bound(expand_dims(ends, 0), expand_dims(places, 0))[0]
        made = gather(data, parts, axis=axis)
        made.set_shape([*sizes[:axis], None, *sizes[axis + 1 :]])
        return made


def _alike(data, count, axis, sizes):
    """All parts repeated as often, which needs no places."""
    count = cast(count, dtypes.int32)
    own = shape(data)
    multiples = [1] * (len(sizes) + 1)
    multiples[axis + 1] = count
    rows = tile(expand_dims(data, axis + 1), gen_ops.pack(multiples))
    lengths = [own[each] if size is None else size for each, size in enumerate(sizes)]
    lengths[axis] = own[axis] * count
    made = reshape(rows, gen_ops.pack(lengths))
    known = made.graph.constant_value(count)
    size = None if known is None or sizes[axis] is None else sizes[axis] * int(known)
    made.set_shape([*sizes[:axis], size, *sizes[axis + 1 :]])
    return made
