"""Arithmetic of sparse tensors: sums, products, extremes, reductions, softmax."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._ops.arithmetic import cast
from millrace._ops.sparse_layout import to_sparse
from millrace._values import dtypes

__all__ = [
    "sparse_add",
    "sparse_map_values",
    "sparse_maximum",
    "sparse_minimum",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_softmax",
    "sparse_tensor_dense_matmul",
]


def _parts(value):
    return value.indices, value.values, value.dense_shape


def sparse_add(a, b, threshold=None, thresh=None):
    """The sum of two tensors, one of which at least is sparse. Shapes must be the same.

    Args:
      a, b: SparseTensors in row-major order, or Tensors.
      threshold: of two SparseTensors, sums of two elements whose size is below it are left out; 0 to
        keep all.
      thresh: the older name of threshold.

    Returns:
      a SparseTensor if both are, else a Tensor.

    Raises:
      TypeError: if neither is sparse.
    """
    threshold = threshold if thresh is None else thresh
    threshold = 0 if threshold is None else threshold
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if is_sparse(a) and is_sparse(b):
        a, b = to_sparse(a), to_sparse(b)
        kind = a.values.dtype.base_dtype
        threshold = convert(threshold, kind.real_dtype, "thresh")
        made = gen_ops.sparse_add(*_parts(a), *_parts(b), threshold)
        # Both have this shape, which may be better known than what is computed.
        a.shape.assert_is_compatible_with(b.shape)
        known = a.shape if a.shape.is_fully_defined() else b.shape
        return SparseTensor(
            made[0], made[1], known.as_list() if known.is_fully_defined() else made[2]
        )
    if is_sparse(b):
        a, b = b, a
    return gen_ops.sparse_tensor_dense_add(*_parts(to_sparse(a)), b)


def _cellwise(op, sp, dense):
    """A SparseTensor whose elements meet those of a Tensor, which is repeated where it is smaller."""
    with name_scope(None, op, [sp.values]) as scope:
        dense = convert(dense, sp.dtype.base_dtype, "dense")
        wider = dtypes.float32 if sp.dtype.size <= 2 else dtypes.float64
        values = sp.values
        if op == "truediv" and sp.dtype.is_integer:
            values, dense = cast(values, wider), cast(dense, wider)
        combine = gen_ops.sparse_dense_cwise_mul if op == "mul" else gen_ops.sparse_dense_cwise_div
        return SparseTensor(
            sp.indices,
            combine(sp.indices, values, sp.dense_shape, dense, name=scope),
            sp.dense_shape,
        )


def install():
    """Gives SparseTensor its operators: products with Tensors, and quotients by them."""
    SparseTensor.__mul__ = lambda sp, dense: _cellwise("mul", sp, dense)
    SparseTensor.__rmul__ = SparseTensor.__mul__
    SparseTensor.__truediv__ = lambda sp, dense: _cellwise("truediv", sp, dense)
    SparseTensor.__div__ = lambda sp, dense: _cellwise("div", sp, dense)


def sparse_map_values(op, *args, **kwargs):
    """What `op` makes of the values of SparseTensors with the same places, as a SparseTensor.

    Args:
      op: called with the arguments, the values in the place of each SparseTensor.

    Raises:
      ValueError: if none is a SparseTensor.
    """
    sparse = [value for value in [*args, *kwargs.values()] if isinstance(value, SparseTensor)]
    if not sparse:
        raise ValueError("No SparseTensor in argument list of map_values")
    first = sparse[0]
    for other in sparse[1:]:
        first.indices.shape.assert_is_compatible_with(other.indices.shape)
        first.dense_shape.shape.assert_is_compatible_with(other.dense_shape.shape)
    made = op(
        *[value.values if isinstance(value, SparseTensor) else value for value in args],
        **{
            key: value.values if isinstance(value, SparseTensor) else value
            for key, value in kwargs.items()
        },
    )
    return SparseTensor(first.indices, made, first.dense_shape)


def _extreme(op, noun):
    def extreme(sp_a, sp_b, name=None):
        with name_scope(name, op, [sp_a.values, sp_b.values]) as scope:
            sp_a, sp_b = to_sparse(sp_a), to_sparse(sp_b)
            indices, values = getattr(gen_ops, f"sparse_{op}")(
                *_parts(sp_a), *_parts(sp_b), name=scope
            )
            return SparseTensor(indices, values, sp_a.dense_shape)

    extreme.__doc__ = f"""The {noun} of the elements of two SparseTensors of one shape, both in
    row-major order. 0 stands for an element that one of them lacks."""
    return extreme


sparse_maximum = _extreme("sparse_maximum", "larger")
sparse_minimum = _extreme("sparse_minimum", "smaller")


def _reduction(op, noun, is_sparse_result):
    def reduce(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None, name=None):
        sp_input = to_sparse(sp_input)
        keep = bool(keepdims if keepdims is not None else keep_dims)
        axes = axis if axis is not None else reduction_axes
        if axes is None:
            rank = sp_input.shape.ndims
            axes = (
                np.arange(rank, dtype=np.int32)
                if rank is not None
                else gen_ops.range(0, gen_ops.size(sp_input.dense_shape), 1)
            )
        elif isinstance(axes, (list, tuple)) and not axes:
            axes = np.array(axes, np.int32)
        made = getattr(gen_ops, op)(*_parts(sp_input), axes, keep_dims=keep, name=name)
        return SparseTensor(*made) if is_sparse_result else made

    reduce.__doc__ = f"""{noun} of the elements of a SparseTensor that are there, over axes.

    Args:
      sp_input: a SparseTensor.
      axis: an axis or a list of axes; None for all of them.
      keepdims: True to keep the axes, with size 1.
      reduction_axes: the older name of axis.
      keep_dims: the older name of keepdims.
      name: a name for the node.

    Returns:
      a {"SparseTensor of those that have any" if is_sparse_result else "Tensor, 0 where there are none"}.
    """
    return reduce


sparse_reduce_sum = _reduction("sparse_reduce_sum", "The sums", False)
sparse_reduce_max = _reduction("sparse_reduce_max", "The largest", False)
sparse_reduce_sum_sparse = _reduction("sparse_reduce_sum_sparse", "The sums", True)
sparse_reduce_max_sparse = _reduction("sparse_reduce_max_sparse", "The largest", True)


def sparse_softmax(sp_input, name=None):
    """The softmax of the elements of each innermost row of a SparseTensor that are there.

    Args:
      sp_input: a SparseTensor of half, float or double, of rank 2 or more, in row-major order.
      name: the name scope.
    """
    with name_scope(name, "SparseSoftmax", [sp_input.values]) as scope:
        values = gen_ops.sparse_softmax(*_parts(sp_input), name=scope)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a sparse matrix and a dense one, or of a dense one and a sparse one.

    Args:
      sp_a: a SparseTensor of rank 2, best in row-major order.
      b: a matrix of the same type.
      adjoint_a, adjoint_b: True to take the transpose, the conjugate one of complex numbers.
      name: the name scope.

    Returns:
      a matrix.
    """
    if is_sparse(b):
        # (A B) is the adjoint of (B' A').
        product = sparse_tensor_dense_matmul(
            b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a, name=name
        )
        product = gen_ops.conj(product) if product.dtype.is_complex else product
        return gen_ops.transpose(product, [1, 0])
    sp_a = to_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.values, b]) as scope:
        return gen_ops.sparse_tensor_dense_mat_mul(
            *_parts(sp_a),
            convert(b, sp_a.dtype.base_dtype, "b"),
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
            name=scope,
        )
