"""Operators by all their elements, by a mirror, and by a few columns more than another one."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import no_op
from millrace._flow.linear_operators.algebra import LinearOperator
from millrace._flow.linear_operators.batches import (
    common_shape,
    common_sizes,
    product,
    same_batches,
    sum_of_logs,
)
from millrace._flow.linear_operators.diagonals import LinearOperatorDiag
from millrace._flow.linear_operators.identities import LinearOperatorIdentity
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, expand_dims, fill, shape
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.complex_values import conj
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.matrices import matrix_diag_part
from millrace._ops.matrix_solving import cholesky_solve
from millrace._ops.normalization import l2_normalize
from millrace._ops.reductions import reduce_sum
from millrace._values.errors import InvalidArgumentError


class LinearOperatorFullMatrix(LinearOperator):
    """A batch of matrices that are written out.

    Args:
      matrix: a Tensor of floating or complex numbers, of shape [..., m, n].
      is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: as for LinearOperator.

    Raises:
      TypeError: for other types. ValueError: if matrix has fewer than two axes.
    """

    def __init__(
        self,
        matrix,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorFullMatrix",
    ):
        with name_scope(name, values=[matrix]):
            self._matrix = convert(matrix, name="matrix")
        kind = self._matrix.dtype
        if not (kind.is_floating or kind.is_complex):
            raise TypeError(
                f"Argument matrix must have a floating or complex dtype.  Found: {kind}"
            )
        if self._matrix.shape.ndims is not None and self._matrix.shape.ndims < 2:
            raise ValueError(
                f"Argument matrix must have at least 2 dimensions.  Found: {self._matrix}"
            )
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(kind, [self._matrix], *known, name)

    matrix = property(lambda self: self._matrix, doc="The matrices.")

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return shape(self._matrix)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return product(self._matrix, x, adjoint, adjoint_arg)

    def _to_dense(self):
        return gen_ops.identity(self._matrix)


class LinearOperatorHouseholder(LinearOperator):
    """A batch of mirrors: 1 - 2 v v^H, for v of length 1.

    Args:
      reflection_axis: v times anything, a Tensor of floating or complex numbers, of shape [..., n].
      is_non_singular, name: as for LinearOperator.
      is_self_adjoint, is_square: True, as they are. is_positive_definite: False.

    Raises:
      ValueError: if reflection_axis is a scalar, or a hint is wrong.
    """

    def __init__(
        self,
        reflection_axis,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorHouseholder",
    ):
        with name_scope(name, values=[reflection_axis]):
            self._axis = convert(reflection_axis, name="reflection_axis")
        if self._axis.shape.ndims == 0:
            raise ValueError(
                f"Argument reflection_axis must have at least 1 dimension.  Found: {self._axis}"
            )
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        super().__init__(self._axis.dtype, [self._axis], is_non_singular, True, False, True, name)

    reflection_axis = property(lambda self: self._axis, doc="What they mirror at.")

    def _shape(self):
        return self._axis.shape.concatenate(self._axis.shape[-1:])

    def _shape_tensor(self):
        sizes = shape(self._axis)
        return concat([sizes, sizes[-1:]], 0)

    def _unit(self):
        if not self.dtype.is_complex:
            return l2_normalize(self._axis, axis=-1)
        squares = reduce_sum(gen_ops.square(magnitude(self._axis)), -1, keepdims=True)
        return self._axis / gen_ops.cast(gen_ops.sqrt(squares), DstT=self.dtype)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_of(x) if adjoint_arg else x
        column = expand_dims(self._unit(), -1)
        return x - 2 * column * product(column, x, adjoint_a=True)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _inverse(self):
        return self

    def _determinant(self):
        return fill(self.batch_shape_tensor(), convert(-1, self.dtype))

    def _log_abs_determinant(self):
        return fill(self.batch_shape_tensor(), convert(0, self.dtype))

    def _diag_part(self):
        unit = self._unit()
        return 1.0 - 2 * unit * conj(unit)

    def _trace(self):
        size = gen_ops.cast(self.domain_dimension_tensor() - 2, DstT=self.dtype)
        return fill(self.batch_shape_tensor(), size)

    def _assert_non_singular(self):
        return no_op()

    def _assert_positive_definite(self):
        raise InvalidArgumentError(
            None, None, f"{self.name}: Householder operators are always non-positive definite."
        )

    def _assert_self_adjoint(self):
        return no_op()


class LinearOperatorLowRankUpdate(LinearOperator):
    """A batch of L + U D V^H, of few columns U and V: solved for, and their determinants found, by those of L.

    Args:
      base_operator: L, a LinearOperator of shape [..., m, n].
      u: U, a Tensor of shape [..., m, k].
      diag_update: the diagonal of D, a Tensor of shape [..., k]; ones if None.
      v: V, a Tensor of shape [..., n, k]; U if None.
      is_diag_update_positive: whether that diagonal is known to be positive.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: as for LinearOperator; told by L where
        they can be.

    Raises:
      ValueError: if sizes do not fit, or a hint is wrong.
    """

    def __init__(
        self,
        base_operator,
        u,
        diag_update=None,
        v=None,
        is_diag_update_positive=None,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowRankUpdate",
    ):
        dtype = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        of_base = base_operator.is_positive_definite and base_operator.is_self_adjoint
        self._by_cholesky = bool(of_base and is_diag_update_positive and v is None)
        if base_operator.is_self_adjoint and v is None and not dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, this "
                    "must be a self-adjoint operator."
                )
            is_self_adjoint = True
        if self._by_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        with name_scope(name):
            self._u = convert(u, dtype, "u")
            self._v = self._u if v is None else convert(v, dtype, "v")
            self._diag_update = None if diag_update is None else convert(diag_update, dtype, "diag")
            if diag_update is None:
                self._diagonal = LinearOperatorIdentity(shape(self._u)[-1], dtype=dtype)
            else:
                positive = is_diag_update_positive
                self._diagonal = LinearOperatorDiag(
                    self._diag_update, is_positive_definite=positive
                )
        self._base, self._is_positive = base_operator, is_diag_update_positive
        given = [self._u, self._diag_update, None if v is None else self._v]
        parents = [*base_operator.graph_parents, *(each for each in given if each is not None)]
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(dtype, parents, *known, name)
        self._check_shapes()

    base_operator = property(lambda self: self._base, doc="L.")
    u = property(lambda self: self._u, doc="U.")
    v = property(lambda self: self._v, doc="V.")
    diag_update = property(lambda self: self._diag_update, doc="The diagonal of D; None for ones.")
    diag_operator = property(lambda self: self._diagonal, doc="D, a LinearOperator.")
    is_diag_update_positive = property(lambda self: self._is_positive)

    def _check_shapes(self):
        rows = self._base.range_dimension, self._base.domain_dimension
        for own, given, what in zip(rows, (self._u, self._v), "uv"):
            if given.shape.ndims is not None and not own.is_compatible_with(given.shape[-2]):
                raise ValueError(
                    f"Dimensions {own} and {given.shape[-2]} are not compatible: {what} has shape {given.shape}, "
                    f"the operator {self._base.shape}"
                )
        columns = [self._u.shape[-1:], self._v.shape[-1:]]
        if self._diag_update is not None:
            columns.append(self._diag_update.shape[-1:])
        for other in columns[1:]:
            if not columns[0].is_compatible_with(other):
                raise ValueError(
                    f"Dimensions are not compatible: u, v and diag_update have {columns} columns"
                )
        self._shape()

    def _shape(self):
        batches = [self._base.batch_shape, self._diagonal.batch_shape]
        whole = common_shape([*batches, self._u.shape[:-2], self._v.shape[:-2]])
        return whole.concatenate(self._base.shape[-2:])

    def _shape_tensor(self):
        batches = [self._base.batch_shape_tensor(), self._diagonal.batch_shape_tensor()]
        whole = common_sizes([*batches, shape(self._u)[:-2], shape(self._v)[:-2]])
        return concat([whole, self._base.shape_tensor()[-2:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        few = self._diagonal.matmul(product(v, x, True, adjoint_arg), adjoint=adjoint)
        return self._base.matmul(x, adjoint, adjoint_arg) + product(u, few)

    def _diag_part(self):
        each = self._u * conj(self._v)
        if self._diag_update is not None:
            each = each * expand_dims(self._diag_update, -2)
        return reduce_sum(each, -1) + self._base.diag_part()

    def _capacitance(self):
        """D^-1 + V^H L^-1 U: what is solved for instead, of size [k, k] (Woodbury's formula)."""
        small = product(self._v, self._base.solve(self._u), True)
        return self._diagonal.inverse().add_to_tensor(small)

    def _determinant(self):
        if self.is_positive_definite:
            return gen_ops.exp(self._log_abs_determinant())
        small = gen_ops.matrix_determinant(self._capacitance())
        return small * self._diagonal.determinant() * self._base.determinant()

    def _log_abs_determinant(self):
        if self._by_cholesky:
            triangle = gen_ops.cholesky(self._capacitance())
            small = 2 * reduce_sum(gen_ops.log(matrix_diag_part(triangle)), [-1])
        else:
            size = gen_ops.log(magnitude(gen_ops.matrix_determinant(self._capacitance())))
            small = gen_ops.cast(size, DstT=self.dtype)
        parts = self._diagonal, self._base
        return sum_of_logs([small, *(each.log_abs_determinant() for each in parts)], self.dtype)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if self._base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular LinearOperator: "
                f"{self._base.name}"
            )
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        solved = self._base.solve(rhs, adjoint, adjoint_arg)
        small, few = same_batches(self._capacitance(), product(v, solved, True))
        if self._by_cholesky:
            few = cholesky_solve(gen_ops.cholesky(small), few)
        else:
            few = gen_ops.matrix_solve(small, few, adjoint=adjoint)
        return solved - self._base.solve(product(u, few), adjoint)
