"""tf.contrib.distributions.bijectors: functions with inverses that distributions are transformed by."""

from millrace._distributions.bijectors.affine import Affine, AffineLinearOperator
from millrace._distributions.bijectors.bijector import Bijector
from millrace._distributions.bijectors.combined import Chain, Inline, Invert, Permute, Reshape
from millrace._distributions.bijectors.elementwise import (
    AbsoluteValue,
    AffineScalar,
    Exp,
    Gumbel,
    Identity,
    Kumaraswamy,
    PowerTransform,
    Sigmoid,
    SinhArcsinh,
    Softplus,
    Softsign,
    Square,
    Weibull,
)
from millrace._distributions.bijectors.flows import (
    MaskedAutoregressiveFlow,
    RealNVP,
    masked_autoregressive_default_template,
    masked_dense,
    real_nvp_default_template,
)
from millrace._distributions.bijectors.matrices import (
    CholeskyOuterProduct,
    FillTriangular,
    MatrixInverseTriL,
    Ordered,
    ScaleTriL,
    SoftmaxCentered,
    TransformDiagonal,
)
