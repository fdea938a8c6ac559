"""Operators that are made of operators: products, adjoints, inverses and triangles, and what is one of these."""

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_none_equal
from millrace._flow.control_flow import group
from millrace._flow.linear_operators import hints
from millrace._flow.linear_operators.batches import (
    batch_of,
    batch_sizes_of,
    of_one_dtype,
    product,
    same_batches,
    sum_of_logs,
)
from millrace._flow.linear_operators.matrix import Matrix
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, expand_dims, shape, stack
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.complex_values import conj
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.matrices import matrix_diag_part
from millrace._ops.reductions import reduce_prod, reduce_sum
from millrace._values.tensor_shape import TensorShape


class LinearOperator(Matrix):
    """A batch of matrices that may be multiplied by, and solved for, without being written out.

    Programs may derive from it. Args, errors, and what those define: as for `Matrix`, its base.
    """

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The products with matrices.

        Args:
          x: a Tensor of shape [..., n, k] and of this type, whose batch broadcasts with ours; or a LinearOperator.
          adjoint: True to take our adjoints.
          adjoint_arg: True to take those of x.
          name: the name scope.

        Returns:
          a Tensor of shape [..., m, k]; a LinearOperator for one.

        Raises:
          TypeError: if x has another type. ValueError: if its size does not fit.
        """
        if not isinstance(x, LinearOperator):
            return self._product(x, adjoint, adjoint_arg, name)
        left, right = self._sides(x, adjoint, adjoint_arg, "x")
        with self._scope(name):
            return left._product_with(right)

    def __matmul__(self, other):
        return self.matmul(other)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """X with A X = rhs.

        Args:
          rhs: a Tensor of shape [..., m, k] and of this type, whose batch broadcasts with ours; or a
            LinearOperator.
          adjoint: True to solve for our adjoints.
          adjoint_arg: True to take the adjoints of rhs.
          name: the name scope.

        Returns:
          a Tensor of shape [..., n, k]; a LinearOperator for one.

        Raises:
          NotImplementedError: if they are known to be singular or not square. TypeError, ValueError: as for matmul.
        """
        self._must_be_solvable()
        if not isinstance(rhs, LinearOperator):
            return self._solution(rhs, adjoint, adjoint_arg, name)
        left, right = self._sides(rhs, adjoint, adjoint_arg, "rhs")
        with self._scope(name):
            return left._solution_for(right)

    def _sides(self, other, adjoint, adjoint_arg, what):
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        if not left.domain_dimension.is_compatible_with(right.range_dimension):
            raise ValueError(
                f"Operators are incompatible. Expected `{what}` to have dimension {left.domain_dimension} but "
                f"got {right.range_dimension}."
            )
        return left, right

    # What follows are shorter forms that classes know of; `_after` is asked of the right one of two.

    def _product_with(self, right):
        made = right._product_after(self)
        if made is not None:
            return made
        return LinearOperatorComposition([self, right], **hints.of_product(self, right))

    def _product_after(self, left):
        return None

    def _solution_for(self, right):
        made = right._solution_after(self)
        if made is not None:
            return made
        known = hints.of_product(self, right)
        return LinearOperatorComposition([LinearOperatorInversion(self), right], **known)

    def _solution_after(self, left):
        return None

    def adjoint(self, name="adjoint"):
        """The LinearOperator of the adjoints: itself if it is known to be self-adjoint."""
        if self.is_self_adjoint is True:
            return self
        with self._scope(name):
            return self._adjoint()

    H = property(lambda self: self.adjoint(), doc="The adjoints.")

    def _adjoint(self):
        return LinearOperatorAdjoint(self)

    def inverse(self, name="inverse"):
        """The LinearOperator of the inverses. ValueError if they are known to be singular or not square."""
        for hint, kind in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {kind} matrix: {self.name}"
                )
        with self._scope(name):
            return self._inverse()

    def _inverse(self):
        return LinearOperatorInversion(self)

    def cholesky(self, name="cholesky"):
        """The LinearOperator of the lower triangles whose products with their adjoints they are.

        Raises:
          ValueError: unless they are known to be self-adjoint and positive definite.
        """
        if not self._has_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix: "
                f"{self.name}"
            )
        with self._scope(name):
            return self._cholesky()

    def _cholesky(self):
        return LinearOperatorLowerTriangular(gen_ops.cholesky(self.to_dense()), True, False)


class LinearOperatorLowerTriangular(LinearOperator):
    """A batch of lower triangular matrices.

    Args:
      tril: a Tensor of floating or complex numbers, of shape [..., n, n]; what stands above its
        diagonals is not looked at.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: as for LinearOperator.

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
        with name_scope(name, values=[tril]):
            given = convert(tril, name="tril")
            if given.shape.ndims is not None and given.shape.ndims < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {given}")
            self._tril = gen_ops.matrix_band_part(given, -1, 0)
        known = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(given.dtype, [self._tril], *known, name)

    tril = property(lambda self: self._tril, doc="The triangles.")

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return shape(self._tril)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return product(self._tril, x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        triangle, rhs = same_batches(self._tril, adjoint_of(rhs) if adjoint_arg else rhs)
        return gen_ops.matrix_triangular_solve(triangle, rhs, lower=True, adjoint=adjoint)

    def _to_dense(self):
        return gen_ops.identity(self._tril)

    def _determinant(self):
        return reduce_prod(self._diag_part(), axis=[-1])

    def _log_abs_determinant(self):
        return reduce_sum(gen_ops.log(magnitude(self._diag_part())), axis=[-1])

    def _diag_part(self):
        return matrix_diag_part(self._tril)

    def _assert_non_singular(self):
        return nowhere_zero(
            self._diag_part(), "Singular operator:  Diagonal contained zero values."
        )


def nowhere_zero(values, message):
    """An Operation that fails with the message if one of the values is 0."""
    size = magnitude(values)
    return assert_none_equal(size, convert(0, size.dtype), message=message)


class _OfOne(LinearOperator):
    """What is made of one operator, and shares all hints with it."""

    def __init__(self, operator, given, what, suffix, name):
        self._operator = operator
        known = {hint: hints.of_same(operator, hint, value, what) for hint, value in given.items()}
        name = name or operator.name.rstrip("/") + suffix
        super().__init__(operator.dtype, operator.graph_parents, name=name, **known)

    operator = property(lambda self: self._operator, doc="What it is made of.")

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()


def _named(is_non_singular, is_self_adjoint, is_positive_definite, is_square):
    return {
        "is_non_singular": is_non_singular,
        "is_self_adjoint": is_self_adjoint,
        "is_positive_definite": is_positive_definite,
        "is_square": is_square,
    }


class LinearOperatorAdjoint(_OfOne):
    """The adjoints of another operator.

    Args:
      operator: a LinearOperator.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: as for LinearOperator; those of the operator
        if None.
      name: the beginning of names of nodes; operator.name + "_adjoint" if None.

    Raises:
      ValueError: if hints contradict those of the operator.
    """

    def __init__(
        self,
        operator,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        given = _named(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(operator, given, "adjoint", "_adjoint", name)

    def _adjoint(self):
        return self._operator

    def _shape(self):
        rows, columns = self._operator.range_dimension, self._operator.domain_dimension
        return self._operator.batch_shape.concatenate(TensorShape([columns, rows]))

    def _shape_tensor(self):
        sizes = self._operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return conj(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _diag_part(self):
        return conj(self._operator.diag_part())

    def _to_dense(self):
        return adjoint_of(self._operator.to_dense())


class LinearOperatorInversion(_OfOne):
    """The inverses of another operator.

    Args:
      operator: a LinearOperator.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: as for LinearOperator; those of the operator
        if None.
      name: the beginning of names of nodes; operator.name + "_inv" if None.

    Raises:
      ValueError: if one of both is known to be singular or not square, or hints contradict those of the operator.
    """

    def __init__(
        self,
        operator,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        given = _named(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        for hint in ("is_non_singular", "is_square"):
            if given[hint] is False or getattr(operator, hint) is False:
                raise ValueError(
                    f"{operator.name} and its inverse must have supplied hint {hint} equal to True or None. Found "
                    f"{getattr(operator, hint)} and {given[hint]}"
                )
        super().__init__(operator, given, "inverse", "_inv", name)

    def _inverse(self):
        return self._operator

    def _solution_for(self, right):
        return self._operator.matmul(right)

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return -self._operator.log_abs_determinant()


def _are_mirrored(operators):
    """Whether they are A B ... B^H A^H: a matrix times its adjoint."""

    def are_adjoint(left, right):
        if left is right:
            return bool(left.is_self_adjoint)
        pairs = ((left, right), (right, left))
        return any(isinstance(a, LinearOperatorAdjoint) and a.operator is b for a, b in pairs)

    pairs = zip(operators, reversed(operators))
    return len(operators) % 2 == 0 and all(are_adjoint(*pair) for pair in pairs)


class LinearOperatorComposition(LinearOperator):
    """The products of operators, the last of which acts first.

    Args:
      operators: a list of LinearOperators of one type, whose batches broadcast.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: as for LinearOperator; told by the operators
        where they can be.
      name: the beginning of names of nodes; the names of the operators, joined by "_o_", if None.

    Raises:
      TypeError: if their types differ. ValueError: if there are none, their sizes do not fit, or a hint is wrong.
    """

    def __init__(
        self,
        operators,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        self._operators, dtype = of_one_dtype(operators)
        told = "The composition of non-singular operators is always non-singular."
        is_non_singular = hints.of_all(self._operators, "is_non_singular", is_non_singular, told)
        mirrored = _are_mirrored(self._operators)
        if mirrored or len(self._operators) == 1 and self._operators[0].is_self_adjoint:
            is_self_adjoint = self._implied(is_self_adjoint, "self-adjoint")
        if mirrored:
            is_square = self._implied(is_square, "square")
        if mirrored and is_non_singular:
            is_positive_definite = self._implied(is_positive_definite, "positive-definite")
        name = name or "_o_".join(operator.name.rstrip("/") for operator in self._operators)
        parents = [parent for operator in self._operators for parent in operator.graph_parents]
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(dtype, parents, *known, name)
        self._shape()

    @staticmethod
    def _implied(given, kind):
        if given is False:
            raise ValueError(
                f"The composition was determined to be {kind} but user provided incorrect `False` hint."
            )
        return True

    operators = property(lambda self: self._operators, doc="What it is made of.")

    def _shape(self):
        for left, right in zip(self._operators, self._operators[1:]):
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(
                    f"Dimensions {left.domain_dimension} and {right.range_dimension} are not compatible: "
                    f"{left.name} of shape {left.shape} times {right.name} of shape {right.shape}"
                )
        ends = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return batch_of(self._operators).concatenate(TensorShape(ends))

    def _shape_tensor(self):
        first, last = self._operators[0], self._operators[-1]
        ends = stack([first.range_dimension_tensor(), last.domain_dimension_tensor()])
        return concat([batch_sizes_of(self._operators), ends], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        for operator in self._operators if adjoint else reversed(self._operators):
            x, adjoint_arg = operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg), False
        return x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if not self._are_square():
            return super()._solve(rhs, adjoint, adjoint_arg)
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs, adjoint_arg = operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg), False
        return rhs

    def _are_square(self):
        return all(operator.is_square for operator in self._operators)

    def _determinant(self):
        if not self._are_square():
            return super()._determinant()
        made = self._operators[0].determinant()
        for operator in self._operators[1:]:
            made = made * operator.determinant()
        return made

    def _log_abs_determinant(self):
        if not self._are_square():
            return super()._log_abs_determinant()
        logs = [operator.log_abs_determinant() for operator in self._operators]
        return sum_of_logs(logs, self.dtype)

    def _assert_non_singular(self):
        if not self._are_square():
            return super()._assert_non_singular()
        return group(*(operator.assert_non_singular() for operator in self._operators))

    def _cholesky(self):
        first = self._operators[0]
        is_pair = len(self._operators) == 2 and _are_mirrored(self._operators)
        if not is_pair or not isinstance(first, LinearOperatorLowerTriangular):
            return super()._cholesky()
        # A triangle times its adjoint: the triangle, with diagonals that are positive.
        diagonal = first.diag_part()
        size = gen_ops.cast(magnitude(diagonal), DstT=diagonal.dtype)
        turned = first.tril * expand_dims(conj(diagonal) / size, -2)
        return LinearOperatorLowerTriangular(turned, True, first.is_self_adjoint)
