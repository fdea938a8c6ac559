"""A batch of matrices by what they do: shapes, what is known of them, and what they make of Tensors."""

import contextlib

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal, assert_less, assert_positive
from millrace._flow.linear_operators.batches import same_batches
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Tensor
from millrace._ops.arrays import expand_dims, squeeze
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.matrices import matrix_diag_part
from millrace._ops.matrix_solving import cholesky_solve, slogdet, svd
from millrace._ops.reductions import reduce_max, reduce_min, reduce_sum
from millrace._ops.shaped import eye
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape, dimension_at_index


class Matrix:
    """A batch of matrices of shape [..., m, n], which classes that derive from it tell what they do.

    They define `_shape()`, `_shape_tensor()` and `_matmul(x, adjoint, adjoint_arg)`, and whatever they know a
    shorter way for: `_solve`, `_matvec`, `_solvevec`, `_determinant`, `_log_abs_determinant`, `_to_dense`, `_diag_part`,
    `_trace`, `_add_to_tensor`, `_assert_non_singular`, `_assert_positive_definite`, `_assert_self_adjoint`.

    Args:
      dtype: the type of the elements.
      graph_parents: Tensors that it is made of.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: what the caller knows of all matrices of
        the batch, True or False; not checked, but relied upon. None for what is not known.
      name: the beginning of names of nodes.

    Raises:
      ValueError: if the hints contradict each other, or a graph parent is no Tensor.
    """

    def __init__(
        self,
        dtype,
        graph_parents=None,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for kind, hint in (("non-singular", is_non_singular), ("self-adjoint", is_self_adjoint)):
            if hint:
                if is_square is False:
                    raise ValueError(f"A {kind} matrix is always square.")
                is_square = True
        for number, parent in enumerate(graph_parents or []):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        self._graph_parents = list(graph_parents or [])
        self._dtype = dtypes.as_dtype(dtype).base_dtype if dtype else dtype
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = is_square
        self._name = name or type(self).__name__

    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._name)
    graph_parents = property(lambda self: self._graph_parents)
    is_non_singular = property(lambda self: self._is_non_singular)
    is_self_adjoint = property(lambda self: self._is_self_adjoint)
    is_positive_definite = property(lambda self: self._is_positive_definite)

    @property
    def is_square(self):
        """Whether they are square; None if that is not known. ValueError if they are, but the hint says no."""
        seen = self.domain_dimension == self.range_dimension
        if self._is_square is False and seen:
            raise ValueError(f"{self.name}: is_square is False, but its shape is {self.shape}.")
        return seen if self._is_square is None else self._is_square

    @contextlib.contextmanager
    def _scope(self, name):
        with name_scope(f"{self._name.rstrip('/')}/{name}"):
            yield

    # ---- Shapes ----------------------------------------------------------------------------------

    def _shape(self):
        raise NotImplementedError(f"_shape is not implemented: {type(self).__name__}")

    def _shape_tensor(self):
        raise NotImplementedError(f"_shape_tensor is not implemented: {type(self).__name__}")

    @property
    def shape(self):
        """The TensorShape [..., m, n], as far as it is known."""
        return TensorShape(self._shape())

    @property
    def batch_shape(self):
        """The TensorShape before [m, n]."""
        return self.shape[:-2]

    @property
    def tensor_rank(self):
        """The number of axes, with those of the batch; None if it is not known."""
        return self.shape.ndims

    @property
    def domain_dimension(self):
        """n, a Dimension."""
        return dimension_at_index(self.shape, -1)

    @property
    def range_dimension(self):
        """m, a Dimension."""
        return dimension_at_index(self.shape, -2)

    def _known_or(self, shape, cut):
        if shape.is_fully_defined():
            return convert(shape.as_list(), dtypes.int32)
        return gen_ops.cast(self._shape_tensor(), DstT=dtypes.int32)[cut]

    def shape_tensor(self, name="shape_tensor"):
        """The shape, an int32 vector."""
        with self._scope(name):
            return self._known_or(self.shape, slice(None))

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """The shape before [m, n], an int32 vector."""
        with self._scope(name):
            return self._known_or(self.batch_shape, slice(None, -2))

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        """The number of axes, an int32 scalar."""
        with self._scope(name):
            return gen_ops.size(self._known_or(self.shape, slice(None)))

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        """n, an int32 scalar."""
        with self._scope(name):
            return self._known_or(self.shape[-1:], slice(-1, None))[0]

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        """m, an int32 scalar."""
        with self._scope(name):
            return self._known_or(self.shape[-2:], slice(-2, None))[0]

    # ---- What they do to Tensors -----------------------------------------------------------------

    def _typed(self, value, name):
        x = convert(value, None if hasattr(value, "dtype") else self.dtype, name)
        if x.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype.name}.  Found: {x.dtype.name} in tensor {x}"
            )
        return x

    def _argument(self, value, name, own, axis):
        """A Tensor of this type whose size along an axis is that of ours."""
        x = self._typed(value, name)
        ours, theirs = (
            dimension_at_index(shape, i) for shape, i in ((self.shape, own), (x.shape, axis))
        )
        if not ours.is_compatible_with(theirs):
            raise ValueError(
                f"{self.name}: Dimensions {ours} and {theirs} are not compatible: the operator's shape is "
                f"{self.shape}, and that of {name} is {x.shape}"
            )
        return x

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        raise NotImplementedError(f"_matmul is not implemented: {type(self).__name__}")

    def _product(self, x, adjoint, adjoint_arg, name):
        with self._scope(name):
            x = self._argument(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return squeeze(self._matmul(expand_dims(x, -1), adjoint=adjoint), [-1])

    def matvec(self, x, adjoint=False, name="matvec"):
        """The products with vectors x, of shape [..., n]; of the adjoints if `adjoint`. Errors: as for matmul."""
        with self._scope(name):
            return self._matvec(self._argument(x, "x", -2 if adjoint else -1, -1), adjoint=adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        dense, rhs = same_batches(self.to_dense(), adjoint_of(rhs) if adjoint_arg else rhs)
        if self._has_cholesky():
            return cholesky_solve(gen_ops.cholesky(dense), rhs)
        return gen_ops.matrix_solve(dense, rhs, adjoint=adjoint)

    def _must_be_solvable(self):
        for hint, what in (
            (self.is_non_singular, "be singular"),
            (self.is_square, "not be square"),
        ):
            if hint is False:
                raise NotImplementedError(
                    f"{self.name}: Exact solve not implemented for an operator that is expected to {what}."
                )

    def _solution(self, rhs, adjoint, adjoint_arg, name):
        with self._scope(name):
            rhs = self._argument(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs, adjoint=False):
        return squeeze(self._solve(expand_dims(rhs, -1), adjoint=adjoint), [-1])

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """x with A x = rhs, of shape [..., n]. Errors: as for solve."""
        self._must_be_solvable()
        with self._scope(name):
            return self._solvevec(self._argument(rhs, "rhs", -1 if adjoint else -2, -1), adjoint)

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def add_to_tensor(self, x, name="add_to_tensor"):
        """x, of shape [..., m, n], plus the matrices. TypeError if it has another type."""
        with self._scope(name):
            return self._add_to_tensor(self._typed(x, "x"))

    # ---- What they are ---------------------------------------------------------------------------

    def _has_cholesky(self):
        return self.is_self_adjoint and self.is_positive_definite

    def _to_dense(self):
        sizes = self.batch_shape_tensor()
        made = self._matmul(
            eye(self.domain_dimension_tensor(), batch_shape=sizes, dtype=self.dtype)
        )
        made.set_shape(self.shape)
        return made

    def to_dense(self, name="to_dense"):
        """The matrices, written out: a Tensor of shape [..., m, n]."""
        with self._scope(name):
            return self._to_dense()

    def _diag_part(self):
        return matrix_diag_part(self.to_dense())

    def diag_part(self, name="diag_part"):
        """The diagonals, of shape [..., min(m, n)]."""
        with self._scope(name):
            return self._diag_part()

    def _trace(self):
        return reduce_sum(self._diag_part(), axis=-1)

    def trace(self, name="trace"):
        """The sums of the diagonals, of the shape of the batch."""
        with self._scope(name):
            return self._trace()

    def _must_have_determinant(self):
        if self.is_square is False:
            raise NotImplementedError(
                f"{self.name}: Determinant not implemented for an operator that is expected to not be square."
            )

    def _determinant(self):
        if self._has_cholesky():
            return gen_ops.exp(self._log_abs_determinant())
        return gen_ops.matrix_determinant(self.to_dense())

    def determinant(self, name="det"):
        """The determinants, of the shape of the batch. NotImplementedError if they are not square."""
        self._must_have_determinant()
        with self._scope(name):
            return self._determinant()

    def _log_abs_determinant(self):
        if self._has_cholesky():
            diagonal = matrix_diag_part(gen_ops.cholesky(self.to_dense()))
            return 2 * reduce_sum(gen_ops.log(diagonal), axis=[-1])
        return slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name="log_abs_det"):
        """The logarithms of the sizes of the determinants. NotImplementedError if they are not square."""
        self._must_have_determinant()
        with self._scope(name):
            return self._log_abs_determinant()

    # ---- Whether hints are true ------------------------------------------------------------------

    def _assert_non_singular(self):
        if self._has_cholesky():
            return self._assert_positive_definite()
        values = svd(self.to_dense(), compute_uv=False)
        ratio = reduce_max(values, axis=-1) / reduce_min(values, axis=-1)
        sizes = gen_ops.cast(self.shape_tensor()[-2:], DstT=ratio.dtype)
        large = gen_ops.maximum(reduce_max(sizes), convert(100.0, ratio.dtype))
        limit = 1.0 / (large * np.finfo(ratio.dtype.as_numpy_dtype).eps)
        return assert_less(ratio, limit, message="Singular matrix up to precision epsilon.")

    def assert_non_singular(self, name="assert_non_singular"):
        """An Operation that fails with InvalidArgumentError if one of them is singular, as far as can be told."""
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self):
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"assert_positive_definite is not implemented: {type(self).__name__} not known to be self-adjoint"
            )
        diagonal = matrix_diag_part(gen_ops.cholesky(self.to_dense()))
        if diagonal.dtype.is_complex:
            diagonal = gen_ops.real(diagonal, Tout=diagonal.dtype.real_dtype)
        return assert_positive(diagonal, message="Matrix was not positive definite.")

    def assert_positive_definite(self, name="assert_positive_definite"):
        """An Operation that fails with InvalidArgumentError if one of them has x^H A x of no positive real part.

        Raises:
          NotImplementedError: if there is no way to tell.
        """
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self):
        dense = self.to_dense()
        return assert_equal(
            dense, adjoint_of(dense), message="Matrix was not equal to its adjoint."
        )

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        """An Operation that fails with InvalidArgumentError if one of them is not its adjoint."""
        with self._scope(name):
            return self._assert_self_adjoint()
