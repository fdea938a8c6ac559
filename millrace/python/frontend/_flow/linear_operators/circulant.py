"""Operators that convolve: by what Fourier transforms of their columns are, or along diagonals."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal, assert_less, assert_positive
from millrace._flow.linear_operators import hints
from millrace._flow.linear_operators.algebra import LinearOperator, nowhere_zero
from millrace._flow.linear_operators.diagonals import without_imaginary_part
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import (
    broadcast_to,
    concat,
    expand_dims,
    fill,
    gather,
    matrix_transpose,
    reshape,
    reverse,
    shape,
    zeros_like,
)
from millrace._ops.broadcasting import broadcast_dynamic_shape, broadcast_static_shape
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.complex_values import conj, imag, real
from millrace._ops.matrices import adjoint as adjoint_of
from millrace._ops.reductions import reduce_prod, reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

_TRANSFORMS = {
    1: (gen_ops.fft, gen_ops.ifft),
    2: (gen_ops.fft2d, gen_ops.ifft2d),
    3: (gen_ops.fft3d, gen_ops.ifft3d),
}


def _as_complex(x):
    if x.dtype.is_complex:
        return x
    return cast(x, dtypes.complex128 if x.dtype == dtypes.float64 else dtypes.complex64)


class _Circulant(LinearOperator):
    """What circulant operators of all depths have in common.

    Args:
      spectrum: a Tensor of shape [..., *block], of `depth` axes in a block.
      depth: 1, 2 or 3.
      dtype: of what they multiply.
      known: the hints, in the order of LinearOperator.
      name: the beginning of names of nodes.
    """

    def __init__(self, spectrum, depth, dtype, known, name):
        with name_scope(name, values=[spectrum]):
            self._spectrum = convert(spectrum, name="spectrum")
        self._depth = depth
        if self._spectrum.shape.ndims is not None and self._spectrum.shape.ndims < depth:
            raise ValueError(
                f"Argument spectrum must have at least {depth} dimensions.  Found: {self._spectrum}"
            )
        is_non_singular, is_self_adjoint, is_positive_definite, is_square = known
        if is_square is False:
            raise ValueError("A [[nested] block] circulant operator is always square.")
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        known = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(dtypes.as_dtype(dtype), [self._spectrum], *known, name)

    spectrum = property(lambda self: self._spectrum, doc="The spectrum.")
    block_depth = property(lambda self: self._depth, doc="The number of axes of a block.")

    @property
    def block_shape(self):
        """The TensorShape of a block."""
        return self._spectrum.shape[-self._depth :]

    def block_shape_tensor(self):
        """The shape of a block, an int32 vector."""
        return shape(self._spectrum)[-self._depth :]

    def _shape(self):
        size = self.block_shape.num_elements()
        return self._spectrum.shape[: -self._depth].concatenate(TensorShape([size, size]))

    def _shape_tensor(self):
        size = gen_ops.prod(self.block_shape_tensor(), [0], keep_dims=True)
        return concat([shape(self._spectrum)[: -self._depth], size, size], 0)

    def _axes(self):
        return list(range(-self._depth, 0))

    def _own(self, x):
        """Complex numbers in this type: their real parts, if it is real."""
        return cast(x if self.dtype.is_complex else real(x), self.dtype)

    def _filtered(self, x, adjoint, adjoint_arg, act):
        """x, of shape [..., n, k], with act(its transform, the spectrum) instead of its own transform."""
        x = matrix_transpose(adjoint_of(x) if adjoint_arg else x)
        spectrum = _as_complex(self._spectrum)
        spectrum = expand_dims(conj(spectrum) if adjoint else spectrum, -1 - self._depth)
        there, back = _TRANSFORMS[self._depth]
        sizes = concat([shape(x)[:-1], self.block_shape_tensor()], 0)
        made = back(act(there(reshape(cast(x, spectrum.dtype), sizes)), spectrum))
        rows = reshape(made, concat([shape(made)[: -self._depth], [-1]], 0))
        rows.set_shape(
            broadcast_static_shape(x.shape[:-2], self.batch_shape)
            .concatenate(x.shape[-2:-1])
            .concatenate(self.shape[-1:])
        )
        return self._own(matrix_transpose(rows))

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._filtered(x, adjoint, adjoint_arg, gen_ops.mul)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._filtered(rhs, adjoint, adjoint_arg, gen_ops.div)

    def _determinant(self):
        made = reduce_prod(self._spectrum, axis=self._axes())
        return self._own(made)

    def _log_abs_determinant(self):
        made = reduce_sum(gen_ops.log(magnitude(self._spectrum)), axis=self._axes())
        return cast(made, self.dtype)

    def _trace(self):
        return self._own(_as_complex(reduce_sum(self._spectrum, axis=self._axes())))

    def _diag_part(self):
        each = self._trace() / cast(self.domain_dimension_tensor(), self.dtype)
        made = expand_dims(each, -1) * fill(self.shape_tensor()[-1:], convert(1, self.dtype))
        made.set_shape(self.shape[:-1])
        return made

    def convolution_kernel(self, name="convolution_kernel"):
        """The first columns, as blocks: what the spectrum is the transform of."""
        with self._scope(name):
            return self._own(_TRANSFORMS[self._depth][1](_as_complex(self._spectrum)))

    def assert_hermitian_spectrum(self, name="assert_hermitian_spectrum"):
        """An Operation that fails with InvalidArgumentError unless the columns are real, nearly."""
        kind = self.dtype.real_dtype
        with self._scope(name):
            limit = np.finfo(kind.as_numpy_dtype).eps * cast(self.domain_dimension_tensor(), kind)
            part = cast(imag(_TRANSFORMS[self._depth][1](_as_complex(self._spectrum))), kind)
            return assert_less(magnitude(part), limit, message="Spectrum was not Hermitian")

    def _assert_non_singular(self):
        return nowhere_zero(self._spectrum, "Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self):
        told = "Not positive definite:  Real part of spectrum was not all positive."
        return assert_positive(real(self._spectrum), message=told)

    def _assert_self_adjoint(self):
        told = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return without_imaginary_part(self._spectrum, told)

    def _of(self, spectrum, known):
        return type(self)(spectrum, self.dtype, **known)

    def _adjoint(self):
        return self._of(conj(self._spectrum), hints.of(self))

    def _inverse(self):
        return self._of(1.0 / self._spectrum, hints.of(self))

    def _is_like(self, right):
        return type(right) is type(self) and right.spectrum.dtype == self._spectrum.dtype

    def _product_with(self, right):
        if not self._is_like(right):
            return super()._product_with(right)
        return self._of(self._spectrum * right.spectrum, hints.of_commuting(self, right))

    def _solution_for(self, right):
        if not self._is_like(right):
            return super()._solution_for(right)
        return self._of(right.spectrum / self._spectrum, hints.of_commuting(self, right))


_ARGUMENTS = """

    Args:
      spectrum: the transforms of the first columns, a Tensor of floating or complex numbers of shape
        {shape}; they have {axes} in a block.
      input_output_dtype: the type of what they multiply; of real ones, real parts of products are taken.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: as for LinearOperator.

    Raises:
      ValueError: if spectrum has fewer axes, or a hint is wrong: of real spectra they are self-adjoint.
    """


def _of_depth(depth, name, first, block, axes):
    def __init__(
        self,
        spectrum,
        input_output_dtype=dtypes.complex64,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=name,
    ):
        known = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        _Circulant.__init__(self, spectrum, depth, input_output_dtype, known, name)

    doc = first + _ARGUMENTS.format(shape=block, axes=axes)
    return type(name, (_Circulant,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


LinearOperatorCirculant = _of_depth(
    *(
        1,
        "LinearOperatorCirculant",
        "A batch of matrices whose columns are the first one, turned on.",
    ),
    *("[..., n]", "one axis"),
)
LinearOperatorCirculant2D = _of_depth(
    *(2, "LinearOperatorCirculant2D", "A batch of circulant matrices of circulant blocks."),
    *("[..., n0, n1], of n = n0 * n1", "two axes"),
)
LinearOperatorCirculant3D = _of_depth(
    *(
        3,
        "LinearOperatorCirculant3D",
        "A batch of circulant matrices of blocks that are of blocks.",
    ),
    *("[..., n0, n1, n2], of n = n0 * n1 * n2", "three axes"),
)


class LinearOperatorToeplitz(LinearOperator):
    """A batch of matrices with one number along each diagonal.

    Args:
      col, row: the first columns and rows, Tensors of one type and of shape [..., n], which broadcast; where they
        meet, col counts.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: as for LinearOperator.

    Raises:
      ValueError: if one is a scalar, their sizes differ, or is_square is False.
    """

    def __init__(
        self,
        col,
        row,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorToeplitz",
    ):
        with name_scope(name, values=[row, col]):
            self._row = convert(row, name="row")
            self._col = convert(col, self._row.dtype.base_dtype, "col")
        for what, given in (("row", self._row), ("col", self._col)):
            if given.shape.ndims == 0:
                raise ValueError(f"Argument {what} must have at least 1 dimension.  Found: {given}")
        if not self._row.shape[-1:].is_compatible_with(self._col.shape[-1:]):
            raise ValueError(
                "Expected square matrix, got row and col with mismatched dimensions: "
                f"{self._row.shape} and {self._col.shape}"
            )
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        known = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._row.dtype, [self._row, self._col], *known, name)

    col = property(lambda self: self._col, doc="The first columns.")
    row = property(lambda self: self._row, doc="The first rows.")

    def _shape(self):
        whole = broadcast_static_shape(self._row.shape, self._col.shape)
        return whole.concatenate(whole[-1:])

    def _vectors(self):
        return broadcast_dynamic_shape(shape(self._row), shape(self._col))

    def _shape_tensor(self):
        sizes = self._vectors()
        return concat([sizes, sizes[-1:]], 0)

    def _rows_and_columns(self):
        """Rows and columns, of one shape."""
        sizes = self._vectors()
        made = [broadcast_to(each, sizes) for each in (self._row, self._col)]
        for each in made:
            each.set_shape(self.shape[:-1])
        return made

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        # A corner of a circulant matrix of twice the size, whose columns go on with what stands above.
        x = adjoint_of(x) if adjoint_arg else x
        row, col = self._rows_and_columns()
        turned = concat([col, zeros_like(col[..., :1]), reverse(row[..., 1:], [-1])], -1)
        whole = LinearOperatorCirculant(gen_ops.fft(_as_complex(turned)), self.dtype)
        made = whole.matmul(concat([x, zeros_like(x)], -2), adjoint)
        return made[..., : self.domain_dimension_tensor(), :]

    def _to_dense(self):
        row, col = self._rows_and_columns()
        size = self.domain_dimension_tensor()
        values = concat([reverse(col, [-1]), row[..., 1:]], -1)
        down, right = gen_ops.range(0, size, 1), gen_ops.range(size - 1, -1, -1)
        made = gather(values, expand_dims(right, -1) + down, axis=-1)
        made.set_shape(self.shape)
        return made

    def _diag_part(self):
        return gen_ops.broadcast_to(self._col[..., :1], self._vectors())

    def _trace(self):
        return (
            cast(self.domain_dimension_tensor(), self.dtype) * self._rows_and_columns()[1][..., 0]
        )

    def _assert_self_adjoint(self):
        row, col = self._rows_and_columns()
        told = "row and col are not the same, and so this operator is not self-adjoint."
        return assert_equal(row, conj(col), message=told)
