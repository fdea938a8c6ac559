"""Matrices that know how they are made up, and so how to solve for them."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import expand_dims, shape, squeeze
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.linear_algebra import matmul
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.matrices import matrix_diag_part
from millrace._ops.reductions import reduce_prod, reduce_sum


class LinearOperatorLowerTriangular:
    """A batch of lower triangular matrices, which it multiplies by and solves for.

    Args:
      tril: a Tensor of floating or complex numbers, of shape [..., n, n]; what stands above its
        diagonals is not looked at.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: what the caller knows of it;
        kept, and not checked.
      name: the beginning of names of nodes.

    Raises:
      ValueError: if is_square is False, or tril has fewer than two axes.
    """

    def __init__(
        self,
        tril,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowerTriangular",
    ):
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self.name = name
        with name_scope(name, values=[tril]):
            given = convert(tril, name="tril")
            if given.shape.ndims is not None and given.shape.ndims < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {given}")
            self._tril = gen_ops.matrix_band_part(given, -1, 0)
        self.is_non_singular = is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite
        self.is_square = True

    @property
    def dtype(self):
        return self._tril.dtype

    @property
    def shape(self):
        return self._tril.shape

    @property
    def batch_shape(self):
        return self._tril.shape[:-2]

    @property
    def tensor_rank(self):
        return self._tril.shape.ndims

    @property
    def domain_dimension(self):
        return self._tril.shape[-1]

    @property
    def range_dimension(self):
        return self._tril.shape[-2]

    @property
    def graph_parents(self):
        return [self._tril]

    def _scope(self, name):
        return name_scope(f"{self.name}/{name}/")

    def shape_tensor(self, name="shape_tensor"):
        """The shape, as a Tensor."""
        with self._scope(name):
            return shape(self._tril)

    def to_dense(self, name="to_dense"):
        """The matrices, with zeros above their diagonals."""
        with self._scope(name):
            return gen_ops.identity(self._tril)

    def diag_part(self, name="diag_part"):
        with self._scope(name):
            return matrix_diag_part(self._tril)

    def trace(self, name="trace"):
        with self._scope(name):
            return reduce_sum(matrix_diag_part(self._tril), axis=[-1])

    def determinant(self, name="det"):
        with self._scope(name):
            return reduce_prod(matrix_diag_part(self._tril), axis=[-1])

    def log_abs_determinant(self, name="log_abs_det"):
        """The logarithm of the size of the determinant."""
        with self._scope(name):
            return reduce_sum(gen_ops.log(magnitude(matrix_diag_part(self._tril))), axis=[-1])

    def add_to_tensor(self, x, name="add_to_tensor"):
        with self._scope(name):
            return gen_ops.add_v2(convert(x, self.dtype, "x"), self._tril)

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The product with x, of shape [..., n, k]; with their adjoints if the flags say so."""
        with self._scope(name):
            x = convert(x, self.dtype, "x")
            return matmul(self._tril, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def matvec(self, x, adjoint=False, name="matvec"):
        """The product with vectors of shape [..., n]."""
        with self._scope(name):
            x = expand_dims(convert(x, self.dtype, "x"), -1)
            return squeeze(matmul(self._tril, x, adjoint_a=adjoint), axis=[-1])

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """X with A X = rhs, of shape [..., n, k].

        Raises:
          NotImplementedError: if the caller said that it is singular.
        """
        self._must_be_solvable()
        with self._scope(name):
            rhs = convert(rhs, self.dtype, "rhs")
            right = adjoint_of(rhs) if adjoint_arg else rhs
            return gen_ops.matrix_triangular_solve(self._tril, right, lower=True, adjoint=adjoint)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """x with A x = rhs, of shape [..., n]. Raises: as solve."""
        self._must_be_solvable()
        with self._scope(name):
            right = expand_dims(convert(rhs, self.dtype, "rhs"), -1)
            made = gen_ops.matrix_triangular_solve(self._tril, right, lower=True, adjoint=adjoint)
            return squeeze(made, axis=[-1])

    def _must_be_solvable(self):
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
