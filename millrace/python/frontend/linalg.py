"""tf.linalg: what is computed of matrices."""

from millrace._gen import cholesky, cross, lu, qr
from millrace._gen import matrix_band_part as band_part
from millrace._gen import matrix_determinant as det
from millrace._gen import matrix_exponential as expm
from millrace._gen import matrix_inverse as inv
from millrace._gen import matrix_logarithm as logm
from millrace._gen import matrix_solve as solve
from millrace._gen import matrix_square_root as sqrtm
from millrace._gen import matrix_triangular_solve as triangular_solve
from millrace._flow.linear_operators.algebra import (
    LinearOperator,
    LinearOperatorAdjoint,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorLowerTriangular,
)
from millrace._flow.linear_operators.circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
    LinearOperatorToeplitz,
)
from millrace._flow.linear_operators.dense import (
    LinearOperatorFullMatrix,
    LinearOperatorHouseholder,
    LinearOperatorLowRankUpdate,
)
from millrace._flow.linear_operators.diagonals import (
    LinearOperatorDiag,
    LinearOperatorScaledIdentity,
)
from millrace._flow.linear_operators.identities import (
    LinearOperatorIdentity,
    LinearOperatorZeros,
)
from millrace._flow.linear_operators.several import (
    LinearOperatorBlockDiag,
    LinearOperatorKronecker,
)
from millrace._ops.arrays import matrix_transpose
from millrace._ops.arrays import matrix_transpose as transpose
from millrace._ops.clipping import global_norm
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.matrices import adjoint, einsum
from millrace._ops.matrices import matrix_diag as diag
from millrace._ops.matrices import matrix_diag_part as diag_part
from millrace._ops.matrices import matrix_set_diag as set_diag
from millrace._ops.matrices import norm, tensor_diag, tensor_diag_part, trace
from millrace._ops.matrix_solving import (
    banded_triangular_solve,
    cholesky_solve,
    eig,
    eigvals,
    logdet,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    matrix_rank,
    matvec,
    normalize,
    pinv,
    slogdet,
    svd,
    tridiagonal_matmul,
    tridiagonal_solve,
)
from millrace._ops.matrix_solving import matrix_solve_ls as lstsq
from millrace._ops.matrix_solving import self_adjoint_eig as eigh
from millrace._ops.matrix_solving import self_adjoint_eigvals as eigvalsh
from millrace._ops.normalization import l2_normalize
from millrace._ops.shaped import eye
