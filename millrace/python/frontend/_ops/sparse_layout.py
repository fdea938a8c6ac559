"""Where the elements of sparse tensors stand: orders, shapes, slices, joins, empty rows."""

import collections.abc
import numbers

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Tensor
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims
from millrace._values import dtypes

__all__ = [
    "sparse_concat",
    "sparse_expand_dims",
    "sparse_eye",
    "sparse_fill_empty_rows",
    "sparse_from_dense",
    "sparse_merge",
    "sparse_reorder",
    "sparse_reshape",
    "sparse_retain",
    "sparse_slice",
    "sparse_split",
    "sparse_transpose",
]


def to_sparse(value):
    """The SparseTensor of a SparseTensor or SparseTensorValue.

    Raises:
      TypeError: if it is neither.
    """
    if not is_sparse(value):
        raise TypeError(f"Input must be a SparseTensor: {value!r}")
    return SparseTensor.from_value(value)


def to_int64(value, name):
    """An int64 Tensor of integers of any type."""
    if is_tensor(value):
        return cast(value, dtypes.int64)
    return convert(value, dtypes.int64, name=name)


def is_tensor(value):
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def sparse_reorder(sp_input, name=None):
    """The SparseTensor with its elements in row-major order of their places.

    Raises:
      TypeError: if `sp_input` is no SparseTensor.
    """
    sp_input = to_sparse(sp_input)
    indices, values = gen_ops.sparse_reorder(
        sp_input.indices, sp_input.values, sp_input.dense_shape, name=name
    )
    shape = sp_input.shape
    dense_shape = shape.as_list() if shape.is_fully_defined() else sp_input.dense_shape
    return SparseTensor(
        indices, values, gen_ops.identity(convert(dense_shape, dtypes.int64, "dense_shape"))
    )


def sparse_reshape(sp_input, shape, name=None):
    """The SparseTensor under another shape with as many elements; one size of it may be -1.

    Raises:
      TypeError: if `sp_input` is no SparseTensor.
      ValueError: if more than one size is -1, or shapes that are known have other sizes.
    """
    sp_input = to_sparse(sp_input)
    shape = to_int64(shape, "shape")
    with name_scope(name, "SparseReshape", [sp_input.values]) as scope:
        known = _reshaped_dims(sp_input.shape, constant_value(shape))
        indices, new_shape = gen_ops.sparse_reshape(
            sp_input.indices, sp_input.dense_shape, shape, name=scope
        )
        if known is not None:
            new_shape = convert(known, dtypes.int64, "shape")
        return SparseTensor(indices, gen_ops.identity(sp_input.values), new_shape)


def _reshaped_dims(before, wanted):
    """The sizes of a shape with -1 found, where all is known; else None."""
    if wanted is None:
        return None
    dims = [int(size) for size in wanted]
    if dims.count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {dims}")
    if not before.is_fully_defined() or 0 in dims and -1 in dims:
        return None
    elements, known = before.num_elements(), 1
    for size in dims:
        known *= 1 if size == -1 else size
    found = [elements // known if size == -1 else size for size in dims]
    made = known * (elements // known) if -1 in dims else known
    if made != elements:
        raise ValueError(
            f"Cannot reshape a tensor with {elements} elements to shape {dims} ({made} elements)."
        )
    return found


def sparse_transpose(sp_input, perm=None, name=None):
    """The SparseTensor with its axes in another order; None turns them around. Reordered."""
    sp_input = to_sparse(sp_input)
    with name_scope(name, "SparseTranspose", [sp_input.values]):
        if perm is None:
            rank = gen_ops.rank(sp_input.indices) if sp_input.shape.ndims is None else None
            if rank is None:
                perm = list(range(sp_input.shape.ndims))[::-1]
            else:
                number = gen_ops.size(sp_input.dense_shape)
                perm = gen_ops.sub(gen_ops.sub(number, 1), gen_ops.range(0, number, 1))
        indices = gen_ops.gather_v2(sp_input.indices, perm, 1)
        dense_shape = gen_ops.gather_v2(sp_input.dense_shape, perm, 0)
        known = constant_value(convert(perm))
        if known is not None and sp_input.shape.is_fully_defined():
            dims = sp_input.shape.as_list()
            dense_shape = convert([dims[axis] for axis in known], dtypes.int64, "dense_shape")
        return sparse_reorder(SparseTensor(indices, sp_input.values, dense_shape))


def sparse_expand_dims(sp_input, axis=None, name=None):
    """The SparseTensor with an axis of size 1 before `axis`; behind the last one by default.

    Raises:
      TypeError: if the axis is neither an integer nor a Tensor.
    """
    sp_input = to_sparse(sp_input)
    axis = -1 if axis is None else axis
    if not isinstance(axis, numbers.Integral) and not is_tensor(axis):
        raise TypeError(
            "axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]"
        )
    with name_scope(name, "expand_dims", [sp_input.values]):
        rank = gen_ops.size(sp_input.dense_shape)
        axis = convert(axis, dtypes.int32, "axis")
        axis = gen_ops.select_v2(gen_ops.greater_equal(axis, 0), axis, axis + rank + 1)
        at = gen_ops.reshape(axis, [1])
        rows = gen_ops.concat_v2([[-1], at], 0)
        column = gen_ops.fill(
            gen_ops.pack([gen_ops.shape(sp_input.indices)[0], 1]), convert(0, dtypes.int64)
        )
        indices = [
            gen_ops.slice(sp_input.indices, [0, 0], rows),
            column,
            gen_ops.slice(sp_input.indices, gen_ops.concat_v2([[0], at], 0), [-1, -1]),
        ]
        dims = [
            gen_ops.slice(sp_input.dense_shape, [0], at),
            convert([1], dtypes.int64),
            gen_ops.slice(sp_input.dense_shape, at, [-1]),
        ]
        return SparseTensor(
            gen_ops.concat_v2(indices, 1), sp_input.values, gen_ops.concat_v2(dims, 0)
        )


def sparse_eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """A sparse matrix with ones on its diagonal."""
    with name_scope(name, "eye"):
        num_rows = to_int64(num_rows, "num_rows")
        num_columns = num_rows if num_columns is None else to_int64(num_columns, "num_columns")
        number = gen_ops.minimum(num_rows, num_columns)
        zero, one = convert(0, dtypes.int64), convert(1, dtypes.int64)
        diagonal = gen_ops.range(zero, number, one)
        ones = gen_ops.fill(gen_ops.reshape(number, [1]), convert(1, dtype))
        return SparseTensor(
            gen_ops.pack([diagonal, diagonal], axis=1), ones, gen_ops.pack([num_rows, num_columns])
        )


def sparse_from_dense(tensor, name=None):
    """The SparseTensor of what is not 0 in a Tensor."""
    with name_scope(name, "dense_to_sparse"):
        tensor = convert(tensor)
        indices = gen_ops.where(gen_ops.not_equal(tensor, gen_ops.zeros_like(tensor)))
        return SparseTensor(
            indices,
            gen_ops.gather_nd(tensor, indices),
            gen_ops.shape(tensor, out_type=dtypes.int64),
        )


def sparse_concat(
    axis,
    sp_inputs,
    name=None,
    expand_nonconcat_dim=False,
    concat_dim=None,
    expand_nonconcat_dims=None,
):
    """SparseTensors one behind the other along an axis.

    Args:
      axis: an axis; negative ones count from the end.
      sp_inputs: a list of SparseTensors of the same rank.
      name: a name for the node.
      expand_nonconcat_dim: True to take the largest sizes along the other axes, which then may differ.
      concat_dim: the older name of axis.
      expand_nonconcat_dims: another name of expand_nonconcat_dim.

    Raises:
      TypeError: if one is no SparseTensor.
    """
    axis = axis if concat_dim is None else concat_dim
    expands = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    if not isinstance(sp_inputs, collections.abc.Iterable) or is_sparse(sp_inputs):
        raise TypeError("Inputs must be a list")
    sp_inputs = [to_sparse(sp_input) for sp_input in sp_inputs]
    if len(sp_inputs) == 1:
        return sp_inputs[0]
    shapes = [sp_input.dense_shape for sp_input in sp_inputs]
    if expands:
        largest = gen_ops.max(gen_ops.pack(shapes), 0)
        behind = [] if axis == -1 else [largest[axis + 1 :]]
        shapes = [
            gen_ops.concat_v2(
                [largest[:axis], shape[-1:] if axis == -1 else shape[axis : axis + 1], *behind], 0
            )
            for shape in shapes
        ]
    indices = [sp_input.indices for sp_input in sp_inputs]
    values = [sp_input.values for sp_input in sp_inputs]
    made = gen_ops.sparse_concat(indices, values, shapes, concat_dim=axis, name=name)
    return SparseTensor(made[0], made[1], _joined_dims(sp_inputs, axis, expands) or made[2])


def _joined_dims(sp_inputs, axis, expands):
    """The sizes of what is joined, where all are known; else None."""
    if not all(sp_input.shape.is_fully_defined() for sp_input in sp_inputs):
        return None
    shapes = [sp_input.shape.as_list() for sp_input in sp_inputs]
    dims = [max(sizes) for sizes in zip(*shapes)] if expands else shapes[0]
    dims[axis] = sum(shape[axis] for shape in shapes)
    return dims


class _OnlyByName:
    def __repr__(self):
        return "KeywordRequired()"


_ONLY_BY_NAME = _OnlyByName()


def sparse_split(
    keyword_required=_ONLY_BY_NAME,
    sp_input=None,
    num_split=None,
    axis=None,
    name=None,
    split_dim=None,
):
    """Parts of a SparseTensor along an axis, the first ones longer by one where they can't be alike.

    All arguments are given by name.

    Returns:
      a list of `num_split` SparseTensors.

    Raises:
      ValueError: if an argument is missing or not given by name.
      TypeError: if `sp_input` is no SparseTensor.
    """
    axis = axis if split_dim is None else split_dim
    if keyword_required is not _ONLY_BY_NAME:
        raise ValueError("Keyword arguments are required for this function.")
    for given, what in ((sp_input, "sp_input"), (num_split, "num_split"), (axis, "axis")):
        if given is None:
            raise ValueError(f"{what} is required")
    sp_input = to_sparse(sp_input)
    indices, values, shapes = gen_ops.sparse_split(
        to_int64(axis, "axis"),
        sp_input.indices,
        sp_input.values,
        sp_input.dense_shape,
        num_split=num_split,
        name=name,
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)]


def sparse_slice(sp_input, start, size, name=None):
    """What of a SparseTensor is in the box that begins at `start` and is of `size`."""
    sp_input = to_sparse(sp_input)
    with name_scope(name, "SparseSlice", [sp_input.values]) as scope:
        return SparseTensor(
            *gen_ops.sparse_slice(
                sp_input.indices,
                sp_input.values,
                sp_input.dense_shape,
                to_int64(start, "start"),
                to_int64(size, "size"),
                name=scope,
            )
        )


def sparse_retain(sp_input, to_retain):
    """The SparseTensor with only those elements for which `to_retain`, a vector of bools, is true."""
    sp_input = to_sparse(sp_input)
    to_retain = convert(to_retain, name="to_retain")
    mask = to_retain.shape.with_rank(1)
    if sp_input.values.shape.ndims is not None:
        sp_input.values.shape.dims[0].assert_is_compatible_with(mask.dims[0])
    kept = gen_ops.reshape(gen_ops.where(to_retain), [-1])
    return SparseTensor(
        gen_ops.gather_v2(sp_input.indices, kept, 0),
        gen_ops.gather_v2(sp_input.values, kept, 0),
        gen_ops.identity(sp_input.dense_shape),
    )


def sparse_fill_empty_rows(sp_input, default_value, name=None):
    """A value for each row that has none.

    Returns:
      (the SparseTensor with `default_value` at the head of rows that had nothing, a vector of bools
      that says which those were).
    """
    sp_input = to_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input.values]):
        default_value = convert(default_value, sp_input.values.dtype.base_dtype, "default_value")
        indices, values, is_empty, _ = gen_ops.sparse_fill_empty_rows(
            sp_input.indices, sp_input.values, sp_input.dense_shape, default_value
        )
        return SparseTensor(indices, values, sp_input.dense_shape), is_empty


def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    """Ids and their values, as parsed from examples, as one SparseTensor.

    Args:
      sp_ids: a SparseTensor of ids, whose last index is replaced by the id; or a list of them, of which
        each adds an axis.
      sp_values: a SparseTensor of their values.
      vocab_size: how many ids there are: an integer or a Tensor; a list of them if there are several.
      name: the name scope.
      already_sorted: True if the result need not be reordered.

    Raises:
      TypeError: for other types.
      ValueError: if the lists have different lengths.
    """
    if is_sparse(sp_ids):
        sp_ids, vocab_size = [sp_ids], [_size_of_vocabulary(vocab_size, "a Tensor or Python int")]
    else:
        for given, what, of in (
            (sp_ids, "sp_ids", "a SparseTensor or list thereof"),
            (vocab_size, "vocab_size", "a list of Tensors or Python ints"),
        ):
            if not isinstance(given, collections.abc.Iterable):
                raise TypeError(f"{what} has to be {of}. Found {type(given)}")
        vocab_size = [
            _size_of_vocabulary(size, "a list of Tensors or Python ints") for size in vocab_size
        ]
    if len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    sp_ids, sp_values = [to_sparse(ids) for ids in sp_ids], to_sparse(sp_values)
    with name_scope(name, "SparseMerge", [sp_values.values]):
        columns = [expand_dims(cast(ids.values, dtypes.int64), 1) for ids in sp_ids]
        indices = gen_ops.concat_v2([sp_ids[0].indices[:, :-1], *columns], 1)
        sizes = gen_ops.pack([to_int64(size, "vocab_size") for size in vocab_size])
        dense_shape = gen_ops.concat_v2([sp_ids[0].dense_shape[:-1], sizes], 0)
        made = SparseTensor(indices, sp_values.values, dense_shape)
        if already_sorted:
            return made
        ordered = sparse_reorder(made)
        return SparseTensor(ordered.indices, ordered.values, dense_shape)


def _size_of_vocabulary(size, wanted):
    if not isinstance(size, numbers.Integral) and not is_tensor(size):
        raise TypeError(f"vocab_size has to be {wanted}. Found {type(size)}")
    return size
