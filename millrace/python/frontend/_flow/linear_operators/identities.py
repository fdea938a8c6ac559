"""Operators that are told by their size alone: ones on diagonals, and zeros."""

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_non_negative, assert_rank
from millrace._flow.control_flow import no_op, with_dependencies
from millrace._flow.linear_operators.algebra import LinearOperator
from millrace._flow.linear_operators.batches import (
    added_to_diagonal,
    batch_argument,
    size_argument,
)
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, expand_dims, fill, shape, zeros
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.reductions import reduce_min
from millrace._values import dtypes
from millrace._values.errors import InvalidArgumentError
from millrace._values.tensor_shape import TensorShape


def _checked(sizes, rank, name):
    """The sizes; a step fails in which they are negative or of another rank."""
    told = f"Argument {name} must be a {rank}-D Tensor of no negative numbers."
    checks = [assert_rank(sizes, rank, message=told), assert_non_negative(sizes, message=told)]
    return with_dependencies(checks, sizes)


class _OfSize(LinearOperator):
    """What the operators of this file have in common.

    Args:
      num_rows, num_columns, batch_shape: sizes, as callers give them.
      dtype: of the elements; float32 if None.
      asserts: whether sizes are checked in each step.
      known: the hints, in the order of LinearOperator.
      name: the name scope.
    """

    def __init__(self, num_rows, num_columns, batch_shape, dtype, asserts, known, name):
        checks = _checked if asserts else None
        with name_scope(name):
            rows, known_rows = size_argument(num_rows, "num_rows", checks)
            columns, known_columns = rows, known_rows
            if num_columns is not None:
                columns, known_columns = size_argument(num_columns, "num_columns", checks)
            batch = convert([], dtypes.int32) if batch_shape is None else batch_shape
            self._batch, known_batch = batch_argument(batch, checks)
            self._ends = gen_ops.pack([rows, columns])
        self._whole = known_batch.concatenate(TensorShape([known_rows, known_columns]))
        super().__init__(dtype or dtypes.float32, None, *known, name)

    def _shape(self):
        return self._whole

    def _shape_tensor(self):
        return concat([self._batch, self._ends], 0)

    def _spread(self, x):
        """x, for each of the batch."""
        batch = self.batch_shape
        if batch.is_fully_defined() and not batch.as_list():
            return x
        return x + zeros(concat([self.batch_shape_tensor(), [1, 1]], 0), self.dtype)

    def _filled(self, sizes, number):
        return fill(concat([self.batch_shape_tensor(), sizes], 0), convert(number, self.dtype))

    def _diagonal_of(self, number):
        made = self._filled(expand_dims(reduce_min(self.shape_tensor()[-2:]), 0), number)
        ends = [self.range_dimension.value, self.domain_dimension.value]
        size = None if None in ends else min(ends)
        made.set_shape(self.batch_shape.concatenate(TensorShape([size])))
        return made


class LinearOperatorIdentity(_OfSize):
    """A batch of matrices with ones on their diagonals.

    Args:
      num_rows: n, a number that is not negative, or an integer scalar.
      batch_shape: an integer vector of sizes; None for one matrix. Products broadcast to it.
      dtype: the type of the elements; float32 if None.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: True.
      assert_proper_shapes: True to check the sizes in each step.
      name: the beginning of names of nodes.

    Raises:
      ValueError: if a hint is not True, or a known size is negative. TypeError: if a size is no integer.
    """

    def __init__(
        self,
        num_rows,
        batch_shape=None,
        dtype=None,
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorIdentity",
    ):
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        for hint, kind in zip(
            known, ("non-singular", "self adjoint", "positive-definite", "square")
        ):
            if not hint:
                raise ValueError(f"An identity operator is always {kind}.")
        super().__init__(num_rows, None, batch_shape, dtype, assert_proper_shapes, known, name)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._spread(adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self):
        return self._filled([], 1)

    def _log_abs_determinant(self):
        return self._filled([], 0)

    def _diag_part(self):
        return self._diagonal_of(1)

    def _trace(self):
        return gen_ops.cast(self._ends[0], DstT=self.dtype) * self._filled([], 1)

    def _add_to_tensor(self, x):
        return added_to_diagonal(x, self._diag_part())

    def _assert_non_singular(self):
        return no_op()

    def _assert_positive_definite(self):
        return no_op()

    def _assert_self_adjoint(self):
        return no_op()

    def _inverse(self):
        return self

    def _cholesky(self):
        return self

    def _product_with(self, right):
        return right

    def _product_after(self, left):
        return left

    def _solution_for(self, right):
        return right

    def _solution_after(self, left):
        return left.inverse()


class LinearOperatorZeros(_OfSize):
    """A batch of matrices of zeros.

    Args:
      num_rows: m, a number that is not negative, or an integer scalar.
      num_columns: n; m if None.
      batch_shape: an integer vector of sizes; None for one matrix. Products broadcast to it.
      dtype: the type of the elements; float32 if None.
      is_non_singular, is_positive_definite: False.
      is_self_adjoint: True, unless is_square is False.
      is_square: False for matrices that are not.
      assert_proper_shapes: True to check the sizes in each step.
      name: the beginning of names of nodes.

    Raises:
      ValueError: if a hint is wrong, or a known size is negative. TypeError: if a size is no integer.
    """

    def __init__(
        self,
        num_rows,
        num_columns=None,
        batch_shape=None,
        dtype=None,
        is_non_singular=False,
        is_self_adjoint=True,
        is_positive_definite=False,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorZeros",
    ):
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(
            *(num_rows, num_columns, batch_shape, dtype, assert_proper_shapes, known, name)
        )
        if is_square and not self.range_dimension.is_compatible_with(self.domain_dimension):
            raise ValueError(
                "LinearOperatorZeros initialized as is_square=True, but got num_rows"
                f"({self.range_dimension}) != num_columns({self.domain_dimension})"
            )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        rows = self._ends[1:] if adjoint else self._ends[:1]
        sizes = shape(x)
        columns = sizes[-2:-1] if adjoint_arg else sizes[-1:]
        made = self._spread(zeros(concat([sizes[:-2], rows, columns], 0), self.dtype))
        return made

    def _determinant(self):
        return self._filled([], 0)

    def _log_abs_determinant(self):
        return self._filled([], -float("inf"))

    def _diag_part(self):
        return self._diagonal_of(0)

    def _add_to_tensor(self, x):
        return self._spread(x)

    def _assert_non_singular(self):
        raise InvalidArgumentError(
            None, None, f"{self.name}: Zero operators are always non-invertible."
        )

    def _assert_positive_definite(self):
        raise InvalidArgumentError(
            None, None, f"{self.name}: Zero operators are always non-positive definite."
        )

    def _assert_self_adjoint(self):
        return no_op()

    def _must_be_squares(self, other):
        if not self.is_square or not other.is_square:
            raise ValueError(
                "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported: "
                f"{self.name} of shape {self.shape} and {other.name} of shape {other.shape}"
            )

    def _product_with(self, right):
        self._must_be_squares(right)
        return self

    def _product_after(self, left):
        self._must_be_squares(left)
        return self
