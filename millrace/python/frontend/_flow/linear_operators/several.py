"""Operators of several: side by side along the diagonal, and each element of one times all of the next."""

from functools import reduce
from operator import add, mul

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._flow.linear_operators import hints
from millrace._flow.linear_operators.algebra import LinearOperator
from millrace._flow.linear_operators.batches import (
    batch_of,
    batch_sizes_of,
    common_shape,
    of_one_dtype,
    same_batches,
    sum_of_logs,
)
from millrace._ops.arrays import concat, expand_dims, matrix_transpose, reshape, shape, split, zeros
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._values.errors import InvalidArgumentError
from millrace._values.tensor_shape import TensorShape


class _Several(LinearOperator):
    """What both kinds have in common: a hint that all operators have is one of the whole.

    Args:
      operators: a list of LinearOperators of one type.
      known: the hints, in the order of LinearOperator.
      what: what it is called in errors.
      between: what stands between the names of operators in its own.
      name: the beginning of names of nodes, or None.
    """

    def __init__(self, operators, known, what, between, name):
        self._operators, dtype = of_one_dtype(operators)
        *told, is_square = known
        kinds = {
            "is_non_singular": "non-singular",
            "is_self_adjoint": "self-adjoint",
            "is_positive_definite": "positive-definite",
        }
        told = [
            hints.of_all(
                self._operators, hint, given, f"The {what} of {kind} operators is always {kind}."
            )
            for given, (hint, kind) in zip(told, kinds.items())
        ]
        parents = [parent for operator in self._operators for parent in operator.graph_parents]
        name = name or between.join(operator.name.rstrip("/") for operator in self._operators)
        super().__init__(dtype, parents, *told, is_square, name)

    operators = property(lambda self: self._operators, doc="What it is made of.")

    def _must_be_squares(self, what):
        if any(operator.is_square is False for operator in self._operators):
            raise NotImplementedError(
                f"{self.name}: `{what}` not implemented for an operator whose parts are not square."
            )

    def _ends(self):
        """(rows, columns): the known sizes of each operator."""
        rows = [operator.range_dimension for operator in self._operators]
        return rows, [operator.domain_dimension for operator in self._operators]

    def _end_sizes(self, adjoint=False):
        """Int32 scalars: how many columns each has, or rows if `adjoint`."""
        if adjoint:
            return [operator.range_dimension_tensor() for operator in self._operators]
        return [operator.domain_dimension_tensor() for operator in self._operators]

    def _combined(self, sizes):
        raise NotImplementedError

    def _shape(self):
        ends = [self._combined(sizes) for sizes in self._ends()]
        return batch_of(self._operators).concatenate(TensorShape(ends))

    def _shape_tensor(self):
        ends = [self._combined(self._end_sizes(adjoint)) for adjoint in (True, False)]
        return concat([batch_sizes_of(self._operators), gen_ops.pack(ends)], 0)

    def _of_each(self, made, **known):
        return type(self)(made, **hints.of(self, **known))

    def _adjoint(self):
        return self._of_each([operator.adjoint() for operator in self._operators])

    def _inverse(self):
        return self._of_each([operator.inverse() for operator in self._operators])

    def _cholesky(self):
        triangles = [operator.cholesky() for operator in self._operators]
        return self._of_each(triangles, is_self_adjoint=None, is_positive_definite=None)

    def _pairs_with(self, right):
        """The operators of both, side by side, if they are of this kind and multiply one by one; else None."""
        if type(right) is not type(self) or len(right.operators) != len(self._operators):
            return None
        pairs = list(zip(self._operators, right.operators))
        sizes = [(a.domain_dimension.value, b.range_dimension.value) for a, b in pairs]
        return pairs if all(a == b and a is not None for a, b in sizes) else None

    def _product_with(self, right):
        pairs = self._pairs_with(right)
        if pairs is None:
            return super()._product_with(right)
        return type(self)([a.matmul(b) for a, b in pairs], **hints.of_product(self, right))

    def _solution_for(self, right):
        pairs = self._pairs_with(right)
        if pairs is None:
            return super()._solution_for(right)
        return type(self)([a.solve(b) for a, b in pairs], **hints.of_product(self, right))

    def _assert_non_singular(self):
        self._must_be_asserted()
        return group(*(operator.assert_non_singular() for operator in self._operators))

    def _assert_self_adjoint(self):
        self._must_be_asserted()
        return group(*(operator.assert_self_adjoint() for operator in self._operators))

    def _must_be_asserted(self):
        if not all(operator.is_square for operator in self._operators):
            raise InvalidArgumentError(
                None, None, f"{self.name}: not all parts are known to be square."
            )


class LinearOperatorBlockDiag(_Several):
    """Matrices along the diagonal of a larger one, which is zero elsewhere.

    Args:
      operators: a list of LinearOperators of one type, whose batches broadcast.
      is_non_singular, is_self_adjoint, is_positive_definite: as for LinearOperator; told by the operators where all
        agree.
      is_square: True; None for what the sizes say.
      name: the beginning of names of nodes; the names of the operators, joined by "_ds_", if None.

    Raises:
      TypeError: if their types differ. ValueError: if there are none, or a hint is wrong.
    """

    def __init__(
        self,
        operators,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=None,
    ):
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(operators, known, "direct sum", "_ds_", name)

    def _combined(self, sizes):
        return reduce(add, sizes)

    def _each(self, values, adjoint, adjoint_arg, act):
        """act(operator, rows of it) for all operators, one below another."""
        values = adjoint_of(values) if adjoint_arg else values
        known = [size.value for size in self._ends()[0 if adjoint else 1]]
        sizes = gen_ops.pack(self._end_sizes(adjoint)) if None in known else known
        parts = split(values, sizes, axis=-2, num=len(self._operators))
        made = [act(operator, part) for operator, part in zip(self._operators, parts)]
        return concat(same_batches(*made), -2)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._each(x, adjoint, adjoint_arg, lambda a, part: a.matmul(part, adjoint))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        # What is solved for has as many rows as the adjoints have columns.
        return self._each(rhs, not adjoint, adjoint_arg, lambda a, part: a.solve(part, adjoint))

    def _determinant(self):
        self._must_be_squares("determinant")
        return reduce(mul, (operator.determinant() for operator in self._operators))

    def _log_abs_determinant(self):
        self._must_be_squares("log_abs_determinant")
        logs = [operator.log_abs_determinant() for operator in self._operators]
        return sum_of_logs(logs, self.dtype)

    def _diag_part(self):
        self._must_be_squares("diag_part")
        columns = [expand_dims(operator.diag_part(), -1) for operator in self._operators]
        return concat(same_batches(*columns), -2)[..., 0]

    def _trace(self):
        self._must_be_squares("trace")
        return reduce(add, (operator.trace() for operator in self._operators))

    def _to_dense(self):
        blocks = same_batches(*(operator.to_dense() for operator in self._operators))
        width, before, rows = self.domain_dimension_tensor(), 0, []
        for block in blocks:
            sizes = shape(block)
            after = width - before - sizes[-1]
            sides = [
                zeros(concat([sizes[:-1], gen_ops.pack([columns])], 0), self.dtype)
                for columns in (before, after)
            ]
            rows.append(concat([sides[0], block, sides[1]], -1))
            before = before + sizes[-1]
        made = concat(rows, -2)
        made.set_shape(self.shape)
        return made

    def _assert_positive_definite(self):
        return group(*(operator.assert_positive_definite() for operator in self._operators))


class LinearOperatorKronecker(_Several):
    """Kronecker products: of two, each element of the first times the whole second.

    Args:
      operators: a list of LinearOperators of one type, whose batches broadcast.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: as for LinearOperator; told by the operators
        where all agree.
      name: the beginning of names of nodes; the names of the operators, joined by "_x_", if None.

    Raises:
      TypeError: if their types differ. ValueError: if there are none, or a hint is wrong.
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
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(operators, known, "Kronecker product", "_x_", name)

    def _combined(self, sizes):
        return reduce(mul, sizes)

    def _each(self, values, adjoint, adjoint_arg, act):
        """What comes of values if each operator acts along its own axis of their rows.

        Rows are an axis per operator, the first of which is acted on and put behind all others in turn, so that
        in the end those of the columns stand first.
        """
        values = adjoint_of(values) if adjoint_arg else values
        made, sizes = values, shape(values)
        for operator, size in zip(self._operators, self._end_sizes(adjoint)):
            made = reshape(made, concat([sizes[:-2], gen_ops.pack([size, -1])], 0))
            made.set_shape(values.shape[:-2].concatenate(made.shape[-2:]))
            values = act(operator, made)
            made, sizes = matrix_transpose(values), shape(values)
        rows = self._combined(self._end_sizes(not adjoint))
        return matrix_transpose(reshape(made, concat([sizes[:-2], gen_ops.pack([-1, rows])], 0)))

    def _fitting(self, made, given, adjoint, adjoint_arg):
        columns = given.shape[-2:-1] if adjoint_arg else given.shape[-1:]
        rows = self.shape[-1:] if adjoint else self.shape[-2:-1]
        batch = common_shape([given.shape[:-2], self.batch_shape])
        made.set_shape(batch.concatenate(rows).concatenate(columns))
        return made

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        made = self._each(x, adjoint, adjoint_arg, lambda a, part: a.matmul(part, adjoint))
        return self._fitting(made, x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        made = self._each(rhs, not adjoint, adjoint_arg, lambda a, part: a.solve(part, adjoint))
        return self._fitting(made, rhs, not adjoint, adjoint_arg)

    def _powers(self):
        """(operator, how often it stands along the diagonal, as a number of this type)."""
        self._must_be_squares("determinant")
        whole = self.domain_dimension_tensor()
        for operator, size in zip(self._operators, self._end_sizes()):
            yield operator, gen_ops.cast(whole // size, DstT=self.dtype)

    def _determinant(self):
        made = 1.0
        for operator, power in self._powers():
            made = gen_ops.pow(operator.determinant(), power) * made
        return made

    def _log_abs_determinant(self):
        logs = [(operator.log_abs_determinant(), power) for operator, power in self._powers()]
        parts = [log * gen_ops.cast(power, DstT=log.dtype) for log, power in logs]
        return sum_of_logs(parts, self.dtype)

    def _trace(self):
        self._must_be_squares("trace")
        return reduce(mul, (operator.trace() for operator in self._operators))

    def _diag_part(self):
        self._must_be_squares("diag_part")
        made = self._operators[0].diag_part()
        for operator in self._operators[1:]:
            both = expand_dims(made, -1) * expand_dims(operator.diag_part(), -2)
            made = reshape(both, concat([shape(both)[:-2], [-1]], 0))
        made.set_shape(self.shape[:-1])
        return made

    def _to_dense(self):
        made = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            other = operator.to_dense()
            # [..., m, 1, n, 1] times [..., 1, p, 1, q]
            spread = expand_dims(expand_dims(made, -2), -1)
            both = spread * expand_dims(expand_dims(other, -3), -2)
            sizes = shape(both)
            ends = gen_ops.pack([sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]])
            made = reshape(both, concat([sizes[:-4], ends], 0))
        made.set_shape(self.shape)
        return made
