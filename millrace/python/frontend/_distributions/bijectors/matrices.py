"""Bijectors of triangles, their diagonals and their products, and of vectors that are ordered or sum to 1."""

import math

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.bijector import Bijector
from millrace._distributions.bijectors.combined import Chain
from millrace._distributions.bijectors.elementwise import AffineScalar, Softplus
from millrace._distributions.triangles import fill_triangular, fill_triangular_inverse
from millrace._flow.linear_operators.batches import product
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import cumsum
from millrace._ops.arrays import concat, shape, zeros_like
from millrace._ops.layers import softmax
from millrace._ops.matrices import matrix_diag_part, matrix_set_diag
from millrace._ops.reductions import reduce_logsumexp, reduce_sum
from millrace._ops.shaped import eye
from millrace._values.tensor_shape import TensorShape


class SoftmaxCentered(Bijector):
    """Shares that sum to 1, one more than x has elements: softmax of x with a 0 behind it."""

    def __init__(self, validate_args=False, name="softmax_centered"):
        super().__init__(validate_args=validate_args, forward_min_event_ndims=1, name=name)

    @staticmethod
    def _with_0(x):
        return concat([x, zeros_like(x[..., :1])], -1)

    def _forward(self, x):
        return softmax(self._with_0(x))

    def _inverse(self, y):
        return gen_ops.log(y[..., :-1]) - gen_ops.log(y[..., -1:])

    def _inverse_log_det_jacobian(self, y):
        return -reduce_sum(gen_ops.log(y), -1)

    def _forward_log_det_jacobian(self, x):
        size = gen_ops.cast(shape(x)[-1] + 1, DstT=x.dtype)
        return reduce_sum(x, -1) - size * reduce_logsumexp(self._with_0(x), -1)

    @staticmethod
    def _changed(known, by):
        if known.ndims is None:
            return known
        if known.ndims != 1:
            raise ValueError(f"SoftmaxCentered takes events that are vectors, not of shape {known}")
        size = known[0].value
        return TensorShape([None if size is None else size + by])

    def _forward_event_shape(self, input_shape):
        return self._changed(input_shape, 1)

    def _inverse_event_shape(self, output_shape):
        return self._changed(output_shape, -1)

    def _forward_event_shape_tensor(self, input_shape):
        return input_shape + 1

    def _inverse_event_shape_tensor(self, output_shape):
        return output_shape - 1


class Ordered(Bijector):
    """Vectors that increase, made vectors of any numbers: the first element, and logarithms of differences."""

    def __init__(self, validate_args=False, name="ordered"):
        super().__init__(validate_args=validate_args, forward_min_event_ndims=1, name=name)

    def _forward(self, x):
        return concat([x[..., :1], gen_ops.log(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y):
        return cumsum(concat([y[..., :1], gen_ops.exp(y[..., 1:])], -1), -1)

    def _inverse_log_det_jacobian(self, y):
        return reduce_sum(y[..., 1:], -1)

    def _forward_log_det_jacobian(self, x):
        return -reduce_sum(gen_ops.log(x[..., 1:] - x[..., :-1]), -1)


def _weighed_logs(diagonal, weights):
    return reduce_sum(gen_ops.log(gen_ops.abs(diagonal)) * weights, -1)


class CholeskyOuterProduct(Bijector):
    """y = x x^T, of lower triangles x with positive diagonals."""

    def __init__(self, validate_args=False, name="cholesky_outer_product"):
        super().__init__(validate_args=validate_args, forward_min_event_ndims=2, name=name)

    def _forward(self, x):
        lower = gen_ops.matrix_band_part(x, -1, 0)
        return product(lower, lower, adjoint_b=True)

    def _inverse(self, y):
        return gen_ops.cholesky(y)

    def _forward_log_det_jacobian(self, x):
        # The column i of x turns up in that many more elements of y: n - i.
        size = shape(x)[-1]
        weights = gen_ops.cast(gen_ops.range(size, 0, -1), DstT=x.dtype)
        twos = gen_ops.cast(size, DstT=x.dtype) * math.log(2.0)
        return twos + _weighed_logs(matrix_diag_part(x), weights)


class MatrixInverseTriL(Bijector):
    """y = x^-1, of lower triangles."""

    def __init__(self, validate_args=False, name="matrix_inverse_tril"):
        super().__init__(validate_args=validate_args, forward_min_event_ndims=2, name=name)

    def _forward(self, x):
        sizes = shape(x)
        ones = eye(sizes[-1], batch_shape=sizes[:-2], dtype=x.dtype)
        made = gen_ops.matrix_triangular_solve(x, ones, lower=True)
        made.set_shape(x.shape)
        return made

    def _inverse(self, y):
        return self._forward(y)

    def _forward_log_det_jacobian(self, x):
        size = gen_ops.cast(shape(x)[-1] + 1, DstT=x.dtype)
        return _weighed_logs(matrix_diag_part(x), -size)


class FillTriangular(Bijector):
    """Vectors of n (n + 1) / 2 elements as triangles of size n; see `fill_triangular`.

    Args:
      upper: True for upper triangles.
      validate_args, name: as for Bijector.
    """

    def __init__(self, upper=False, validate_args=False, name="fill_triangular"):
        self._upper = upper
        super().__init__(
            is_constant_jacobian=True,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            name=name,
        )

    def _forward(self, x):
        return fill_triangular(x, self._upper)

    def _inverse(self, y):
        return fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x):
        return convert(0, x.dtype.base_dtype)

    def _inverse_log_det_jacobian(self, y):
        return convert(0, y.dtype.base_dtype)

    def _forward_event_shape(self, input_shape):
        if input_shape.ndims is None:
            return input_shape
        count = input_shape[-1].value
        if count is None:
            return TensorShape([None, None])
        size = (math.isqrt(8 * count + 1) - 1) // 2
        if size * (size + 1) // 2 != count:
            raise ValueError(f"FillTriangular: {count} elements fill no triangle")
        return TensorShape([size, size])

    def _inverse_event_shape(self, output_shape):
        if output_shape.ndims is None:
            return output_shape
        size = output_shape[-1].value
        return TensorShape([None if size is None else size * (size + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape):
        root = gen_ops.sqrt(0.25 + 2.0 * gen_ops.cast(input_shape[-1], DstT="float64"))
        size = gen_ops.cast(gen_ops.round(root - 0.5), DstT="int32")
        return gen_ops.pack([size, size])

    def _inverse_event_shape_tensor(self, output_shape):
        size = output_shape[-1:]
        return size * (size + 1) // 2


class TransformDiagonal(Bijector):
    """Another bijector of the diagonals of matrices; what is beside these stays.

    Args:
      diag_bijector: a Bijector of vectors, or of single numbers.
      validate_args, name: as for Bijector.
    """

    def __init__(self, diag_bijector, validate_args=False, name="transform_diagonal"):
        self._bijector = diag_bijector
        super().__init__(
            is_constant_jacobian=diag_bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=diag_bijector.dtype,
            forward_min_event_ndims=2,
            name=name,
        )

    diag_bijector = property(lambda self: self._bijector)

    def _forward(self, x):
        return matrix_set_diag(x, self._bijector.forward(matrix_diag_part(x)))

    def _inverse(self, y):
        return matrix_set_diag(y, self._bijector.inverse(matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x):
        return self._bijector.forward_log_det_jacobian(matrix_diag_part(x), 1)

    def _inverse_log_det_jacobian(self, y):
        return self._bijector.inverse_log_det_jacobian(matrix_diag_part(y), 1)


class ScaleTriL(Chain):
    """Vectors of any numbers as lower triangles with positive diagonals.

    Args:
      diag_bijector: what makes diagonals positive; Softplus if None.
      diag_shift: a number that is added to them; None for nothing.
      validate_args, name: as for Bijector.
    """

    def __init__(self, diag_bijector=None, diag_shift=1e-5, validate_args=False, name="scale_tril"):
        diagonal = diag_bijector or Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diagonal = Chain([AffineScalar(shift=diag_shift), diagonal])
        steps = [TransformDiagonal(diagonal), FillTriangular()]
        super().__init__(steps, validate_args, name)
