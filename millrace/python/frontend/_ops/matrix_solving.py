"""What solves for matrices, inverts them and takes them apart, as tf.* and tf.linalg name it."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, expand_dims, matrix_transpose, shape, squeeze, stack
from millrace._ops.complex_values import conj
from millrace._ops.layers import top_k
from millrace._ops.linear_algebra import matmul
from millrace._ops.matrices import matrix_diag_part, matrix_set_diag, norm
from millrace._ops.reductions import reduce_max, reduce_sum

__all__ = [
    "cholesky_solve",
    "matrix_solve_ls",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "svd",
]


def cholesky_solve(chol, rhs, name=None):
    """X with A X = rhs, from the triangles that `tf.cholesky` gives for A.

    Args:
      chol: a Tensor of shape [..., n, n].
      rhs: a Tensor of shape [..., n, k].
      name: the name scope.
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        half = gen_ops.matrix_triangular_solve(chol, rhs, adjoint=False, lower=True)
        return gen_ops.matrix_triangular_solve(chol, half, adjoint=True, lower=True)


def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """X for which |matrix X - rhs|^2 + l2_regularizer |X|^2 is least.

    Args:
      matrix: a Tensor of shape [..., m, n].
      rhs: a Tensor of shape [..., m, k].
      l2_regularizer: a number, 0 or more; looked at if fast.
      fast: True to solve the normal equations; False for an orthogonal decomposition, which bears
        matrices of any rank and has no gradient.
      name: a name for the node.

    Returns:
      a Tensor of shape [..., n, k].
    """
    regularizer = convert(l2_regularizer, np.float64, "l2_regularizer")
    return gen_ops.matrix_solve_ls(matrix, rhs, regularizer, fast=fast, name=name)


def self_adjoint_eig(tensor, name=None):
    """(eigenvalues, eigenvectors) of symmetric (Hermitian) matrices, of shape [..., n, n].

    Eigenvalues come the smallest first; eigenvectors are columns. Only lower triangles are read.
    """
    made = gen_ops.self_adjoint_eig_v2(tensor, compute_v=True, name=name)
    return made[0], made[1]


def self_adjoint_eigvals(tensor, name=None):
    """The eigenvalues of symmetric (Hermitian) matrices, the smallest first."""
    return gen_ops.self_adjoint_eig_v2(tensor, compute_v=False, name=name)[0]


def eig(tensor, name=None):
    """(eigenvalues, eigenvectors) of matrices, complex ones; eigenvectors are columns."""
    tensor = convert(tensor, name="tensor")
    made = gen_ops.eig(tensor, Tout=_complex_of(tensor.dtype), compute_v=True, name=name)
    return made[0], made[1]


def eigvals(tensor, name=None):
    """The eigenvalues of matrices, complex ones."""
    tensor = convert(tensor, name="tensor")
    return gen_ops.eig(tensor, Tout=_complex_of(tensor.dtype), compute_v=False, name=name)[0]


def _complex_of(dtype):
    return "complex128" if dtype.name in ("float64", "complex128") else "complex64"


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Matrices as U diag(s) V^H.

    Args:
      tensor: a Tensor of shape [..., m, n].
      full_matrices: True for U and V that are square.
      compute_uv: False for s alone.
      name: a name for the node.

    Returns:
      (s, u, v), or s: the singular values, the largest first, and both matrices.
    """
    s, u, v = gen_ops.svd(
        convert(tensor, name="input"), compute_uv=compute_uv, full_matrices=full_matrices, name=name
    )
    s = _real(s)
    return (s, u, v) if compute_uv else s


def _real(x):
    return gen_ops.real(x, Tout=x.dtype.real_dtype) if x.dtype.is_complex else x


def slogdet(input, name=None):
    """(sign, logarithm of the size) of the determinants of matrices."""
    made = gen_ops.log_matrix_determinant(input, name=name)
    return made[0], made[1]


def logdet(matrix, name=None):
    """The logarithms of the determinants of matrices that are Hermitian and positive definite."""
    with name_scope(name, "logdet", [matrix]):
        diagonal = _real(matrix_diag_part(gen_ops.cholesky(matrix)))
        return 2.0 * reduce_sum(gen_ops.log(diagonal), axis=[-1])


def matvec(
    a,
    b,
    transpose_a=False,
    adjoint_a=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """Matrices times vectors: matmul for a `b` of shape [..., n]."""
    with name_scope(name, "MatVec", [a, b]):
        made = matmul(
            a,
            expand_dims(convert(b, name="b"), -1),
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return squeeze(made, axis=[-1])


def normalize(tensor, ord="euclidean", axis=None, name=None):
    """(tensor divided by its norm, the norm), with arguments as for `norm`."""
    with name_scope(name, "normalize", [tensor]):
        tensor = convert(tensor, name="tensor")
        size = norm(tensor, ord, axis, keepdims=True)
        size = gen_ops.cast(size, DstT=tensor.dtype)
        return tensor / size, size


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values of matrices are larger than `tol`.

    `tol` is, if not given, the largest one times the larger size times the spacing of numbers at 1.
    """
    with name_scope(name, "matrix_rank", [a]):
        a = convert(a, name="a")
        s = svd(a, compute_uv=False)
        if tol is None:
            sizes = a.shape.as_list()[-2:]
            spacing = np.finfo(s.dtype.as_numpy_dtype).eps
            if None in sizes:
                size = gen_ops.cast(reduce_max(shape(a)[-2:]), DstT=s.dtype)
            else:
                size = max(sizes)
            tol = spacing * size * reduce_max(s, axis=-1, keepdims=True)
        return reduce_sum(gen_ops.cast(gen_ops.greater(s, tol), DstT="int32"), axis=-1)


def pinv(a, rcond=None, validate_args=False, name=None):
    """The pseudo-inverse of Moore and Penrose of matrices.

    Singular values below rcond times the largest count as 0; rcond is, if not given, ten times the
    larger size times the spacing of numbers at 1.
    """
    with name_scope(name, "pinv", [a]):
        a = convert(a, name="a")
        if not (a.dtype.is_floating or a.dtype.is_complex):
            raise TypeError(
                "Input `a` must have `float`-like `dtype` (saw {}).".format(a.dtype.name)
            )
        s, u, v = svd(a)
        if rcond is None:
            sizes = [each or 1 for each in a.shape.as_list()[-2:]]
            rcond = 10.0 * max(sizes) * np.finfo(s.dtype.as_numpy_dtype).eps
        rcond = convert(rcond, s.dtype, "rcond")
        least = expand_dims(rcond * reduce_max(s, axis=-1), -1)
        # Infinite ones are divided by, and become 0.
        kept = gen_ops.select_v2(gen_ops.greater(s, least), s, convert(np.inf, s.dtype))
        scaled = v / expand_dims(gen_ops.cast(kept, DstT=v.dtype), -2)
        return matmul(scaled, u, adjoint_b=True)


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """The matrices that `lu` took apart."""
    with name_scope(name, "lu_reconstruct", [lower_upper, perm]):
        lower_upper = convert(lower_upper, name="lower_upper")
        ones = gen_ops.ones_like(matrix_diag_part(lower_upper))
        lower = matrix_set_diag(gen_ops.matrix_band_part(lower_upper, -1, 0), ones)
        upper = gen_ops.matrix_band_part(lower_upper, 0, -1)
        return _rows(matmul(lower, upper), _inverted(convert(perm, name="perm")))


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """X with A X = rhs, from what `lu` gives for A."""
    with name_scope(name, "lu_solve", [lower_upper, perm, rhs]):
        lower_upper = convert(lower_upper, name="lower_upper")
        rhs = _rows(convert(rhs, lower_upper.dtype, "rhs"), convert(perm, name="perm"))
        ones = gen_ops.ones_like(matrix_diag_part(lower_upper))
        lower = matrix_set_diag(lower_upper, ones)
        half = gen_ops.matrix_triangular_solve(lower, rhs)
        return gen_ops.matrix_triangular_solve(lower_upper, half, lower=False)


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """The inverses of the matrices that `lu` took apart."""
    with name_scope(name, "lu_matrix_inverse", [lower_upper, perm]):
        return gen_ops.matrix_inverse(lu_reconstruct(lower_upper, perm))


def _rows(matrices, order):
    """The rows of matrices in another order, one per matrix."""
    rank = matrices.shape.ndims
    if rank is None:
        raise ValueError("lu_solve and lu_reconstruct need Tensors of known rank")
    return gen_ops.gather_v2(matrices, order, rank - 2, batch_dims=rank - 2)


def _inverted(order):
    return top_k(gen_ops.neg(order), shape(order)[-1])[1]


def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):
    """X with A X = rhs, where triangles A are given by their diagonals.

    Args:
      bands: a Tensor of shape [..., number of diagonals, n]: the main one and those below it, padded
        on the left; or, if not lower, those above it, the furthest first, padded on the right, and
        the main one.
      rhs: a Tensor of shape [..., n, k].
      lower: whether the triangles are lower ones.
      adjoint: True to solve for their adjoints.
      name: a name for the node.
    """
    return gen_ops.banded_triangular_solve(bands, rhs, lower=lower, adjoint=adjoint, name=name)


def _three_diagonals(diagonals, diagonals_format):
    """(above, main, below), each of shape [..., n]: the last and the first element of which count
    for nothing."""
    if diagonals_format == "matrix":
        matrices = convert(diagonals, name="diagonals")
        parts = matrix_diag_part(matrices, k=(-1, 1), align="LEFT_RIGHT")
        return [parts[..., row, :] for row in range(3)]
    if diagonals_format == "compact":
        parts = convert(diagonals, name="diagonals")
        return [parts[..., row, :] for row in range(3)]
    if diagonals_format == "sequence":
        above, main, below = (convert(each, name="diagonal") for each in diagonals)
        size, others = main.shape.as_list()[-1], above.shape.as_list()[-1]
        if size is not None and others is not None and others == size - 1:
            none = gen_ops.zeros_like(main[..., :1])
            return [concat([above, none], -1), main, concat([none, below], -1)]
        return [above, main, below]
    raise ValueError(
        "Expected diagonals_format to be 'compact', 'matrix' or 'sequence', got "
        f"{diagonals_format!r}"
    )


def tridiagonal_solve(
    diagonals,
    rhs,
    diagonals_format="compact",
    transpose_rhs=False,
    conjugate_rhs=False,
    name=None,
    partial_pivoting=True,
    perturb_singular=False,
):
    """X with A X = rhs for matrices A of three diagonals.

    Args:
      diagonals: "compact": a Tensor of shape [..., 3, n], diagonals above, on and below the main
        one; "sequence": three Tensors; "matrix": a Tensor of shape [..., n, n].
      rhs: a Tensor of shape [..., n] or [..., n, k].
      diagonals_format: one of these words.
      transpose_rhs, conjugate_rhs: True to transpose, or conjugate, rhs first.
      name: the name scope.
      partial_pivoting: False to solve without changing rows.
      perturb_singular: True to take pivots of 0 for small numbers.

    Raises:
      ValueError: if the format is none of these.
    """
    with name_scope(name, "tridiagonal_solve", [diagonals, rhs]):
        three = stack(_three_diagonals(diagonals, diagonals_format), axis=-2)
        rhs = convert(rhs, three.dtype, "rhs")
        if three.shape.ndims is None or rhs.shape.ndims is None:
            raise ValueError("tridiagonal_solve needs Tensors of known rank")
        is_vector = rhs.shape.ndims == three.shape.ndims - 1
        if is_vector:
            right = expand_dims(conj(rhs) if conjugate_rhs else rhs, -1)
        elif transpose_rhs:
            right = matrix_transpose(rhs, conjugate=conjugate_rhs)
        else:
            right = conj(rhs) if conjugate_rhs else rhs
        made = gen_ops.tridiagonal_solve(
            three, right, partial_pivoting=partial_pivoting, perturb_singular=perturb_singular
        )
        return squeeze(made, axis=[-1]) if is_vector else made


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Products of matrices of three diagonals, given as for `tridiagonal_solve`, with `rhs`."""
    with name_scope(name, "tridiagonal_matmul", [diagonals, rhs]):
        above, main, below = (
            expand_dims(each, -2) for each in _three_diagonals(diagonals, diagonals_format)
        )
        return gen_ops.tridiagonal_mat_mul(above, main, below, convert(rhs, main.dtype, "rhs"))
