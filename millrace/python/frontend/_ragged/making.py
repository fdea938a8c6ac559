"""Ragged tensors from Python's lists, from ranges, and fed ones."""

import builtins

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant as dense_constant
from millrace._graph.conversion import convert, dtype_among
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import placeholder as dense_placeholder
from millrace._ragged.tensor import RaggedTensor
from millrace._ragged.values import RaggedTensorValue, as_splits_dtype
from millrace._values import dtypes, tensor_values
from millrace._values.tensor_shape import TensorShape


def constant(
    pylist,
    dtype=None,
    ragged_rank=None,
    inner_shape=None,
    name=None,
    row_splits_dtype=dtypes.int64,
):
    """A RaggedTensor of constants.

    Args:
      pylist: nested lists or tuples of numbers or strings, all as deep.
      dtype: of the values; None for what they are.
      ragged_rank: how many dimensions are ragged; None for all but the first and those of inner_shape.
      inner_shape: the shape of what is innermost, a tuple; None for (), or with ragged_rank for that of the
        values that are there.
      name: the name scope.
      row_splits_dtype: int32 or int64.

    Returns:
      a RaggedTensor; a Tensor if no dimension is ragged.

    Raises:
      ValueError: if values are not as deep as others, or do not fit ragged_rank or inner_shape.
    """
    with name_scope(name, "RaggedConstant"):
        nested, flat = _taken_apart(pylist, ragged_rank, inner_shape)
        if dtype is not None:
            dtype = dtypes.as_dtype(dtype)
        made = dense_constant(_array(flat, dtype), dtype)
        kind = as_splits_dtype(row_splits_dtype)
        for splits in reversed(nested):
            made = RaggedTensor(made, dense_constant(splits, kind))
        return made


def constant_value(
    pylist, dtype=None, ragged_rank=None, inner_shape=None, row_splits_dtype="int64"
):
    """A RaggedTensorValue of nested lists; an array if no dimension is ragged.

    Args: as of `constant`, with types of NumPy.
    """
    nested, flat = _taken_apart(pylist, ragged_rank, inner_shape)
    kind = as_splits_dtype(row_splits_dtype).as_numpy_dtype
    made = np.array(flat.array, dtype=dtype) if dtype is not None else np.array(flat.array)
    made = made.reshape(flat.shape(made.shape))
    for splits in reversed(nested):
        made = RaggedTensorValue(made, np.array(splits, kind))
    return made


class _Flat:
    """The innermost values as nested lists, and what is known of their shape."""

    def __init__(self, array, number, inner_shape):
        self.array = array
        self._number = number  # of rows of values; None for a scalar
        self._inner_shape = inner_shape

    def shape(self, natural):
        """The shape that the array is to have, whose own is `natural`.

        Raises:
          ValueError: if it has another one.
        """
        if self._number is None:
            return natural
        wanted = (self._number, *self._inner_shape)
        if self._number and natural != wanted:
            raise ValueError(
                f"inner values have shape {natural[1:]}, but inner_shape is {self._inner_shape}"
            )
        return wanted


def _array(flat, dtype):
    array, _ = tensor_values.to_array(flat.array, dtype)
    return array.reshape(flat.shape(array.shape))


def _is_list(value):
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _taken_apart(pylist, ragged_rank, inner_shape):
    """([row splits of each level], _Flat) of nested lists."""
    inner_shape = None if inner_shape is None else _as_tuple(inner_shape)
    depth, scalar_depth = _depths(pylist)
    if scalar_depth is not None and depth > scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if depth == 0:
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with inner_shape={inner_shape}"
            )
        return [], _Flat(pylist, None, ())
    if ragged_rank is None:
        ragged_rank = max(depth - 1 - len(inner_shape or ()), 0)
        inner_shape = inner_shape or ()
        if depth - 1 < len(inner_shape):
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with inner_shape={inner_shape}"
            )
    elif ragged_rank < 0 or ragged_rank >= max(depth, 1) and scalar_depth is not None:
        raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
    nested, rows = [], list(pylist)
    for _ in builtins.range(ragged_rank):
        if not all(_is_list(row) for row in rows):
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        nested.append(np.cumsum([0, *map(len, rows)]))
        rows = [item for row in rows for item in row]
    if inner_shape is None:
        inner_shape = _shape_of(rows)
    return nested, _Flat(rows, len(rows), inner_shape)


def _as_tuple(inner_shape):
    dims = inner_shape if isinstance(inner_shape, (list, tuple, TensorShape)) else [inner_shape]
    return tuple(int(dim) for dim in dims)


def _depths(value):
    """(how deep lists are nested, at which depth scalars are, None without any)."""
    if isinstance(value, np.ndarray):
        return value.ndim, value.ndim if value.size else None
    if not _is_list(value):
        return 0, 0
    deepest, scalars = 0, None
    for item in value:
        depth, scalar_depth = _depths(item)
        deepest = max(deepest, depth)
        if scalar_depth is None:
            continue
        if scalars not in (None, scalar_depth):
            raise ValueError("all scalar values must have the same nesting depth")
        scalars = scalar_depth
    return deepest + 1, None if scalars is None else scalars + 1


def _shape_of(rows):
    """The shape of what the innermost rows hold, by the first of each level."""
    shape = []
    while rows and _is_list(rows[0]):
        rows = rows[0]
        shape.append(len(rows))
    return tuple(shape)


def placeholder(dtype, ragged_rank, value_shape=None, name=None):
    """A RaggedTensor that is fed, with a tf.ragged.RaggedTensorValue.

    Args:
      dtype: of the values.
      ragged_rank: how many dimensions are ragged; with 0 a Tensor is made.
      value_shape: the shape of a single value; None if it is not known.
      name: the name scope.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder"):
        flat_shape = TensorShape([None]).concatenate(TensorShape(value_shape))
        made = dense_placeholder(dtype, flat_shape, "flat_values")
        for level in reversed(builtins.range(ragged_rank)):
            splits = dense_placeholder(dtypes.int64, [None], f"row_splits_{level}")
            made = RaggedTensor(made, splits)
        return made


def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=dtypes.int64):
    """Rows of numbers from a start up to before a limit.

    Args:
      starts: vectors or scalars; what is missing of the limits are these, and the starts are 0.
      limits: of the same type.
      deltas: from one number to the next; none 0.
      dtype: of the numbers; None for that of the arguments.
      name: the name scope.
      row_splits_dtype: int32 or int64.

    Returns:
      a RaggedTensor with a row for each element of the vectors.
    """
    kind = as_splits_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        parts = [starts, limits, deltas]
        known = None if dtype is None else dtypes.as_dtype(dtype)
        if known is None:
            given = [convert(part).dtype.base_dtype for part in parts]
            tensors = dtype_among(parts)
            known = tensors or max(given, key=_RANKS.index)
        parts = [
            cast(part, known) if hasattr(part, "_as_tensor") else convert(part, known)
            for part in parts
        ]
        made = gen_ops.ragged_range(*parts, Tsplits=kind)
        return RaggedTensor(made[1], made[0])


# From the narrowest: in which of them numbers of several types are counted.
_RANKS = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
