"""Distributions of vectors, and of what is several independent events."""

import math

from millrace import _gen as gen_ops
from millrace._distributions.distribution import FULLY_REPARAMETERIZED, Distribution, kl_divergence
from millrace._distributions.shapes import broadcast, joined
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import expand_dims, ones_like, squeeze, zeros_like
from millrace._ops.linear_algebra import matmul
from millrace._ops.matrices import matrix_diag, matrix_diag_part
from millrace._ops.random_values import random_normal
from millrace._ops.reductions import reduce_sum
from millrace._values.tensor_shape import TensorShape


class Gaussian(Distribution):
    """Normal distributions of vectors: what those of all kinds of scales have in common.

    Args:
      parameters: what the constructor was called with.
      loc: means, of shape [..., size]; or None for zeros.
      rows: a Tensor of the shape of the batch and [size], for shapes.
      scope: its name scope.
    """

    def __init__(self, parameters, loc, rows, scope):
        self._loc = zeros_like(rows) if loc is None else loc
        self._rows = rows
        super().__init__(
            rows.dtype.base_dtype,
            FULLY_REPARAMETERIZED,
            parameters["validate_args"],
            parameters["allow_nan_stats"],
            parameters,
            name=scope,
        )

    loc = property(lambda self: self._loc)

    def _whole(self):
        return broadcast(self._loc.shape, self._rows.shape)

    def _batch_shape(self):
        return self._whole()[:-1]

    def _event_shape(self):
        return self._whole()[-1:]

    def _whole_tensor(self):
        return gen_ops.broadcast_args(gen_ops.shape(self._loc), gen_ops.shape(self._rows))

    def _batch_shape_tensor(self):
        return self._whole_tensor()[:-1]

    def _event_shape_tensor(self):
        return self._whole_tensor()[-1:]

    def _size(self):
        return gen_ops.cast(self.event_shape_tensor()[0], DstT=self.dtype)

    def _sample_n(self, n, seed=None):
        whole = joined(expand_dims(n, 0), self.batch_shape_tensor(), self.event_shape_tensor())
        return self._scaled(random_normal(whole, 0.0, 1.0, self.dtype, seed)) + self._loc

    def _log_prob(self, x):
        z = self._unscaled(x - self._loc)
        norm = 0.5 * math.log(2 * math.pi) * self._size() + self._log_det()
        return -0.5 * reduce_sum(gen_ops.square(z), -1) - norm

    def _entropy(self):
        each = 0.5 * (1 + math.log(2 * math.pi)) * self._size()
        return each + self._log_det() + zeros_like(self._mean()[..., 0])

    def _mean(self):
        return self._loc + zeros_like(self._rows)

    def _mode(self):
        return self._mean()


class MultivariateNormalDiag(Gaussian):
    """Normal distributions of vectors whose elements are independent.

    Args:
      loc: means, a Tensor of shape [..., size]; zeros if None.
      scale_diag: standard deviations of that shape; 1 if None.
      scale_identity_multiplier: of shape [...]; is added to them, or stands for them if they are None.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if nothing tells the size.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiag",
    ):
        parameters = dict(locals())
        if loc is None and scale_diag is None:
            raise ValueError(
                "MultivariateNormalDiag: one of loc and scale_diag must be given, to tell the size"
            )
        with name_scope(name) as scope:
            loc = None if loc is None else convert(loc, name="loc")
            if scale_diag is not None:
                diag = convert(scale_diag, name="scale_diag")
                if scale_identity_multiplier is not None:
                    diag = diag + expand_dims(convert(scale_identity_multiplier), -1)
            elif scale_identity_multiplier is not None:
                diag = ones_like(loc) * expand_dims(convert(scale_identity_multiplier), -1)
            else:
                diag = ones_like(loc)
        super().__init__(parameters, loc, diag, scope)

    @property
    def scale_diag(self):
        """The standard deviations."""
        return self._rows

    def _scaled(self, z):
        return z * self._rows

    def _unscaled(self, z):
        return z / self._rows

    def _log_det(self):
        return reduce_sum(gen_ops.log(gen_ops.abs(self._rows)), -1)

    def _stddev(self):
        return gen_ops.abs(self._rows) + zeros_like(self._loc)

    def _variance(self):
        return gen_ops.square(self._rows) + zeros_like(self._loc)

    def _covariance(self):
        return matrix_diag(self._variance())


class MultivariateNormalTriL(Gaussian):
    """Normal distributions of vectors, by the lower triangle whose product with itself is the covariance.

    Args:
      loc: means, a Tensor of shape [..., size]; zeros if None.
      scale_tril: lower triangular matrices, a Tensor of shape [..., size, size].
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: without scale_tril.
    """

    def __init__(
        self,
        loc=None,
        scale_tril=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalTriL",
    ):
        parameters = dict(locals())
        if scale_tril is None:
            raise ValueError("MultivariateNormalTriL needs scale_tril")
        with name_scope(name) as scope:
            loc = None if loc is None else convert(loc, name="loc")
            self._triangle = gen_ops.matrix_band_part(convert(scale_tril), -1, 0)
        super().__init__(parameters, loc, matrix_diag_part(self._triangle), scope)

    @property
    def scale_tril(self):
        """The triangles."""
        return self._triangle

    def _fitting(self, columns):
        """The triangles with the batch of columns."""
        return self._triangle + zeros_like(columns) * expand_dims(zeros_like(columns[..., 0]), -2)

    def _scaled(self, z):
        columns = expand_dims(z, -1)
        return squeeze(matmul(self._fitting(columns), columns), [-1])

    def _unscaled(self, z):
        columns = expand_dims(z + zeros_like(self._rows), -1)
        return squeeze(gen_ops.matrix_triangular_solve(self._fitting(columns), columns), [-1])

    def _log_det(self):
        return reduce_sum(gen_ops.log(gen_ops.abs(self._rows)), -1)

    def _covariance(self):
        return matmul(self._triangle, self._triangle, adjoint_b=True)

    def _variance(self):
        return reduce_sum(gen_ops.square(self._triangle), -1) + zeros_like(self._loc)


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal distributions of vectors, by their covariance.

    Args:
      loc: means, a Tensor of shape [..., size]; zeros if None.
      covariance_matrix: symmetric and positive definite, of shape [..., size, size].
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: without covariance_matrix.
    """

    def __init__(
        self,
        loc=None,
        covariance_matrix=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalFullCovariance",
    ):
        if covariance_matrix is None:
            raise ValueError("MultivariateNormalFullCovariance needs covariance_matrix")
        triangle = gen_ops.cholesky(convert(covariance_matrix))
        super().__init__(loc, triangle, validate_args, allow_nan_stats, name)
        self._parameters = {
            "loc": loc,
            "covariance_matrix": covariance_matrix,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }


class Independent(Distribution):
    """A distribution whose last axes of the batch are axes of one event.

    Args:
      distribution: a Distribution.
      reinterpreted_batch_ndims: how many axes; all but the first if None.
      validate_args, name: as for Distribution.

    Raises:
      ValueError: if it has not so many, or the rank of its batch is not known.
    """

    def __init__(
        self, distribution, reinterpreted_batch_ndims=None, validate_args=False, name=None
    ):
        rank = distribution.batch_shape.ndims
        if rank is None:
            raise ValueError("Independent: the rank of batch_shape must be known")
        moved = max(0, rank - 1) if reinterpreted_batch_ndims is None else reinterpreted_batch_ndims
        if not 0 <= moved <= rank:
            raise ValueError(
                f"reinterpreted_batch_ndims({moved}) cannot exceed distribution.batch_ndims({rank})"
            )
        self._inner, self._moved, self._kept = distribution, moved, rank - moved
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            {
                "distribution": distribution,
                "reinterpreted_batch_ndims": reinterpreted_batch_ndims,
                "validate_args": validate_args,
                "name": name,
            },
            name=name or f"Independent{distribution.name.rstrip('/').rpartition('/')[2]}",
        )

    distribution = property(lambda self: self._inner)
    reinterpreted_batch_ndims = property(lambda self: self._moved)

    def _batch_shape(self):
        return self._inner.batch_shape[: self._kept]

    def _batch_shape_tensor(self):
        return self._inner.batch_shape_tensor()[: self._kept]

    def _event_shape(self):
        return TensorShape(self._inner.batch_shape[self._kept :]).concatenate(
            self._inner.event_shape
        )

    def _event_shape_tensor(self):
        return joined(
            self._inner.batch_shape_tensor()[self._kept :], self._inner.event_shape_tensor()
        )

    def _summed(self, values):
        return reduce_sum(values, list(range(-self._moved, 0))) if self._moved else values

    def _sample_n(self, n, seed=None):
        return self._inner.sample(n, seed)

    def _log_prob(self, x):
        return self._summed(self._inner.log_prob(x))

    def _entropy(self):
        return self._summed(self._inner.entropy())

    def _mean(self):
        return self._inner.mean()

    def _variance(self):
        return self._inner.variance()

    def _stddev(self):
        return self._inner.stddev()

    def _mode(self):
        return self._inner.mode()

    def divergence(self, other, name=None):
        """kl_divergence from another one with as many axes in its events."""
        if self.reinterpreted_batch_ndims != other.reinterpreted_batch_ndims:
            raise NotImplementedError("KL between Independents of unlike reinterpreted_batch_ndims")
        return self._summed(kl_divergence(self.distribution, other.distribution, name=name))
