"""Shapes, slices and rearrangements as tf.* names them."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.composite import takes_composites
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more, counted_as
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape, as_shape

__all__ = [
    "boolean_mask",
    "broadcast_to",
    "concat",
    "expand_dims",
    "fill",
    "gather",
    "identity",
    "matrix_transpose",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "rank",
    "reshape",
    "reverse",
    "shape",
    "size",
    "slice",
    "split",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "tile",
    "transpose",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]

newaxis = None


def placeholder(dtype, shape=None, name=None):
    """A Tensor whose value must be fed when the graph runs.

    Args:
      dtype: the type of its elements.
      shape: the shape that fed values must have; None for any, None within it for any size.
      name: a name for the node.
    """
    return gen_ops.placeholder(dtype=dtype, shape=shape, name=name)


def placeholder_with_default(input, shape, name=None):
    """A Tensor that is `input` unless something is fed for it."""
    return gen_ops.placeholder_with_default(input, shape=shape, name=name)


def identity(input, name=None):
    """A Tensor with the value of `input`."""
    return gen_ops.identity(input, name=name)


def stop_gradient(input, name=None):
    """`input`, as a constant for gradients."""
    return gen_ops.stop_gradient(input, name=name)


def shape(input, name=None, out_type=dtypes.int32):
    """The shape as a vector; a constant if it is known."""
    tensor = convert(input)
    if tensor.shape.is_fully_defined():
        return constant(tensor.shape.as_list(), out_type, name=name or "Shape")
    return gen_ops.shape(tensor, out_type=out_type, name=name)


@takes_composites
def size(input, name=None, out_type=dtypes.int32):
    """The number of elements; a constant if it is known."""
    tensor = convert(input)
    if tensor.shape.is_fully_defined():
        return constant(tensor.shape.num_elements(), out_type, name=name or "Size")
    return gen_ops.size(tensor, out_type=out_type, name=name)


@takes_composites
def rank(input, name=None):
    """The number of dimensions; a constant if it is known."""
    tensor = convert(input)
    if tensor.shape.ndims is not None:
        return constant(tensor.shape.ndims, dtypes.int32, name=name or "Rank")
    return gen_ops.rank(tensor, name=name)


def reshape(tensor, shape, name=None):
    """The same elements under another shape; one size may be -1 for what is left."""
    if isinstance(shape, TensorShape):
        shape = [-1 if dim is None else dim for dim in shape.as_list()]
    return gen_ops.reshape(tensor, shape, name=name)


@takes_composites
def expand_dims(input, axis=None, name=None, dim=None):
    """Puts a dimension of size 1 before `axis`; negative axes count from the end."""
    return gen_ops.expand_dims(input, axis if axis is not None else dim, name=name)


@takes_composites
def squeeze(input, axis=None, name=None, squeeze_dims=None):
    """Takes away dimensions of size 1: those in `axis`, or all of them."""
    axis = axis if axis is not None else squeeze_dims
    axis = [] if axis is None else [axis] if np.isscalar(axis) else list(axis)
    return gen_ops.squeeze(input, squeeze_dims=axis, name=name)


def transpose(a, perm=None, name="transpose", conjugate=False):
    """The axes in the order `perm`; turned around if it is None."""
    with name_scope(name, "transpose", [a]) as scope:
        a = convert(a, name="a")
        if perm is None:
            if a.shape.ndims is not None:
                perm = np.arange(a.shape.ndims - 1, -1, -1, dtype=np.int32)
            else:
                last = gen_ops.sub(gen_ops.rank(a), 1)
                perm = gen_ops.sub(last, gen_ops.range(0, gen_ops.rank(a), 1))
        if conjugate and a.dtype.is_complex:
            return gen_ops.conj(gen_ops.transpose(a, perm), name=scope)
        return gen_ops.transpose(a, perm, name=scope)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two axes exchanged, and the elements conjugated if that is asked for.

    Raises:
      ValueError: if the rank is known to be less than 2.
    """
    a = convert(a)
    ndims = a.shape.ndims
    if ndims is None:
        outer = gen_ops.range(0, gen_ops.sub(gen_ops.rank(a), 2), 1)
        last = gen_ops.add(gen_ops.sub(gen_ops.rank(a), 2), [1, 0])
        return transpose(a, gen_ops.concat_v2([outer, last], 0), name, conjugate)
    if ndims < 2:
        raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2, got {a!r}")
    return transpose(a, [*range(ndims - 2), ndims - 1, ndims - 2], name, conjugate)


@takes_composites
def concat(values, axis, name="concat"):
    """Joins Tensors along an axis; they must agree in all others.

    The order of before TensorFlow 1.0, `concat(axis, values)`, is understood, too: no axis is a list.
    """
    if isinstance(axis, (list, tuple)) and not isinstance(values, (list, tuple)):
        values, axis = axis, values
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return identity(values[0], name=name)
    return gen_ops.concat_v2(list(values), axis, name=name)


@takes_composites
def stack(values, axis=0, name="stack"):
    """Tensors of one shape as one Tensor with a new axis."""
    if axis == 0 and not any(hasattr(value, "_as_tensor") for value in values):
        try:
            return constant(values, name=name)
        except (TypeError, ValueError):
            pass  # Tensors deeper down
    return gen_ops.pack(list(values), axis=axis, name=name)


def unstack(value, num=None, axis=0, name="unstack"):
    """The parts along an axis, as a list. ValueError if their number is not known."""
    value = convert(value)
    if num is None:
        dims = value.shape.plain
        if dims is not None and not -len(dims) <= axis < len(dims):
            raise ValueError(f"Argument `axis` = {axis} not in range [{-len(dims)}, {len(dims)})")
        num = dims[axis] if dims is not None else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return gen_ops.unpack(value, num=num, axis=axis, name=name)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Cuts a Tensor along an axis into equal parts, or into parts of given sizes.

    Args:
      value: a Tensor.
      num_or_size_splits: the number of equal parts, or a list of sizes, of which one may be -1.
      axis: the axis.
      num: the number of parts, where it cannot be seen from a Tensor of sizes.
      name: a name for the node.

    Returns:
      a list of Tensors.

    The order of before TensorFlow 1.0, `split(axis, number, value)`, is understood, too: no axis is a Tensor
    of rank 1 or more, and no number has parts.
    """
    if isinstance(value, int) and isinstance(num_or_size_splits, int):
        if not isinstance(axis, int):
            value, axis = axis, value
    if isinstance(num_or_size_splits, int):
        count_more(1)  # the number as a constant
        return gen_ops.split(axis, value, num_split=num_or_size_splits, name=name)
    sizes = convert(num_or_size_splits)
    if num is None:
        num = sizes.shape.as_list()[0] if sizes.shape.ndims == 1 else None
    if num is None:
        raise ValueError("Cannot infer num from shape %s" % sizes.shape)
    return gen_ops.split_v(value, sizes, axis, num_split=num, name=name)


def slice(input_, begin, size, name=None):
    """The part that begins at `begin` and has this size; -1 goes to the end."""
    return gen_ops.slice(input_, begin, size, name=name)


def strided_slice(
    input_,
    begin,
    end,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    name=None,
):
    """What Python's slices say, as vectors and bit masks; see the op."""
    begin = convert(begin)
    return gen_ops.strided_slice(
        input_,
        begin,
        end,
        ones_like(begin) if strides is None else strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


@takes_composites
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """The slices of `params` along an axis (the first behind `batch_dims` by default) at indices.

    Args:
      params: a Tensor, or a variable.
      indices: integers; their first `batch_dims` axes are those of `params`.
      validate_indices: accepted; indices out of range are errors.
      name: a name for the node.
      axis: an axis of `params`.
      batch_dims: how many leading axes both share.
    """
    axis = batch_dims if axis is None else axis
    if hasattr(params, "sparse_read") and batch_dims == 0 and isinstance(axis, int) and axis == 0:
        return params.sparse_read(indices, name=name)
    return gen_ops.gather_v2(params, indices, axis, batch_dims=batch_dims, name=name)


@takes_composites
def where(condition, x=None, y=None, name=None):
    """Elements of `x` where the condition is true, of `y` elsewhere; without them, the indices."""
    if x is None and y is None:
        return gen_ops.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return gen_ops.select(condition, x, y, name=name)


def fill(dims, value, name=None):
    """A Tensor of this shape with one value."""
    return gen_ops.fill(dims, value, name=name)


def zeros(shape, dtype=dtypes.float32, name=None):
    """Zeros, empty strings or False."""
    return _filled(shape, dtype, name, "zeros", 0)


def ones(shape, dtype=dtypes.float32, name=None):
    """Ones, or True."""
    return _filled(shape, dtype, name, "ones", 1)


def _filled(shape, dtype, name, default_name, number):
    dtype = dtypes.as_dtype(dtype).base_dtype
    value = _value_of(dtype, number)
    with name_scope(name, default_name, [shape]) as scope:
        if not hasattr(shape, "_as_tensor"):
            try:
                dims = as_shape(shape)
                if dims.is_fully_defined() and dims.num_elements() < 1000:
                    return constant(value, dtype, shape=dims, name=scope)
                shape = dims.as_list()
            except (TypeError, ValueError):
                pass  # Tensors among the sizes
        shape = convert(shape, hint=dtypes.int32)
        if shape.shape.ndims == 0:
            shape = gen_ops.reshape(shape, [-1])
        return gen_ops.fill(shape, constant(value, dtype, name="Const"), name=scope)


def _value_of(dtype, number):
    if dtype == dtypes.string:
        return ""
    return bool(number) if dtype == dtypes.bool else number


@takes_composites
def zeros_like(tensor, dtype=None, name=None, optimize=True):
    """Zeros of the shape of a Tensor, and of its type if none is given."""
    return _like(tensor, dtype, name, "zeros_like", zeros, gen_ops.zeros_like)


@takes_composites
def ones_like(tensor, dtype=None, name=None, optimize=True):
    """Ones of the shape of a Tensor, and of its type if none is given."""
    with counted_as(3):  # TensorFlow fills the shape
        return _like(tensor, dtype, name, "ones_like", ones, getattr(gen_ops, "ones_like", None))


def _like(tensor, dtype, name, default_name, make, wrapper):
    with name_scope(name, default_name, [tensor]) as scope:
        tensor = convert(tensor, name="tensor")
        kind = dtypes.as_dtype(dtype).base_dtype if dtype is not None else tensor.dtype.base_dtype
        if tensor.shape.is_fully_defined():
            return make(tensor.shape, kind, name=scope)
        if wrapper is not None and kind == tensor.dtype.base_dtype:
            return wrapper(tensor, name=scope)
        return make(gen_ops.shape(tensor), kind, name=scope)


@takes_composites
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """`on_value` (1) at the index along a new axis, `off_value` (0) elsewhere."""
    if dtype is None:
        given = on_value if on_value is not None else off_value
        dtype = dtypes.float32 if given is None else convert(given).dtype.base_dtype
    dtype = dtypes.as_dtype(dtype).base_dtype
    return gen_ops.one_hot(
        indices,
        depth,
        convert(_value_of(dtype, 1) if on_value is None else on_value, dtype),
        convert(_value_of(dtype, 0) if off_value is None else off_value, dtype),
        axis=-1 if axis is None else axis,
        name=name,
    )


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Adds elements before and after each axis.

    Args:
      tensor: a Tensor of rank n.
      paddings: [n, 2]: how many before and after.
      mode: "CONSTANT", or the mirror image of the Tensor: "REFLECT" with its edge as the mirror,
        "SYMMETRIC" with the edge repeated.
      name: a name for the node.
      constant_values: what is added by "CONSTANT".

    Raises:
      ValueError: for another mode.
    """
    mode = mode.upper()
    if mode in ("REFLECT", "SYMMETRIC"):
        return gen_ops.mirror_pad(tensor, paddings, mode=mode, name=name)
    if mode != "CONSTANT":
        raise ValueError(f"Unknown padding mode: {mode}; it is CONSTANT, REFLECT or SYMMETRIC")
    if not hasattr(constant_values, "_as_tensor") and constant_values == 0:
        return gen_ops.pad(tensor, paddings, name=name)
    return gen_ops.pad_v2(tensor, paddings, constant_values, name=name)


def reverse(tensor, axis, name=None):
    """The elements in the opposite order along each of `axis`."""
    return gen_ops.reverse_v2(tensor, axis, name=name)


@takes_composites
def tile(input, multiples, name=None):
    """The Tensor repeated this often along each axis."""
    return gen_ops.tile(input, multiples, name=name)


def broadcast_to(input, shape, name=None):
    """The Tensor repeated along axes of size 1 to have this shape."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return gen_ops.broadcast_to(input, shape, name=name)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """The slices along an axis at which the vector `mask` is true."""
    with name_scope(name, None, [tensor, mask]):
        tensor = convert(tensor, name="tensor")
        mask = convert(mask, dtypes.bool, "mask")
        if mask.shape.ndims is None or mask.shape.ndims == 0:
            raise ValueError("The mask must have a known rank, at least 1")
        if mask.shape.ndims > 1:
            if axis not in (None, 0):
                raise ValueError("a mask of several dimensions is for axis 0")
            lead = gen_ops.reshape(mask, [-1])
            inner = gen_ops.shape(tensor)[mask.shape.ndims :]
            flat_shape = gen_ops.concat_v2([[-1], inner], 0)
            tensor, mask = gen_ops.reshape(tensor, flat_shape), lead
        indices = gen_ops.squeeze(gen_ops.where(mask), squeeze_dims=[1])
        return gather(tensor, indices, axis=axis or 0)
