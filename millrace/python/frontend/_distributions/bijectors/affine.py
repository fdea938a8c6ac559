"""Bijectors of vectors that multiply by matrices, and the matrices that scale distributions."""

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.bijector import Bijector
from millrace._distributions.shapes import dtype_of
from millrace._flow.linear_operators.algebra import LinearOperatorLowerTriangular
from millrace._flow.linear_operators.dense import LinearOperatorLowRankUpdate
from millrace._flow.linear_operators.diagonals import (
    LinearOperatorDiag,
    LinearOperatorScaledIdentity,
)
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import expand_dims, shape
from millrace._ops.matrices import matrix_diag_part, matrix_set_diag
from millrace._values import dtypes


def scale_operator(
    loc=None,
    scale_identity_multiplier=None,
    scale_diag=None,
    scale_tril=None,
    scale_perturb_factor=None,
    scale_perturb_diag=None,
):
    """The sum of what is given of a scale, a LinearOperator; None if nothing tells its size.

    Args:
      loc: a Tensor of shape [..., n], for the size; or None.
      scale_identity_multiplier: numbers on the diagonal, of the shape of the batch.
      scale_diag: the diagonal, of shape [..., n].
      scale_tril: lower triangles, of shape [..., n, n].
      scale_perturb_factor: U of U D U^T, of shape [..., n, k].
      scale_perturb_diag: the diagonal of that D, of shape [..., k]; ones if None.

    Raises:
      ValueError: if D is given without U.
    """
    if scale_perturb_diag is not None and scale_perturb_factor is None:
        raise ValueError("scale_perturb_diag is given, but no scale_perturb_factor")
    parts = [scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_factor]
    given = [loc, *parts, scale_perturb_diag]
    kind = dtype_of(given) or dtypes.float32
    loc, multiplier, diagonal, triangle, factor, factor_diagonal = (
        None if part is None else convert(part, kind) for part in given
    )
    if triangle is not None:
        on_diagonal = matrix_diag_part(triangle)
        on_diagonal = on_diagonal if diagonal is None else on_diagonal + diagonal
        if multiplier is not None:
            on_diagonal = on_diagonal + expand_dims(multiplier, -1)
        base = LinearOperatorLowerTriangular(
            matrix_set_diag(triangle, on_diagonal), is_non_singular=True
        )
    elif diagonal is not None:
        on_diagonal = diagonal if multiplier is None else diagonal + expand_dims(multiplier, -1)
        base = LinearOperatorDiag(on_diagonal, is_non_singular=True)
    elif factor is not None or loc is not None:
        size = shape(loc)[-1] if factor is None else shape(factor)[-2]
        by = convert(1, kind) if multiplier is None else multiplier
        base = LinearOperatorScaledIdentity(size, by, is_non_singular=True)
    else:
        return None
    if factor is None:
        return base
    return LinearOperatorLowRankUpdate(base, factor, factor_diagonal, is_non_singular=True)


class AffineLinearOperator(Bijector):
    """y = scale x + shift, of vectors.

    Args:
      shift: a Tensor of shape [..., n]; 0 if None.
      scale: a LinearOperator of shape [..., n, n]; 1 if None.
      adjoint: True to take its adjoint.
      validate_args, name: as for Bijector.

    Raises:
      TypeError: if scale is something else, or of another type than shift. ValueError: if it is not known to be
        non-singular.
    """

    def __init__(
        self,
        shift=None,
        scale=None,
        adjoint=False,
        validate_args=False,
        name="affine_linear_operator",
    ):
        with name_scope(name):
            kind = None if scale is None else scale.dtype
            self._shift = None if shift is None else convert(shift, kind, "shift")
        if scale is not None and scale.is_non_singular is not True:
            raise ValueError(f"Scale matrix must be non-singular: {scale.name} is not known to be.")
        self._scale, self._adjoint = scale, adjoint
        kind = kind if self._shift is None else self._shift.dtype.base_dtype
        super().__init__(None, True, validate_args, kind, forward_min_event_ndims=1, name=name)

    shift = property(lambda self: self._shift)
    scale = property(lambda self: self._scale)
    adjoint = property(lambda self: self._adjoint)

    def _forward(self, x):
        scaled = x if self._scale is None else self._scale.matvec(x, adjoint=self._adjoint)
        return scaled if self._shift is None else scaled + self._shift

    def _inverse(self, y):
        moved = y if self._shift is None else y - self._shift
        return moved if self._scale is None else self._scale.solvevec(moved, adjoint=self._adjoint)

    def _forward_log_det_jacobian(self, x):
        if self._scale is None:
            return convert(0, x.dtype.base_dtype)
        return self._scale.log_abs_determinant()


class Affine(Bijector):
    """y = scale x + shift, of vectors; the scale is the sum of what is given of it.

    Args:
      shift: a Tensor of shape [..., n]; 0 if None.
      scale_identity_multiplier: a Tensor of the shape of the batch; 1 if nothing is given of the scale.
      scale_diag, scale_tril, scale_perturb_factor, scale_perturb_diag: as for `scale_operator`.
      validate_args, name: as for Bijector.

    Raises:
      ValueError: if scale_perturb_diag is given without scale_perturb_factor.
    """

    def __init__(
        self,
        shift=None,
        scale_identity_multiplier=None,
        scale_diag=None,
        scale_tril=None,
        scale_perturb_factor=None,
        scale_perturb_diag=None,
        validate_args=False,
        name="affine",
    ):
        parts = [scale_diag, scale_tril, scale_perturb_factor, scale_perturb_diag]
        kind = dtype_of([shift, scale_identity_multiplier, *parts])
        with name_scope(name):
            self._shift = None if shift is None else convert(shift, kind, "shift")
            # By this number alone, vectors of any size may be scaled.
            self._multiplier = self._scale = None
            if any(part is not None for part in parts):
                self._scale = scale_operator(self._shift, scale_identity_multiplier, *parts)
                kind = self._scale.dtype
            elif scale_identity_multiplier is not None:
                self._multiplier = convert(scale_identity_multiplier, kind, "multiplier")
                kind = self._multiplier.dtype.base_dtype
            elif shift is not None:
                kind = self._shift.dtype.base_dtype
        super().__init__(None, True, validate_args, kind, forward_min_event_ndims=1, name=name)

    shift = property(lambda self: self._shift)
    scale = property(lambda self: self._scale, doc="A LinearOperator; None for a number alone.")

    def _forward(self, x):
        if self._scale is not None:
            x = self._scale.matvec(x)
        elif self._multiplier is not None:
            x = x * expand_dims(self._multiplier, -1)
        return x if self._shift is None else x + self._shift

    def _inverse(self, y):
        y = y if self._shift is None else y - self._shift
        if self._scale is not None:
            return self._scale.solvevec(y)
        return y if self._multiplier is None else y / expand_dims(self._multiplier, -1)

    def _forward_log_det_jacobian(self, x):
        if self._scale is not None:
            return self._scale.log_abs_determinant()
        if self._multiplier is None:
            return convert(0, x.dtype.base_dtype)
        size = gen_ops.cast(shape(x)[-1], DstT=x.dtype)
        return size * gen_ops.log(gen_ops.abs(self._multiplier))
