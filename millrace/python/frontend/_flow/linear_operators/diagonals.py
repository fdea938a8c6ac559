"""Operators that scale each element by itself."""

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal, assert_positive, assert_rank
from millrace._flow.control_flow import with_dependencies
from millrace._flow.linear_operators import hints
from millrace._flow.linear_operators.algebra import (
    LinearOperator,
    LinearOperatorLowerTriangular,
    nowhere_zero,
)
from millrace._flow.linear_operators.batches import added_to_diagonal, size_argument
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, expand_dims, fill, shape
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.complex_values import conj, imag, real
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.matrices import matrix_diag
from millrace._ops.reductions import reduce_prod, reduce_sum


def without_imaginary_part(values, message):
    """An Operation that fails with the message unless all values are real numbers."""
    part = imag(values)
    return assert_equal(gen_ops.zeros_like(part), part, message=message)


class Scaling(LinearOperator):
    """What multiplies elements by numbers.

    Args:
      factors: a Tensor of shape [..., n], or [..., 1] for one number for all of them.
      kind: what it is called in errors.
      known: the hints, in the order of LinearOperator.
      name: the beginning of names of nodes.
    """

    def __init__(self, factors, kind, known, name):
        is_non_singular, is_self_adjoint, is_positive_definite, is_square = known
        if is_square is False:
            raise ValueError(f"Only square {kind} operators currently supported.")
        if not factors.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        self._factors = factors
        known = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(factors.dtype, [factors], *known, name)

    def _by(self, adjoint):
        return conj(self._factors) if adjoint else self._factors

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return expand_dims(self._by(adjoint), -1) * (adjoint_of(x) if adjoint_arg else x)

    def _matvec(self, x, adjoint=False):
        return self._by(adjoint) * x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return (adjoint_of(rhs) if adjoint_arg else rhs) / expand_dims(self._by(adjoint), -1)

    def _solvevec(self, rhs, adjoint=False):
        return rhs / self._by(adjoint)

    def _to_dense(self):
        return matrix_diag(self._diag_part())

    def _add_to_tensor(self, x):
        return added_to_diagonal(x, self._diag_part())

    def _assert_non_singular(self):
        return nowhere_zero(self._factors, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self):
        told = "Diagonal operator had entries with non-positive real part, thus was not positive definite."
        return assert_positive(real(self._factors), message=told)

    def _assert_self_adjoint(self):
        told = "This diagonal operator contained non-zero imaginary values.  Thus it was not self-adjoint."
        return without_imaginary_part(self._factors, told)

    def _scaled(self, factors, known):
        """One of this class by other factors."""
        raise NotImplementedError

    def _adjoint(self):
        return self._scaled(conj(self._factors), hints.of(self))

    def _inverse(self):
        return self._scaled(1.0 / self._factors, hints.of(self))

    def _cholesky(self):
        known = dict.fromkeys(["is_non_singular", "is_self_adjoint", "is_positive_definite"], True)
        return self._scaled(gen_ops.sqrt(self._factors), known)


class LinearOperatorScaledIdentity(Scaling):
    """A batch of matrices that multiply by a number.

    Args:
      num_rows: n, a number that is not negative, or an integer scalar.
      multiplier: a Tensor of floating or complex numbers, of the shape of the batch.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: as for LinearOperator.
      assert_proper_shapes: True to check in each step that num_rows is a scalar.
      name: the beginning of names of nodes.

    Raises:
      ValueError: if a hint is wrong, or num_rows is known and negative. TypeError: if it is no integer.
    """

    def __init__(
        self,
        num_rows,
        multiplier,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorScaledIdentity",
    ):
        with name_scope(name, values=[multiplier]):
            self._multiplier = convert(multiplier, name="multiplier")
            factors = expand_dims(self._multiplier, -1)
            self._size, self._known_size = size_argument(
                num_rows, "num_rows", self._checked if assert_proper_shapes else None
            )
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(factors, "scaled identity", known, name)

    @staticmethod
    def _checked(size, rank, name):
        return with_dependencies([assert_rank(size, rank, message=f"Argument {name}")], size)

    multiplier = property(lambda self: self._multiplier, doc="The numbers.")

    def _shape(self):
        return self._multiplier.shape.concatenate([self._known_size, self._known_size])

    def _shape_tensor(self):
        size = expand_dims(self._size, 0)
        return concat([shape(self._multiplier), size, size], 0)

    def _scaled(self, factors, known):
        return LinearOperatorScaledIdentity(self._size, factors[..., 0], **known)

    def _diag_part(self):
        made = self._factors * fill(expand_dims(self._size, 0), convert(1, self.dtype))
        made.set_shape(self.shape[:-1])
        return made

    def _trace(self):
        return self._multiplier * gen_ops.cast(self._size, DstT=self.dtype)

    def _determinant(self):
        return gen_ops.pow(self._multiplier, gen_ops.cast(self._size, DstT=self.dtype))

    def _log_abs_determinant(self):
        size = gen_ops.log(magnitude(self._multiplier))
        return size * gen_ops.cast(self._size, DstT=size.dtype)

    def _product_with(self, right):
        if isinstance(right, Scaling):
            return right.with_factors(self._factors, self, False)
        return super()._product_with(right)

    def with_factors(self, factors, other, inverted):
        """The product of another one, of the given factors, and this one; of its inverse if `inverted`."""
        made = self._factors / factors if inverted else self._factors * factors
        known = hints.of_commuting(other, self)
        if isinstance(other, LinearOperatorScaledIdentity):
            return self._scaled(made, known)
        return LinearOperatorDiag(made, **known)

    def _solution_for(self, right):
        if isinstance(right, Scaling):
            return right.with_factors(self._factors, self, True)
        return super()._solution_for(right)


class LinearOperatorDiag(Scaling):
    """A batch of diagonal matrices.

    Args:
      diag: a Tensor of floating or complex numbers, of shape [..., n].
      is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: as for LinearOperator.

    Raises:
      ValueError: if diag is a scalar, or a hint is wrong: real ones are self-adjoint, all are square.
    """

    def __init__(
        self,
        diag,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorDiag",
    ):
        with name_scope(name, values=[diag]):
            diag = convert(diag, name="diag")
        if diag.shape.ndims == 0:
            raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {diag}")
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(diag, "diagonal", known, name)

    diag = property(lambda self: self._factors, doc="The diagonals.")

    def _shape(self):
        return self._factors.shape.concatenate(self._factors.shape[-1:])

    def _shape_tensor(self):
        sizes = shape(self._factors)
        return concat([sizes, sizes[-1:]], 0)

    def _scaled(self, factors, known):
        return LinearOperatorDiag(factors, **known)

    def _diag_part(self):
        return gen_ops.identity(self._factors)

    def _determinant(self):
        return reduce_prod(self._factors, axis=[-1])

    def _log_abs_determinant(self):
        made = reduce_sum(gen_ops.log(magnitude(self._factors)), axis=[-1])
        return gen_ops.cast(made, DstT=self.dtype)

    def with_factors(self, factors, other, inverted):
        """The product of another one, of the given factors, and this one; of its inverse if `inverted`."""
        made = self._factors / factors if inverted else self._factors * factors
        return LinearOperatorDiag(made, **hints.of_commuting(other, self))

    def _triangle(self, triangle, known):
        return LinearOperatorLowerTriangular(triangle, known["is_non_singular"])

    def _product_with(self, right):
        if isinstance(right, Scaling):
            return right.with_factors(self._factors, self, False)
        if isinstance(right, LinearOperatorLowerTriangular):
            rows = expand_dims(self._factors, -1) * right.tril
            return self._triangle(rows, hints.of_product(self, right))
        return super()._product_with(right)

    def _product_after(self, left):
        if not isinstance(left, LinearOperatorLowerTriangular):
            return None
        columns = left.tril * expand_dims(self._factors, -2)
        return self._triangle(columns, hints.of_product(left, self))

    def _solution_for(self, right):
        if isinstance(right, Scaling):
            return right.with_factors(self._factors, self, True)
        if isinstance(right, LinearOperatorLowerTriangular):
            rows = right.tril / expand_dims(self._factors, -1)
            return self._triangle(rows, hints.of_product(self, right))
        return super()._solution_for(right)
