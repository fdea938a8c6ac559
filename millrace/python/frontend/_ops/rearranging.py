"""Elements in other places: sequences, blocks, patches, grids and sets, as tf.* names them."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.composite import takes_composites
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import stack
from millrace._values import dtypes

__all__ = [
    "batch_gather",
    "batch_to_space",
    "bucketize",
    "cumprod",
    "cumulative_logsumexp",
    "depth_to_space",
    "extract_image_patches",
    "extract_volume_patches",
    "gather_nd",
    "meshgrid",
    "required_space_to_batch_paddings",
    "reverse_sequence",
    "setdiff1d",
    "space_to_batch",
    "space_to_depth",
    "sparse_to_dense",
    "unique",
    "unique_with_counts",
    "unravel_index",
]


@takes_composites
def gather_nd(params, indices, name=None, batch_dims=0):
    """The slices of `params` that the rows of `indices` name.

    Args:
      params: a Tensor, or a variable.
      indices: integers; each row along the last axis is the first coordinates of a slice.
      name: a name for the node.
      batch_dims: how many leading axes both share. Their sizes must be known.

    Returns:
      a Tensor of shape indices.shape[:-1] + params.shape[indices.shape[-1]:].
    """
    if not batch_dims:
        return gen_ops.gather_nd(params, indices, name=name)
    with name_scope(name, "GatherNd", [params, indices]) as scope:
        params, indices = convert(params, name="params"), convert(indices, name="indices")
        shape, kind = gen_ops.shape(indices), indices.dtype.base_dtype
        axes = []
        rank = indices.shape.ndims
        if rank is None or not 0 <= batch_dims < rank:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {rank}")
        for axis in range(batch_dims):
            places = gen_ops.cast(gen_ops.range(0, shape[axis], 1), DstT=kind)
            ones_before, ones_behind = [1] * axis, [1] * (rank - axis - 1)
            column = gen_ops.reshape(places, ones_before + [-1] + ones_behind)
            whole = gen_ops.concat_v2([shape[:-1], [1]], 0)
            axes.append(gen_ops.broadcast_to(column, whole))
        return gen_ops.gather_nd(params, gen_ops.concat_v2([*axes, indices], -1), name=scope)


def batch_gather(params, indices, name=None):
    """Gathers along the last axis of `indices`; all axes before it are those of `params`, too."""
    with name_scope(name, "BatchGather", [params, indices]) as scope:
        indices = convert(indices, name="indices")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        batch = indices.shape.ndims - 1
        return gen_ops.gather_v2(params, indices, batch, batch_dims=batch, name=scope)


def reverse_sequence(
    input,
    seq_lengths,
    seq_axis=None,
    batch_axis=None,
    name=None,
    seq_dim=None,
    batch_dim=None,
):
    """The input with the first seq_lengths[i] elements along an axis in the opposite order, for each i.

    Args:
      input: a Tensor.
      seq_lengths: a vector of integers, one for each element along the batch axis.
      seq_axis: the axis that is reversed; seq_dim is its older name.
      batch_axis: the axis along which the lengths differ, 0 if None; batch_dim is its older name.
      name: a name for the node.
    """
    sequence = seq_axis if seq_axis is not None else seq_dim
    batch = batch_axis if batch_axis is not None else batch_dim
    return gen_ops.reverse_sequence(
        input, seq_lengths, seq_dim=sequence, batch_dim=batch or 0, name=name
    )


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """SpaceToBatchND; a `block_size` is that of square blocks of images."""
    if block_shape is None:
        block_shape = np.array([block_size, block_size])
    return gen_ops.space_to_batch_nd(input, block_shape, paddings, name=name)


def batch_to_space(input, crops, block_size=None, name=None, block_shape=None):
    """BatchToSpaceND; a `block_size` is that of square blocks of images."""
    if block_shape is None:
        block_shape = np.array([block_size, block_size])
    return gen_ops.batch_to_space_nd(input, block_shape, crops, name=name)


def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    """Blocks of pixels as one pixel with all their channels."""
    return gen_ops.space_to_depth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    """Pixels as blocks, each with a part of their channels."""
    return gen_ops.depth_to_space(input, block_size=block_size, data_format=data_format, name=name)


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """What `space_to_batch` must add so that blocks divide the shape, and crops that take it away.

    Args:
      input_shape: a vector of sizes of the spatial axes.
      block_shape: a vector as long.
      base_paddings: [n, 2]: what is to be added in any case; None for nothing.
      name: the name scope.

    Returns:
      (paddings, crops), both of shape [n, 2].
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes = convert(input_shape, dtypes.int32, "input_shape")
        blocks = convert(block_shape, dtypes.int32, "block_shape")
        count = blocks.shape.as_list()[0]
        if base_paddings is None:
            base_paddings = np.zeros([count, 2], np.int32)
        base = convert(base_paddings, dtypes.int32, "base_paddings")
        known = [constant_value(each) for each in (sizes, blocks, base)]
        if all(each is not None for each in known):
            sizes, blocks, base = known
            before, behind = base[:, 0], base[:, 1]
            more = (blocks - (sizes + before + behind) % blocks) % blocks
            paddings = np.stack([before, behind + more], axis=1)
            crops = np.stack([np.zeros_like(more), more], axis=1)
            return convert(paddings, dtypes.int32), convert(crops, dtypes.int32)
        before, behind = base[:, 0], base[:, 1]
        whole = gen_ops.add_v2(gen_ops.add_v2(sizes, before), behind)
        left = gen_ops.floor_mod(whole, blocks)
        more = gen_ops.floor_mod(gen_ops.sub(blocks, left), blocks)
        paddings = stack([before, gen_ops.add_v2(behind, more)], axis=1)
        return paddings, stack([gen_ops.zeros_like(more), more], axis=1)


def extract_image_patches(
    images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None
):
    """Patches of images, each as a row of all elements of its pixels.

    Args:
      images: a Tensor of shape [batch, height, width, channels].
      ksizes: [1, rows, columns, 1]: the size of a patch; sizes is another name.
      strides: [1, rows, columns, 1]: how far apart patches are.
      rates: [1, rows, columns, 1]: how far apart the pixels of a patch are.
      padding: "VALID" or "SAME".
      name: a name for the node.

    Returns:
      a Tensor of shape [batch, rows, columns, size of a patch times channels].
    """
    ksizes = ksizes if ksizes is not None else sizes
    return gen_ops.extract_image_patches(
        images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name
    )


def extract_volume_patches(input, ksizes, strides, padding, name=None):
    """Patches of volumes, each as a row of all elements of its pixels.

    Args:
      input: a Tensor of shape [batch, planes, height, width, channels].
      ksizes: [1, planes, rows, columns, 1]: the size of a patch.
      strides: [1, planes, rows, columns, 1]: how far apart patches are.
      padding: "VALID" or "SAME".
      name: a name for the node.

    Returns:
      a Tensor of shape [batch, planes, rows, columns, size of a patch times channels].
    """
    return gen_ops.extract_volume_patches(
        input, ksizes=ksizes, strides=strides, padding=padding, name=name
    )


def meshgrid(*args, **kwargs):
    """Grids of coordinates: for each vector a Tensor with one axis for each vector.

    Args:
      *args: vectors.
      indexing: "xy", where the first two axes change places, or "ij".
      name: the name scope.

    Returns:
      a list of Tensors.
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError(f"meshgrid() got an unexpected keyword argument '{key}'")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", list(args)):
        count = len(args)
        vectors = [gen_ops.reshape(convert(each), [-1]) for each in args]
        order = list(range(count))
        if indexing == "xy" and count > 1:
            order[0], order[1] = 1, 0
        sizes = [gen_ops.size(vectors[order.index(axis)]) for axis in range(count)]
        if not sizes:
            return []
        whole = stack(sizes)
        made = []
        for number, vector in enumerate(vectors):
            dims = [1] * count
            dims[order[number]] = -1
            made.append(gen_ops.broadcast_to(gen_ops.reshape(vector, dims), whole))
        return made


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """(the elements of the vector x that are not in y, where they are)."""
    return gen_ops.list_diff(x, y, out_idx=index_dtype, name=name)


def unique(x, out_idx=dtypes.int32, name=None):
    """(the elements of a vector, each once, in order; which of them each element of x is)."""
    return gen_ops.unique(x, out_idx=out_idx, name=name)


def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    """As `unique`, and how often each of them comes."""
    return gen_ops.unique_with_counts(x, out_idx=out_idx, name=name)


def unravel_index(indices, dims, name=None):
    """The coordinates of elements of a Tensor of shape `dims`, by their numbers in row-major order."""
    return gen_ops.unravel_index(indices, dims, name=name)


def sparse_to_dense(
    sparse_indices,
    output_shape,
    sparse_values,
    default_value=0,
    validate_indices=True,
    name=None,
):
    """A Tensor that is `default_value` but at the given indices.

    Args:
      sparse_indices: a scalar, a vector, or a matrix with coordinates as rows.
      output_shape: a vector of sizes, of the type of the indices.
      sparse_values: a scalar, or a vector with a value for each index.
      default_value: a scalar of the same type.
      validate_indices: whether the indices must be in order and none of them twice.
      name: a name for the node.
    """
    values = convert(sparse_values, name="sparse_values")
    default = convert(default_value, values.dtype.base_dtype, "default_value")
    return gen_ops.sparse_to_dense(
        sparse_indices,
        output_shape,
        values,
        default,
        validate_indices=validate_indices,
        name=name,
    )


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Products of all elements up to each, along an axis."""
    return gen_ops.cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """Logarithms of the sums of the exponentials of all elements up to each, along an axis."""
    return gen_ops.cumulative_logsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def bucketize(input, boundaries, name=None):
    """Between which of the boundaries, a sorted list of numbers, each element is: an int32 Tensor."""
    return gen_ops.bucketize(input, boundaries=boundaries, name=name)
