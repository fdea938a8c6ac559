"""Tensors and slices with their norm kept within bounds."""

import numbers

from millrace import _gen as gen_ops
from millrace._graph.composite import takes_composites
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import colocate_with, name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones_like
from millrace._ops.gradients import IndexedSlices
from millrace._ops.reductions import reduce_sum

__all__ = [
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "global_norm",
]


def _values(t, name):
    return convert(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _like(t, values):
    """Other values in the place of those of `t`: slices of the same rows, or the Tensor itself."""
    return (
        IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values
    )


@takes_composites
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """`t` with values below and above the limits brought to them.

    Args:
      t: a Tensor, or an IndexedSlices, of which it gives another.
      clip_value_min, clip_value_max: scalars, or Tensors of the shape of t.
      name: a name for the node.

    Raises:
      ValueError: if the limits would make the shape larger.
    """
    limits = [clip_value_min, clip_value_max]
    with name_scope(name, "clip_by_value", [_named(t), *limits]) as scope:
        values = _values(t, "t")
        below = gen_ops.minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(below.shape)
        clipped = gen_ops.maximum(below, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return _like(t, clipped)


def _named(t):
    return t.values if isinstance(t, IndexedSlices) else t


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """`t`, scaled down where its norm is above `clip_norm`: t * clip_norm / norm.

    Args:
      t: a Tensor, or an IndexedSlices, of which it gives another.
      clip_norm: a number or a scalar Tensor.
      axes: over which the norm is taken; all of them if None.
      name: a name for the node.
    """
    with name_scope(name, "clip_by_norm", [_named(t), clip_norm]) as scope:
        values = _values(t, "t")
        if not isinstance(clip_norm, numbers.Number):
            clip_norm = cast(clip_norm, values.dtype.base_dtype)
        if isinstance(clip_norm, numbers.Number):
            count_more(-1)  # a constant at each of its two uses, and no bound
        limit = gen_ops.maximum(convert(clip_norm, values.dtype.base_dtype), 0)
        squares = reduce_sum(values * values, axes, keepdims=True)
        # The square root has no slope at 0: where all is 0 its gradient must not be asked for.
        is_positive = gen_ops.greater(squares, 0)
        safe = gen_ops.select(is_positive, squares, ones_like(squares))
        norm = gen_ops.select(is_positive, gen_ops.sqrt(safe), squares)
        scaled = values * limit
        values.shape.assert_is_compatible_with(scaled.shape)
        clipped = gen_ops.identity(scaled / gen_ops.maximum(norm, limit), name=scope)
        return _like(t, clipped)


def global_norm(t_list, name=None):
    """The square root of the sum of all squares in a list of Tensors and IndexedSlices.

    Args:
      t_list: a list or tuple; None among them is left out.
      name: a name for the nodes.

    Raises:
      TypeError: if it is no list.
    """
    t_list = _as_list(t_list)
    with name_scope(name, "global_norm", [_named(t) for t in t_list if t is not None]):
        halves = []
        for number, t in enumerate(t_list):
            if t is None:
                continue
            values = _values(t, f"t_{number}")
            with colocate_with(values):
                halves.append(gen_ops.l2_loss(values))
        half = reduce_sum(gen_ops.pack(halves, axis=0))
        return gen_ops.sqrt(half * constant(2.0, half.dtype.base_dtype), name="global_norm")


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """All Tensors of a list, scaled down together if their common norm is above `clip_norm`.

    Args:
      t_list: a list or tuple of Tensors, IndexedSlices and None.
      clip_norm: a positive number or scalar Tensor.
      use_norm: the norm, if it is known; global_norm(t_list) if None.
      name: a name for the nodes.

    Returns:
      (the list, the norm). If the norm is infinite or NaN all is NaN.

    Raises:
      TypeError: if it is no list.
    """
    t_list = _as_list(t_list)
    norm = global_norm(t_list, name) if use_norm is None else convert(use_norm)
    dtype = norm.dtype.base_dtype
    values_in = [_named(t) for t in t_list if t is not None]
    with name_scope(name, "clip_by_global_norm", [*values_in, clip_norm]) as scope:
        limit = convert(clip_norm, dtype)
        count_more(isinstance(clip_norm, numbers.Number))  # a constant at each of its two uses
        finite = limit * gen_ops.minimum(1.0 / norm, constant(1.0, dtype) / limit)
        nan = constant(float("nan"), dtype)
        scale = gen_ops.select(gen_ops.is_finite(norm), finite, nan)
        clipped = []
        for number, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            values = _values(t, f"t_{number}")
            with colocate_with(values):
                scaled = values * cast(scale, values.dtype.base_dtype)
                clipped.append(_like(t, gen_ops.identity(scaled, name=f"{scope}_{number}")))
    return clipped, norm


def clip_by_average_norm(t, clip_norm, name=None):
    """`t`, scaled down if its norm per element is above `clip_norm`."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert(t, name="t")
        dtype = t.dtype.base_dtype
        number = cast(gen_ops.size(t), dtype)
        limit = convert(clip_norm, dtype)
        inverse = gen_ops.rsqrt(reduce_sum(t * t))
        most = constant(1.0, dtype) / limit
        return gen_ops.identity(t * limit * gen_ops.minimum(inverse * number, most), name=scope)


def _as_list(t_list):
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    return list(t_list)
