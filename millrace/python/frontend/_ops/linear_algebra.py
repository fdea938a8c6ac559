"""Products of matrices."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert, dtype_among
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import counted_as


def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """The matrix product of `a` and `b`.

    Args:
      a: a Tensor of shape [..., n, k].
      b: a Tensor of the same type and of shape [..., k, m].
      transpose_a: True to transpose `a` first; likewise transpose_b.
      adjoint_a: True to conjugate and transpose `a` first; likewise adjoint_b.
      a_is_sparse: accepted as a hint; likewise b_is_sparse.
      name: a name for the node.

    Returns:
      a Tensor of shape [..., n, m].

    Raises:
      ValueError: if the inner sizes differ, or if one is both transposed and adjoint.
    """
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("Only one of transpose and adjoint can be True.")
    with name_scope(name, "MatMul", [a, b]) as scope:
        a = convert(a, name="a", hint=dtype_among([b]))
        b = convert(b, a.dtype.base_dtype, "b")
        ranks = (a.shape.ndims, b.shape.ndims)
        is_batch = all(rank is None or rank > 2 for rank in ranks) and ranks != (None, None)
        if a.dtype.is_complex:
            # To transpose, the op for batches conjugates, too; that for matrices does not.
            a = gen_ops.conj(a) if (transpose_a if is_batch else adjoint_a) else a
            b = gen_ops.conj(b) if (transpose_b if is_batch else adjoint_b) else b
        if is_batch:
            return gen_ops.batch_mat_mul_v2(
                a,
                b,
                adj_x=transpose_a or adjoint_a,
                adj_y=transpose_b or adjoint_b,
                name=scope,
            )
        return gen_ops.mat_mul(
            a,
            b,
            transpose_a=transpose_a or adjoint_a,
            transpose_b=transpose_b or adjoint_b,
            name=scope,
        )


def tensordot(a, b, axes, name=None):
    """Sums products over the given axes of `a` and `b`.

    Args:
      a, b: Tensors of one type whose ranks are known.
      axes: n for the last n axes of `a` and the first n of `b`, or two lists of axes.
      name: a name for the nodes.

    Raises:
      ValueError: if a rank is unknown.
    """
    with name_scope(name, "Tensordot", [a, b]) as scope:
        a = convert(a, name="a")
        b = convert(b, a.dtype.base_dtype, "b")
        if a.shape.ndims is None or b.shape.ndims is None:
            raise ValueError("tensordot needs Tensors of known rank")
        if isinstance(axes, int):
            axes = (list(range(a.shape.ndims - axes, a.shape.ndims)), list(range(axes)))
        axes_a, axes_b = ([item] if isinstance(item, int) else list(item) for item in axes)
        with counted_as(_nodes_of_product(a, b)):
            a_rows, a_shape = _as_matrix(a, axes_a, summed_last=True)
            b_rows, b_shape = _as_matrix(b, axes_b, summed_last=False)
            product = gen_ops.mat_mul(a_rows, b_rows)
            return gen_ops.reshape(product, gen_ops.concat_v2([a_shape, b_shape], 0), name=scope)


def _nodes_of_product(a, b):
    """How many nodes TensorFlow makes for a tensordot: sizes in the graph only where they are not known."""
    of_each = [4 if each.shape.is_fully_defined() else 16 for each in (a, b)]
    return sum(of_each) + (3 if sum(of_each) == 8 else 5)


def _as_matrix(tensor, axes, summed_last):
    """(matrix with the summed axes as one, shape of the other axes)."""
    rank = tensor.shape.ndims
    axes = [axis % rank for axis in axes]
    free = [axis for axis in range(rank) if axis not in axes]
    order = free + axes if summed_last else axes + free
    shape = gen_ops.shape(tensor)
    moved = gen_ops.transpose(tensor, order)
    free_shape = gen_ops.gather_v2(shape, convert(free, shape.dtype), 0)
    summed = gen_ops.prod(gen_ops.gather_v2(shape, convert(axes, shape.dtype), 0), [0])
    bounds = [-1, summed] if summed_last else [summed, -1]
    return gen_ops.reshape(moved, convert(bounds, shape.dtype)), free_shape
