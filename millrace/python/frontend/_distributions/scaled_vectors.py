"""Distributions of vectors that are certain, or a scale times other draws, and of what sinh bends."""

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.affine import AffineLinearOperator, scale_operator
from millrace._distributions.bijectors.combined import Chain
from millrace._distributions.bijectors.elementwise import AffineScalar
from millrace._distributions.bijectors.elementwise import SinhArcsinh as Bend
from millrace._distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from millrace._distributions.gammas import Exponential
from millrace._distributions.scalars import Laplace, Normal
from millrace._distributions.shapes import broadcast, dtype_of
from millrace._distributions.transformed import TransformedDistribution
from millrace._distributions.vectors import Gaussian
from millrace._flow.linear_operators.batches import product
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import expand_dims, zeros_like
from millrace._ops.matrices import matrix_diag, matrix_diag_part
from millrace._ops.reductions import reduce_all
from millrace._values import dtypes


class MultivariateNormalDiagPlusLowRank(Gaussian):
    """Normal distributions of vectors, whose scale is a diagonal plus few columns: S of covariance S S^T.

    Args:
      loc: means, a Tensor of shape [..., n]; zeros if None.
      scale_diag: the diagonal, of that shape.
      scale_identity_multiplier: numbers that are added to it, of the shape of the batch; ones if nothing else is
        given.
      scale_perturb_factor: U of U D U^T, which is added, of shape [..., n, k].
      scale_perturb_diag: the diagonal of that D, of shape [..., k]; ones if None.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if nothing tells n, or D is given without U.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        scale_perturb_factor=None,
        scale_perturb_diag=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiagPlusLowRank",
    ):
        parameters = dict(locals())
        given = [loc, scale_identity_multiplier, scale_diag, None]
        given += [scale_perturb_factor, scale_perturb_diag]
        with name_scope(name) as scope:
            self._operator = scale_operator(*given)
            if self._operator is None:
                raise ValueError(
                    "MultivariateNormalDiagPlusLowRank: one of loc, scale_diag and scale_perturb_factor must be "
                    "given, to tell the size"
                )
            loc = None if loc is None else convert(loc, self._operator.dtype, "loc")
            rows = self._operator.diag_part()
        super().__init__(parameters, loc, rows, scope)

    scale = property(lambda self: self._operator, doc="S, a LinearOperator.")

    def _scaled(self, z):
        return self._operator.matvec(z)

    def _unscaled(self, z):
        return self._operator.solvevec(z)

    def _log_det(self):
        return self._operator.log_abs_determinant()

    def _covariance(self):
        dense = self._operator.to_dense()
        return product(dense, dense, adjoint_b=True)

    def _variance(self):
        return matrix_diag_part(self._covariance()) + zeros_like(self._loc)


class VectorDeterministic(Distribution):
    """Vectors that are certain.

    Args:
      loc: the vectors, a Tensor of shape [..., n].
      atol, rtol: by how much elements of others may differ to be the same: |x - loc| <= atol + rtol * |loc|.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if loc is a scalar.
    """

    def __init__(
        self,
        loc,
        atol=None,
        rtol=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorDeterministic",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._loc = convert(loc, name="loc")
            if self._loc.shape.ndims == 0:
                raise ValueError("Argument loc must be at least rank 1.")
            kind = self._loc.dtype.base_dtype
            atol, rtol = (convert(0 if each is None else each, kind) for each in (atol, rtol))
            self._slack = atol + rtol * gen_ops.abs(self._loc)
        super().__init__(
            *(kind, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters), name=scope
        )

    loc = property(lambda self: self._loc, doc="The vectors.")

    def _batch_shape(self):
        return self._loc.shape[:-1]

    def _batch_shape_tensor(self):
        return gen_ops.shape(self._loc)[:-1]

    def _event_shape(self):
        return self._loc.shape[-1:]

    def _event_shape_tensor(self):
        return gen_ops.shape(self._loc)[-1:]

    def _sample_n(self, n, seed=None):
        sizes = gen_ops.concat_v2([expand_dims(n, 0), gen_ops.shape(self._loc)], 0)
        return gen_ops.broadcast_to(self._loc, sizes)

    def _prob(self, x):
        is_same = gen_ops.less_equal(gen_ops.abs(x - self._loc), self._slack)
        return cast(reduce_all(is_same, -1), self.dtype)

    def _entropy(self):
        return zeros_like(self._loc[..., 0])

    def _mean(self):
        return gen_ops.identity(self._loc)

    def _variance(self):
        return zeros_like(self._loc)

    _mode = _mean


def _known(whole, what):
    if not whole.is_fully_defined():
        raise ValueError(f"{what}: the shapes of its parameters must be known; they are {whole}")
    return whole.as_list()


class _OfDraws(TransformedDistribution):
    """loc plus a diagonal scale times independent draws: what those of all kinds of draws have in common.

    Args:
      parameters: what the constructor was called with.
      base: a function of a type that gives the distribution of one draw.
      scope: the name scope.
    """

    def __init__(self, parameters, base, scope):
        loc, multiplier = parameters["loc"], parameters["scale_identity_multiplier"]
        self._operator = scale_operator(loc, multiplier, parameters["scale_diag"])
        if self._operator is None:
            raise ValueError(
                f"{parameters['name']}: one of loc and scale_diag must be given, to tell the size"
            )
        kind = self._operator.dtype
        self._rows = self._operator.diag_part()
        self._loc = zeros_like(self._rows) if loc is None else convert(loc, kind, "loc")
        whole = _known(broadcast(self._loc.shape, self._rows.shape), parameters["name"])
        super().__init__(
            base(kind),
            AffineLinearOperator(self._loc, self._operator),
            whole[:-1],
            whole[-1:],
            parameters["validate_args"],
            scope,
        )
        self._parameters, self._allow_nan_stats = parameters, parameters["allow_nan_stats"]

    loc = property(lambda self: self._loc, doc="What is added.")
    scale = property(
        lambda self: self._operator, doc="What draws are multiplied by, a LinearOperator."
    )

    def _spread(self, each):
        return zeros_like(self._loc) + self._rows * each

    def _mean(self):
        return self._loc + self._rows * self._inner.mean()

    def _stddev(self):
        return gen_ops.abs(self._spread(self._inner.stddev()))

    def _variance(self):
        return gen_ops.square(self._spread(self._inner.stddev()))

    def _covariance(self):
        return matrix_diag(self._variance())

    def _mode(self):
        return self._loc + zeros_like(self._rows)


class VectorExponentialDiag(_OfDraws):
    """loc plus a diagonal scale times draws of Exponential(1).

    Args:
      loc: a Tensor of known shape [..., n]; zeros if None.
      scale_diag: the diagonal, of that shape; ones if None.
      scale_identity_multiplier: numbers that are added to it, or stand for it, of the shape of the batch.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if nothing tells n, or shapes are not known.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorExponentialDiag",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            super().__init__(parameters, lambda kind: Exponential(convert(1, kind)), scope)


class VectorLaplaceDiag(_OfDraws):
    """loc plus a diagonal scale times draws of Laplace(0, 1).

    Args and errors: as for VectorExponentialDiag.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorLaplaceDiag",
    ):
        parameters = dict(locals())

        def base(kind):
            return Laplace(convert(0, kind), convert(1, kind))

        with name_scope(name) as scope:
            super().__init__(parameters, base, scope)


def _per_bend(tailweight):
    """What scales are multiplied by so that 2 stays where it is, without skewness."""
    return 2.0 / Bend(tailweight=tailweight).forward(convert(2, tailweight.dtype))


class SinhArcsinh(TransformedDistribution):
    """Normal numbers, bent: loc + scale c sinh((arcsinh(z) + skewness) tailweight), with c so that z of 2 stays 2
    without skewness.

    Args:
      loc: what is added. scale: positive. They have known shapes that broadcast.
      skewness: what makes one side longer; 0 if None.
      tailweight: positive: above 1 for more that is far out; 1 if None.
      distribution: what draws z: a Distribution of single numbers without a batch; Normal(0, 1) if None.
      validate_args, allow_nan_stats, name: as for Distribution.

    Raises:
      ValueError: if shapes are not known, or the distribution has one.
    """

    def __init__(
        self,
        loc,
        scale,
        skewness=None,
        tailweight=None,
        distribution=None,
        validate_args=False,
        allow_nan_stats=True,
        name="SinhArcsinh",
    ):
        parameters = dict(locals())
        kind = dtype_of([loc, scale, skewness, tailweight]) or dtypes.float32
        with name_scope(name) as scope:
            self._loc, self._scale = convert(loc, kind, "loc"), convert(scale, kind, "scale")
            self._skewness = convert(0.0 if skewness is None else skewness, kind, "skewness")
            self._tailweight = convert(
                1.0 if tailweight is None else tailweight, kind, "tailweight"
            )
            values = [self._loc, self._scale, self._skewness, self._tailweight]
            whole = _known(broadcast(*(value.shape for value in values)), name)
            width = self._scale * _per_bend(self._tailweight)
            steps = [AffineScalar(self._loc, width), Bend(self._skewness, self._tailweight)]
            base = distribution or Normal(convert(0, kind), convert(1, kind))
            super().__init__(base, Chain(steps), whole, None, validate_args, scope)
        self._parameters, self._allow_nan_stats = parameters, allow_nan_stats

    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._scale)
    skewness = property(lambda self: self._skewness)
    tailweight = property(lambda self: self._tailweight)


class VectorSinhArcsinhDiag(TransformedDistribution):
    """Vectors of bent normal numbers, scaled: loc + scale_diag c sinh((arcsinh(z) + skewness) tailweight).

    Args:
      loc, scale_diag, scale_identity_multiplier: as for VectorExponentialDiag.
      skewness, tailweight: as for SinhArcsinh, of known shapes that broadcast with [..., n].
      distribution, validate_args, allow_nan_stats, name: as for SinhArcsinh.

    Raises:
      ValueError: if nothing tells n, shapes are not known, or the distribution has one.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        skewness=None,
        tailweight=None,
        distribution=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorSinhArcsinhDiag",
    ):
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._operator = scale_operator(loc, scale_identity_multiplier, scale_diag)
            if self._operator is None:
                raise ValueError(
                    f"{name}: one of loc and scale_diag must be given, to tell the size"
                )
            kind, rows = self._operator.dtype, self._operator.diag_part()
            self._loc = zeros_like(rows) if loc is None else convert(loc, kind, "loc")
            self._skewness = convert(0.0 if skewness is None else skewness, kind, "skewness")
            self._tailweight = convert(
                1.0 if tailweight is None else tailweight, kind, "tailweight"
            )
            values = [self._loc, rows, self._skewness, self._tailweight]
            whole = _known(broadcast(*(value.shape for value in values)), name)
            width = rows * _per_bend(self._tailweight)
            steps = [AffineScalar(self._loc, width), Bend(self._skewness, self._tailweight)]
            base = distribution or Normal(convert(0, kind), convert(1, kind))
            chain = Chain(steps)
            super().__init__(base, chain, whole[:-1], whole[-1:], validate_args, scope)
        self._parameters, self._allow_nan_stats = parameters, allow_nan_stats

    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._operator, doc="A LinearOperator.")
    skewness = property(lambda self: self._skewness)
    tailweight = property(lambda self: self._tailweight)
