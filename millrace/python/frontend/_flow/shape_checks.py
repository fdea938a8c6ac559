"""tf.debugging.assert_shapes: sizes of several Tensors that must be given numbers, or alike."""

import collections

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert, group
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arrays import shape as shape_of
from millrace._values.tensor_shape import Dimension, TensorShape

_ANY_BEFORE = (..., "...", "*")

# The size of a Tensor along an axis (counted from the end): a number if it is known, and a scalar Tensor.
_Size = collections.namedtuple("_Size", "tensor axis known value")


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """An Operation that fails unless Tensors have given shapes, and sizes of one name are alike.

        tf.debugging.assert_shapes([(x, ("N", "Q")), (y, ("N", "D")), (param, ("Q",)), (scalar, ())])

    Args:
      shapes: (Tensor, shape) pairs, or a dictionary of them. In a shape an integer stands for itself, a
        name for one size wherever it stands, None for any, and "..." or "*", at the head of a shape, for
        any axes; a shape may be a single integer or name.
      data: a list of Tensors to show; the shape in question if None.
      summarize: how many elements of each.
      message: what to say first.
      name: the name scope.

    Raises:
      ValueError: if it is known not to hold. InvalidArgumentError: when it runs and does not.
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    told = _Telling(data, summarize, f"{message}. " if message else "")
    with name_scope(name, "assert_shapes", [tensor for tensor, _ in pairs]):
        named, checks = {}, []
        for tensor, wanted in pairs:
            tensor, entries = convert(tensor), _entries(wanted)
            if entries is None:
                continue
            is_open = bool(entries) and entries[0] in _ANY_BEFORE
            entries = entries[1:] if is_open else entries
            checks += told.rank_checks(tensor, len(entries), is_open)
            with control_dependencies(checks):
                sizes = shape_of(tensor)
            for place, entry in enumerate(entries):
                mine = _size(tensor, place - len(entries), sizes)
                other = named.get(entry) if isinstance(entry, str) else entry
                if other is not None:
                    checks += told.size_checks(mine, other, entry)
                if isinstance(entry, str) and (other is None or other.known is None):
                    named[entry] = mine
        return group(*checks)


def _entries(wanted):
    if isinstance(wanted, (int, str)):
        return [wanted]
    if isinstance(wanted, TensorShape):
        return None if wanted.ndims is None else wanted.as_list()
    return [entry.value if isinstance(entry, Dimension) else entry for entry in wanted]


def _size(tensor, axis, sizes):
    known = tensor.shape.as_list()[axis] if tensor.shape.ndims is not None else None
    return _Size(tensor, axis, known, sizes[axis])


class _Telling:
    """The checks of one call, and what they say."""

    def __init__(self, data, summarize, message):
        self._data, self._summarize, self._message = data, summarize, message

    def _check(self, condition, shown):
        shown = shown if self._data is None else self._data
        return [Assert(condition, shown, summarize=self._summarize)]

    def rank_checks(self, tensor, rank, is_open):
        told = f"{self._message}Tensor {tensor.name} must have rank {'at least ' * is_open}{rank}"
        own = tensor.shape.ndims
        if own is not None:
            if own < rank or own > rank and not is_open:
                raise ValueError(f"{told}.  Received rank {own}, shape {tensor.shape}")
            return []
        sizes = shape_of(tensor)
        compare = gen_ops.greater_equal if is_open else gen_ops.equal
        return self._check(compare(gen_ops.size(sizes), rank), [told, "and its shape is", sizes])

    def size_checks(self, mine, other, entry):
        """The check that a size is a number, or the same as another one by the name of `entry`."""
        told = f"{self._message}Tensor {mine.tensor.name} must along axis {mine.axis} have the size"
        wanted, value, so_called = other, None, ""
        if isinstance(other, _Size):
            wanted, value = other.known, other.value
            so_called = f"({entry}, as {other.tensor.name} has along axis {other.axis})"
        if wanted is not None and mine.known is not None:
            if wanted != mine.known:
                shape = mine.tensor.shape
                raise ValueError(f"{told} {wanted} {so_called}.  Received shape {shape}")
            return []
        value = constant(wanted) if value is None else value
        is_it = gen_ops.equal(mine.value, value)
        return self._check(is_it, [told, value, so_called, "and it is", mine.value])
