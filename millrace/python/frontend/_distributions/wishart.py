"""Distributions of matrices that are symmetric and positive definite: of covariances of normal draws."""

import math

from millrace import _gen as gen_ops
from millrace._distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from millrace._distributions.scalars import where_defined
from millrace._distributions.shapes import broadcast, dtype_of, joined
from millrace._flow.checks import assert_less_equal, assert_positive
from millrace._flow.linear_operators.algebra import LinearOperatorLowerTriangular
from millrace._flow.linear_operators.batches import product
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, zeros_like
from millrace._ops.matrices import matrix_diag_part, matrix_set_diag
from millrace._ops.random_values import random_gamma, random_normal
from millrace._ops.reductions import reduce_sum


class _Wishart(Distribution):
    """What both Wisharts have in common.

    Args:
      parameters: what the constructor was called with.
      triangle_of: a function of `scale` that gives lower triangles, of shape [..., n, n], whose products with their
        adjoints are the columns' covariances.
    """

    def __init__(self, parameters, triangle_of):
        df, scale = parameters["df"], parameters["scale"]
        with name_scope(parameters["name"]) as scope:
            scale = convert(scale, dtype_of([scale, df]), "scale")
            df = convert(df, scale.dtype.base_dtype, "df")
            triangle = triangle_of(scale)
            size = gen_ops.shape(triangle)[-1]
            checks = []
            if parameters["validate_args"]:
                checks = [
                    assert_less_equal(cast(size, df.dtype), df, message="df is less than the size"),
                    assert_positive(
                        matrix_diag_part(triangle), message="scale is not positive definite"
                    ),
                ]
            with control_dependencies(checks):
                self._df, self._triangle = gen_ops.identity(df), gen_ops.identity(triangle)
        self._operator = LinearOperatorLowerTriangular(self._triangle, is_non_singular=True)
        self._is_cholesky = parameters["cholesky_input_output_matrices"]
        super().__init__(
            df.dtype.base_dtype,
            FULLY_REPARAMETERIZED,
            parameters["validate_args"],
            parameters["allow_nan_stats"],
            parameters,
            name=scope,
        )

    df = property(lambda self: self._df, doc="The degrees of freedom.")
    scale_operator = property(lambda self: self._operator, doc="The triangles, a LinearOperator.")
    cholesky_input_output_matrices = property(lambda self: self._is_cholesky)
    dimension = property(lambda self: self._triangle.shape[-1], doc="n, a Dimension.")

    def scale(self):
        """The scales, of shape [..., n, n]; their triangles if cholesky_input_output_matrices."""
        return self._given_out(self._triangle)

    def _given_out(self, triangle):
        return triangle if self._is_cholesky else product(triangle, triangle, adjoint_b=True)

    def _batch_shape(self):
        return broadcast(self._df.shape, self._triangle.shape[:-2])

    def _batch_shape_tensor(self):
        return gen_ops.broadcast_args(gen_ops.shape(self._df), gen_ops.shape(self._triangle)[:-2])

    def _event_shape(self):
        return self._triangle.shape[-2:]

    def _event_shape_tensor(self):
        return gen_ops.shape(self._triangle)[-2:]

    def _size(self):
        return self._operator.domain_dimension_tensor()

    def _halves(self):
        """(df - i) / 2 for each place i on the diagonal, of shape [..., n]."""
        places = cast(gen_ops.range(0, self._size(), 1), self.dtype)
        return 0.5 * (expand_dims(self._df, -1) - places)

    def _multi_lgamma(self):
        size = cast(self._size(), self.dtype)
        constant = size * (size - 1.0) * (0.25 * math.log(math.pi))
        return constant + reduce_sum(gen_ops.lgamma(self._halves()), -1)

    def _multi_digamma(self):
        return reduce_sum(gen_ops.digamma(self._halves()), -1)

    def _log_det(self):
        return self._operator.log_abs_determinant()

    def _sample_n(self, n, seed=None):
        # Bartlett: normal numbers below the diagonal, roots of squares' sums on it.
        batch = self.batch_shape_tensor()
        below = random_normal(
            joined(expand_dims(n, 0), batch, self.event_shape_tensor()), 0.0, 1.0, self.dtype, seed
        )
        halves = gen_ops.broadcast_to(self._halves(), joined(batch, expand_dims(self._size(), 0)))
        second = None if seed is None else seed + 1
        squares = random_gamma(expand_dims(n, 0), halves, 0.5, self.dtype, second)
        drawn = matrix_set_diag(gen_ops.matrix_band_part(below, -1, 0), gen_ops.sqrt(squares))
        return self._given_out(product(self._triangle, drawn))

    def _log_prob(self, x):
        triangle = x if self._is_cholesky else gen_ops.cholesky(x)
        size = cast(self._size(), self.dtype)
        squares = reduce_sum(gen_ops.square(self._operator.solve(triangle)), [-2, -1])
        log_det = 2.0 * reduce_sum(gen_ops.log(matrix_diag_part(triangle)), -1)
        return 0.5 * ((self._df - size - 1.0) * log_det - squares) - self.log_normalization()

    def log_normalization(self, name="log_normalization"):
        """What log_prob subtracts so that densities integrate to 1, of the shape of the batch."""
        with self._scope(name):
            size = cast(self._size(), self.dtype)
            scaled = self._df * (self._log_det() + 0.5 * math.log(2.0) * size)
            return scaled + self._multi_lgamma()

    def mean_log_det(self, name="mean_log_det"):
        """The mean of the logarithm of the determinant, of the shape of the batch."""
        with self._scope(name):
            size = cast(self._size(), self.dtype)
            return self._multi_digamma() + size * math.log(2.0) + 2.0 * self._log_det()

    def _entropy(self):
        size = cast(self._size(), self.dtype)
        half, more = 0.5 * self._df, 0.5 * (size + 1.0)
        whole = size * (half + more * math.log(2.0)) + 2.0 * more * self._log_det()
        return whole + self._multi_lgamma() + (more - half) * self._multi_digamma()

    def _times(self, factor):
        """The scales times numbers, of the shape of the batch."""
        spread = expand_dims(expand_dims(factor, -1), -1)
        if self._is_cholesky:
            return gen_ops.sqrt(spread) * self._triangle
        return spread * self.scale()

    def _mean(self):
        return self._times(self._df)

    def _variance(self):
        scale = product(self._triangle, self._triangle, adjoint_b=True)
        diagonal = matrix_diag_part(scale)
        outer = expand_dims(diagonal, -1) * expand_dims(diagonal, -2)
        made = expand_dims(expand_dims(self._df, -1), -1) * (gen_ops.square(scale) + outer)
        return gen_ops.cholesky(made) if self._is_cholesky else made

    def _mode(self):
        factor = self._df - cast(self._size(), self.dtype) - 1.0
        factor = factor + zeros_like(self._log_det())
        return self._times(where_defined(gen_ops.greater_equal(factor, 0.0), factor))


class WishartCholesky(_Wishart):
    """Wishart distributions, by triangles: of X X^T for n by df matrices X of normal columns.

    Args:
      df: degrees of freedom, not fewer than n, a Tensor of the shape of the batch.
      scale: lower triangles whose products with their adjoints are the columns' covariances, of shape [..., n, n].
      cholesky_input_output_matrices: True to take and give triangles instead of matrices.
      validate_args, allow_nan_stats, name: as for Distribution.
    """

    def __init__(
        self,
        df,
        scale,
        cholesky_input_output_matrices=False,
        validate_args=False,
        allow_nan_stats=True,
        name="WishartCholesky",
    ):
        super().__init__(dict(locals()), lambda scale: gen_ops.matrix_band_part(scale, -1, 0))


class WishartFull(_Wishart):
    """Wishart distributions, by the covariances themselves; see WishartCholesky.

    Args:
      df: degrees of freedom, not fewer than n, a Tensor of the shape of the batch.
      scale: symmetric and positive definite, of shape [..., n, n].
      cholesky_input_output_matrices, validate_args, allow_nan_stats, name: as there.
    """

    def __init__(
        self,
        df,
        scale,
        cholesky_input_output_matrices=False,
        validate_args=False,
        allow_nan_stats=True,
        name="WishartFull",
    ):
        super().__init__(dict(locals()), gen_ops.cholesky)
